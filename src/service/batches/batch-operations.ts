/** The operations of the Batch API. */
import { MAX_CREDITS, MAX_CUSTOM_ID, MAX_LINE_BYTES, MAX_LINES, MAX_METADATA_BYTES, MAX_PARTS } from './batch-limits.ts';
import type { Operation, Parameter } from '../http/operation.ts';
import { ref, type Body, type SchemaField } from '../http/body-schema.ts';
import { ENRICH_BODY, MAX_METADATA_DEPTH } from '../lookups/enrich-operations.ts';
import { CURSOR, limitParameter } from '../http/paging.ts';
import { REVEAL_BODY } from '../lookups/reveal-operation.ts';
import { VERIFY_BODY } from '../verify/verify-operations.ts';
import { WEBHOOK_URL } from '../webhooks/webhook-operations.ts';

export const BATCH_OPERATIONS = ['enrich', 'verify', 'reveal', 'company'] as const;
export type BatchOperation = (typeof BATCH_OPERATIONS)[number];
export const BATCH_FORMATS = ['ndjson', 'csv'] as const;
export type BatchFormat = (typeof BATCH_FORMATS)[number];
export const RESULT_SETS = ['succeeded', 'not_found', 'failed', 'unprocessed'] as const;
export type ResultSet = (typeof RESULT_SETS)[number];

/** The media type of each format. */
export const MEDIA: Readonly<Record<BatchFormat, 'application/x-ndjson' | 'text/csv'>> = {
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
};

function only(body: Body, names: readonly string[]): Body {
  return { properties: Object.fromEntries(names.map((name) => [name, body.properties[name] as SchemaField])) };
}

/** The options of each operation's own call that a job may set for its lines. */
export const CALL_OPTIONS: Readonly<Record<BatchOperation, Body>> = {
  enrich: only(ENRICH_BODY, ['min_likelihood', 'required', 'fields', 'verify']),
  verify: only(VERIFY_BODY, ['mode', 'timeout_ms', 'max_age_s']),
  reveal: only(REVEAL_BODY, ['reveal_mobile', 'verify']),
  company: { properties: {} },
};

/** Options of the job itself, whatever its operation. */
const JOB_OPTIONS = {
  escape_formulas: {
    type: 'boolean',
    default: false,
    description: 'Puts an apostrophe before cells of results as CSV that a spreadsheet would run as a formula.',
    examples: [true],
  },
} as const satisfies Body['properties'];

/** All fields of `options` of a job. */
export function batchOptions(operation: BatchOperation): Body {
  return { properties: { ...CALL_OPTIONS[operation].properties, ...JOB_OPTIONS } };
}

const optionNames = (operation: BatchOperation): string =>
  Object.keys(CALL_OPTIONS[operation].properties)
    .map((name) => `\`${name}\``)
    .join(', ');

const MAX_CREDITS_FIELD = {
  type: 'integer',
  minimum: 1,
  maximum: MAX_CREDITS,
  description: 'The most credits that the job may cost. At the limit it pauses.',
  examples: [10_000],
} as const;

export const BATCH_BODY = {
  required: ['operation'],
  properties: {
    operation: { type: 'string', enum: BATCH_OPERATIONS, description: 'The operation for each line.', examples: ['enrich'] },
    format: {
      type: 'string',
      enum: BATCH_FORMATS,
      default: 'ndjson',
      description: 'The format of the parts. Results have it, too, unless `Accept` names the other one.',
      examples: ['ndjson'],
    },
    options: {
      type: 'object',
      description:
        `Options of the operation's own call, for every line. \`enrich\`: ${optionNames('enrich')}. \`verify\`: ` +
        `${optionNames('verify')}. \`reveal\`: ${optionNames('reveal')}. \`company\`: none. Every job may have \`escape_formulas\` ` +
        `(default \`false\`): results as CSV get an apostrophe before each cell that a spreadsheet would run as a formula.`,
      examples: [{}],
    },
    webhook_url: WEBHOOK_URL,
    metadata: {
      type: 'object',
      description:
        `Your own data, returned unchanged. At most ${MAX_METADATA_BYTES.toLocaleString('en')} ` +
        `bytes of JSON, nested at most ${MAX_METADATA_DEPTH} levels deep.`,
      examples: [{ list: 'spring' }],
    },
    max_credits: MAX_CREDITS_FIELD,
  },
} as const satisfies Body;

export const BATCH_CHANGE_BODY = { required: ['max_credits'], properties: { max_credits: MAX_CREDITS_FIELD } } as const satisfies Body;

const ID: Parameter = { description: 'The `id` of the job.', schema: { type: 'string' }, example: 'bat_0123456789abcdef0123456789abcdef' };
const JOB = { 'application/json': ref('Batch') };
const tag = 'Batches';

/** An operation on one job. @param under its path below the job's path; `problems` adds to the problems of all these operations */
function ofJob({
  under = '',
  inPath = {},
  answers = { 200: { description: 'The job.', content: JOB } },
  problems = [],
  ...call
}: Omit<Operation, 'path' | 'tag' | 'answers' | 'problems'> &
  Partial<Pick<Operation, 'answers' | 'problems'>> & { readonly under?: string }): Operation {
  return {
    ...call,
    path: `/v1/batches/{id}${under}`,
    tag,
    inPath: { id: ID, ...inPath },
    answers,
    problems: ['insufficient_credits', 'not_found', ...problems],
  };
}

export const CREATE_BATCH: Operation = {
  id: 'createBatch',
  method: 'POST',
  path: '/v1/batches',
  tag,
  summary: 'Begin a job of up to millions of lines',
  description:
    'Then send the lines in parts, and complete the job. Lines use no requests of the quota; a line costs the same as its own call. ' +
    'In the plan trial each line uses one call.',
  body: { name: 'BatchRequest', declared: BATCH_BODY },
  answers: { 201: { description: 'The job accepts parts for 24 hours.', content: JOB, headers: ['Location'] } },
  problems: ['insufficient_credits', 'not_found'],
  examples: [
    {
      name: 'enrich',
      summary: 'Two fields of each line',
      body: { operation: 'enrich', options: { fields: ['name', 'title'] } },
      varies: true,
    },
  ],
};

export const LIST_BATCHES: Operation = {
  id: 'listBatches',
  method: 'GET',
  path: '/v1/batches',
  tag,
  summary: 'List the jobs of the key, newest first',
  description: 'A job is stored for 30 days after its end.',
  query: { limit: limitParameter(25, 100), cursor: { ...CURSOR, description: 'The `next_cursor` of the previous page.' } },
  answers: { 200: { description: 'A page of jobs.', content: { 'application/json': ref('BatchPage') }, headers: ['Link'] } },
  problems: ['insufficient_credits'],
};

export const GET_BATCH = ofJob({
  id: 'getBatch',
  method: 'GET',
  summary: 'Show the progress of a job',
  description: '`succeeded` + `not_found` + `failed` + `unprocessed` is always `total`. `total` is 0 until the job is validated.',
});

export const CHANGE_BATCH = ofJob({
  id: 'changeBatch',
  method: 'PATCH',
  summary: 'Raise `max_credits` of a job',
  description:
    'A job that is paused at its `max_credits` continues. The limit cannot be lowered, because lines under way are paid for. ' +
    'It cannot be changed after the end of the job.',
  body: { name: 'BatchChange', declared: BATCH_CHANGE_BODY },
  problems: ['job_state_conflict'],
  examples: [{ name: 'limit', summary: 'Another limit', body: { max_credits: 10_000 }, varies: true }],
});

export const PUT_PART = ofJob({
  id: 'putBatchPart',
  method: 'PUT',
  under: '/parts/{n}',
  summary: 'Send a part of the lines',
  description:
    `Complete lines in the job's format, at most 64 MiB. The same number sent again replaces the ` +
    `part. \`ndjson\`: each line is the JSON object of the operation's own call, with an optional ` +
    `\`custom_id\` of at most ${MAX_CUSTOM_ID} characters, or \`{custom_id, params}\`. ` +
    `\`csv\`: the first part begins with a header of field names; other parts may repeat it. A line may have ` +
    `${MAX_LINE_BYTES / 1024} KiB, a job ${MAX_LINES.toLocaleString('en')} lines. \`Content-Encoding: gzip\` is supported.`,
  inPath: {
    n: {
      description:
        `The number of the part, 1 to ${MAX_PARTS.toLocaleString('en')}. Parts may arrive in any order; ` +
        'lines are processed in the order of the numbers.',
      schema: { type: 'integer', minimum: 1, maximum: MAX_PARTS },
      example: 1,
    },
  },
  raw: {
    'application/x-ndjson': { type: 'string', description: 'One JSON object per line.' },
    'text/csv': { type: 'string', description: 'RFC 4180, UTF-8, with commas.' },
  },
  answers: { 200: { description: 'The part is stored.', content: { 'application/json': ref('BatchPart') } } },
  problems: ['job_state_conflict', 'payload_too_large', 'validation_failed'],
});

export const COMPLETE_BATCH = ofJob({
  id: 'completeBatch',
  method: 'POST',
  under: '/complete',
  summary: 'Complete the input of a job',
  description:
    'The job is validated, then processed. If a number between 1 and the last part is missing, the answer names it and the job ' +
    'stays open. The request has no body.',
  problems: ['job_state_conflict'],
});

export const CANCEL_BATCH = ofJob({
  id: 'cancelBatch',
  method: 'POST',
  under: '/cancel',
  summary: 'Cancel a job',
  description: 'Finished lines stay paid for, and their results can be fetched. All other lines are `unprocessed` and free. No body.',
  problems: ['job_state_conflict'],
});

export const DELETE_BATCH = ofJob({
  id: 'deleteBatch',
  method: 'DELETE',
  summary: 'Delete a job that has ended',
  description: 'Deletes its results, too. Cancel a job that has not ended first.',
  answers: { 204: { description: 'The job is deleted.' } },
  problems: ['job_state_conflict'],
});

export const BATCH_RESULTS = ofJob({
  id: 'getBatchResults',
  method: 'GET',
  under: '/results',
  summary: 'The results of a job that is completed or cancelled',
  description:
    'One line for each line of the input, in input order, of one set or of all. The format is that of `Accept`, or else of the ' +
    'parts: `application/x-ndjson`, or `text/csv` with the same columns, where `record` and `error` are JSON. The option ' +
    '`escape_formulas` of the job makes CSV safe for a spreadsheet. The line of a person who was erased meanwhile is `failed` with ' +
    '`suppressed_person`, without a record.',
  query: { set: { description: 'Only lines of this status.', schema: { type: 'string', enum: RESULT_SETS }, example: 'succeeded' } },
  headers: { Accept: { description: 'The format of the results.', schema: { type: 'string' }, example: 'application/x-ndjson' } },
  answers: {
    200: {
      description: 'The lines, as a stream.',
      content: {
        'application/x-ndjson': ref('BatchLine'),
        'text/csv': { type: 'string', description: '`line,custom_id,status,record,error,credits`' },
      },
    },
  },
  problems: ['job_state_conflict'],
});
