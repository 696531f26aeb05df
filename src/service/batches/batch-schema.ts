/** The schemas of batch jobs, parts and results in answers. */
import { STATES } from './states.ts';
import { ERRORS } from '../http/problem.ts';
import { nullable, type Schema } from '../http/body-schema.ts';
import { BATCH_FORMATS, BATCH_OPERATIONS, RESULT_SETS } from './batch-operations.ts';
import { COUNT, STRING, TIME, whole } from '../records/schemas/record-schema.ts';

const REASON: Schema = { type: 'object', required: ['code', 'detail'], properties: { code: { type: 'string' }, detail: STRING } };

export const BATCH_SCHEMA: Schema = whole({
  id: STRING,
  operation: { type: 'string', enum: BATCH_OPERATIONS },
  format: { type: 'string', enum: BATCH_FORMATS },
  state: { type: 'string', enum: STATES },
  reason: {
    ...nullable(REASON),
    description:
      'Why the job is paused, has failed, or has unprocessed lines: `insufficient_credits`, `max_credits`, `disk_full`; `bad_header`, ' +
      '`no_readable_line`, `too_many_lines`, `files_lost`; `key_revoked`, `paused_too_long`.',
  },
  options: { type: 'object', description: 'The options of the request.' },
  metadata: { ...nullable({ type: 'object' }), description: 'The metadata of the request.' },
  webhook_url: nullable(STRING),
  max_credits: nullable(COUNT),
  parts: whole({ count: { ...COUNT, description: 'The number of parts that were sent.' }, bytes: COUNT }),
  counts: {
    ...whole({ total: COUNT, succeeded: COUNT, not_found: COUNT, failed: COUNT, unprocessed: COUNT }),
    description: 'Counts of lines. `total` is the sum of the others, and 0 until the job is validated.',
  },
  credits_charged: COUNT,
  times: {
    ...whole(Object.fromEntries(STATES.map((state) => [state, nullable(TIME)]))),
    description: 'When the job last entered each state.',
  },
});

export const BATCH_PAGE: Schema = {
  type: 'object',
  required: ['data', 'meta'],
  properties: {
    data: { type: 'array', items: { $ref: '#/components/schemas/Batch' } },
    meta: whole({
      limit: { type: 'integer', minimum: 1 },
      next_cursor: { ...nullable(STRING), description: 'Pass it as `cursor` for the next page; `null` on the last page.' },
    }),
  },
};

export const BATCH_PART: Schema = whole({
  part: { type: 'integer', minimum: 1 },
  bytes: { ...COUNT, description: 'Bytes of the decompressed part.' },
});

const LINE_ERROR: Schema = {
  type: 'object',
  description: "The error that the operation's own call would have.",
  required: ['code', 'detail', 'errors'],
  properties: { code: { type: 'string', enum: Object.keys(ERRORS) }, detail: STRING, errors: { type: 'array', items: { type: 'object' } } },
};

export const BATCH_LINE: Schema = whole({
  line: {
    type: 'integer',
    minimum: 1,
    description: 'The number of the line among all lines of all parts; empty lines and headers do not count.',
  },
  custom_id: { ...nullable(STRING), description: 'The `custom_id` of the input line.' },
  status: { type: 'string', enum: RESULT_SETS },
  record: { ...nullable({ type: 'object' }), description: "The answer that the operation's own call would give." },
  error: { anyOf: [LINE_ERROR, { type: 'null' }] },
  credits: COUNT,
});
