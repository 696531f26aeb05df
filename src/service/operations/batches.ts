/** The Batch API, declared. */
import { MAX_CREDITS, MAX_CUSTOM_ID, MAX_LINE_BYTES, MAX_LINES, MAX_METADATA_BYTES, MAX_PARTS } from '../batches/limits.ts';
import type { Operation, Parameter } from '../openapi/operation.ts';
import { ref, type Body, type Field } from '../openapi/schema.ts';
import { ENRICH_BODY, MAX_METADATA_DEPTH } from './enrich.ts';
import { CURSOR, limitParameter } from './paging.ts';
import { REVEAL_BODY } from './reveal.ts';
import { VERIFY_BODY } from './verify.ts';
import { WEBHOOK_URL } from './webhooks.ts';

export const BATCH_OPERATIONS = ['enrich', 'verify', 'reveal', 'company'] as const;
export type BatchOperation = (typeof BATCH_OPERATIONS)[number];
export const BATCH_FORMATS = ['ndjson', 'csv'] as const;
export type BatchFormat = (typeof BATCH_FORMATS)[number];
export const RESULT_SETS = ['succeeded', 'not_found', 'failed', 'unprocessed'] as const;
export type ResultSet = (typeof RESULT_SETS)[number];

/** The media type of each format. */
export const MEDIA: Readonly<Record<BatchFormat, 'application/x-ndjson' | 'text/csv'>> = { ndjson: 'application/x-ndjson', csv: 'text/csv' };

function only(body: Body, names: readonly string[]): Body {
  return { properties: Object.fromEntries(names.map((name) => [name, body.properties[name] as Field])) };
}

/** The options that the call of each operation takes. */
export const CALL_OPTIONS: Readonly<Record<BatchOperation, Body>> = {
  enrich: only(ENRICH_BODY, ['min_likelihood', 'required', 'fields', 'verify']),
  verify: only(VERIFY_BODY, ['mode', 'timeout_ms', 'max_age_s']),
  reveal: only(REVEAL_BODY, ['reveal_mobile', 'verify']),
  company: { properties: {} },
};

/** Options of the job itself, whatever its operation. */
const JOB_OPTIONS = {
  escape_formulas: { type: 'boolean', default: false, description: 'Puts an apostrophe before cells of results as CSV that a spreadsheet would run as a formula.', examples: [true] },
} as const satisfies Body['properties'];

/** Everything that `options` of a job may have. */
export function batchOptions(operation: BatchOperation): Body {
  return { properties: { ...CALL_OPTIONS[operation].properties, ...JOB_OPTIONS } };
}

const optionNames = (operation: BatchOperation): string => Object.keys(CALL_OPTIONS[operation].properties).map((name) => `\`${name}\``).join(', ');

const MAX_CREDITS_FIELD = { type: 'integer', minimum: 1, maximum: MAX_CREDITS, description: 'The job pauses rather than cost more than this.', examples: [10_000] } as const;

export const BATCH_BODY = {
  required: ['operation'],
  properties: {
    operation: { type: 'string', enum: BATCH_OPERATIONS, description: 'What is done with each line.', examples: ['enrich'] },
    format: { type: 'string', enum: BATCH_FORMATS, default: 'ndjson', description: 'Of the parts, and of the results where nothing else is asked for.', examples: ['ndjson'] },
    options: { type: 'object', description: `For every line what the call of the operation takes: of \`enrich\` ${optionNames('enrich')}; of \`verify\` ${optionNames('verify')}; of \`reveal\` ${optionNames('reveal')}; of \`company\` none. \`escape_formulas\` (boolean, \`false\`) is of the job: results as CSV get an apostrophe before each cell that a spreadsheet would run as a formula.`, examples: [{}] },
    webhook_url: WEBHOOK_URL,
    metadata: { type: 'object', description: `Yours; it comes back as it is. At most ${MAX_METADATA_BYTES.toLocaleString('en')} bytes of JSON, nested ${MAX_METADATA_DEPTH} levels deep.`, examples: [{ list: 'spring' }] },
    max_credits: MAX_CREDITS_FIELD,
  },
} as const satisfies Body;

export const BATCH_CHANGE_BODY = { required: ['max_credits'], properties: { max_credits: MAX_CREDITS_FIELD } } as const satisfies Body;

const ID: Parameter = { description: 'The `id` of the job.', schema: { type: 'string' }, example: 'bat_0123456789abcdef0123456789abcdef' };
const JOB = { 'application/json': ref('Batch') };
const tag = 'Batches';

/** A call to one job: what lies below its path, and what it answers and is refused with besides the job itself and what all of them are. */
function ofJob({ under = '', inPath = {}, answers = { 200: { description: 'The job.', content: JOB } }, problems = [], ...call }: Omit<Operation, 'path' | 'tag' | 'answers' | 'problems'> & Partial<Pick<Operation, 'answers' | 'problems'>> & { readonly under?: string }): Operation {
  return { ...call, path: `/v1/batches/{id}${under}`, tag, inPath: { id: ID, ...inPath }, answers, problems: ['insufficient_credits', 'not_found', ...problems] };
}

export const CREATE_BATCH: Operation = {
  id: 'createBatch',
  method: 'POST',
  path: '/v1/batches',
  tag,
  summary: 'Begin a job of up to millions of lines',
  description: 'Then send its lines in parts, and say that they are complete. Its lines take no requests of the quota; a line costs what its own call would. Of the plan trial each line is a call.',
  body: { name: 'BatchRequest', declared: BATCH_BODY },
  answers: { 201: { description: 'The job is open for parts, for 24 hours.', content: JOB, headers: ['Location'] } },
  problems: ['insufficient_credits', 'not_found'],
};

export const LIST_BATCHES: Operation = {
  id: 'listBatches',
  method: 'GET',
  path: '/v1/batches',
  tag,
  summary: 'The jobs of the key, newest first',
  description: 'Those that have ended are kept for 30 days.',
  query: { limit: limitParameter(25, 100), cursor: { ...CURSOR, description: 'The `next_cursor` of the page before.' } },
  answers: { 200: { description: 'A page.', content: { 'application/json': ref('BatchPage') }, headers: ['Link'] } },
  problems: ['insufficient_credits'],
};

export const GET_BATCH = ofJob({
  id: 'getBatch',
  method: 'GET',
  summary: 'How far a job is',
  description: 'Always `succeeded` + `not_found` + `failed` + `unprocessed` = `total`, which is known once the job is validated.',
});

export const CHANGE_BATCH = ofJob({
  id: 'changeBatch',
  method: 'PATCH',
  summary: 'Raise what a job may cost',
  description: 'One that is paused for its `max_credits` goes on. It can be raised, as long as the job has not ended, and not lowered: what is under way is paid for.',
  body: { name: 'BatchChange', declared: BATCH_CHANGE_BODY },
  problems: ['job_state_conflict'],
});

export const PUT_PART = ofJob({
  id: 'putBatchPart',
  method: 'PUT',
  under: '/parts/{n}',
  summary: 'Send a part of the lines',
  description:
    `Whole lines in the job's format, at most 64 MiB; the same number sent again replaces the part. Of \`ndjson\` each line is the JSON object that the operation's call takes, with a \`custom_id\` of at most ${MAX_CUSTOM_ID} characters if wanted, or \`{custom_id, params}\`. ` +
    `Of \`csv\` the first part begins with a header of the names of params; other parts may repeat it. A line has ${MAX_LINE_BYTES / 1024} KiB at most, a job ${MAX_LINES.toLocaleString('en')} lines. \`Content-Encoding: gzip\` is taken.`,
  inPath: { n: { description: `Its number, 1 to ${MAX_PARTS.toLocaleString('en')}. Parts may come in any order; the lines are taken in that of the numbers.`, schema: { type: 'integer', minimum: 1, maximum: MAX_PARTS }, example: 1 } },
  raw: { 'application/x-ndjson': { type: 'string', description: 'A JSON object a line.' }, 'text/csv': { type: 'string', description: 'RFC 4180, UTF-8, with commas.' } },
  answers: { 200: { description: 'It is on the disk.', content: { 'application/json': ref('BatchPart') } } },
  problems: ['job_state_conflict', 'payload_too_large', 'validation_failed'],
});

export const COMPLETE_BATCH = ofJob({
  id: 'completeBatch',
  method: 'POST',
  under: '/complete',
  summary: 'Say that all parts are there',
  description: 'The job is validated and worked off from then on. When a part is missing between 1 and the last one, it is named and the job stays open. Without a body.',
  problems: ['job_state_conflict'],
});

export const CANCEL_BATCH = ofJob({
  id: 'cancelBatch',
  method: 'POST',
  under: '/cancel',
  summary: 'End a job early',
  description: 'What is done stays done and paid for, and can be fetched; all else is `unprocessed` and free. Without a body.',
  problems: ['job_state_conflict'],
});

export const DELETE_BATCH = ofJob({
  id: 'deleteBatch',
  method: 'DELETE',
  summary: 'Forget a job that has ended',
  description: 'Its results are gone from then on. One that has not ended is to be cancelled first.',
  answers: { 204: { description: 'It is gone.' } },
  problems: ['job_state_conflict'],
});

export const BATCH_RESULTS = ofJob({
  id: 'getBatchResults',
  method: 'GET',
  under: '/results',
  summary: 'The results of a job that is completed or cancelled',
  description:
    'A line for each line of the input, in order, of one set or of all. By `Accept`, else as the parts were: `application/x-ndjson`, or `text/csv` with the same columns, where `record` and `error` are JSON (with the job\'s option `escape_formulas` fit for a spreadsheet). Where a person was erased since, the line is `failed` with `suppressed_person`, and has no record.',
  query: { set: { description: 'Only lines of this status.', schema: { type: 'string', enum: RESULT_SETS }, example: 'succeeded' } },
  headers: { Accept: { description: 'In which form.', schema: { type: 'string' }, example: 'application/x-ndjson' } },
  answers: { 200: { description: 'The lines, as a stream.', content: { 'application/x-ndjson': ref('BatchLine'), 'text/csv': { type: 'string', description: '`line,custom_id,status,record,error,credits`' } } } },
  problems: ['job_state_conflict'],
});
