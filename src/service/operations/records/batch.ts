/** A batch job, its parts and its results as they are answered. */
import { STATES } from '../../batches/states.ts';
import { ERRORS } from '../../errors.ts';
import { nullable, type Schema } from '../../openapi/schema.ts';
import { BATCH_FORMATS, BATCH_OPERATIONS, RESULT_SETS } from '../batches.ts';
import { COUNT, STRING, TIME, whole } from './fields.ts';

const WHY: Schema = { type: 'object', required: ['code', 'detail'], properties: { code: { type: 'string' }, detail: STRING } };

export const BATCH: Schema = whole({
  id: STRING,
  operation: { type: 'string', enum: BATCH_OPERATIONS },
  format: { type: 'string', enum: BATCH_FORMATS },
  state: { type: 'string', enum: STATES },
  reason: { ...nullable(WHY), description: 'Why it is paused, has failed, or left lines unprocessed: `insufficient_credits`, `max_credits`, `disk_full`; `bad_header`, `no_readable_line`, `too_many_lines`, `files_lost`; `key_revoked`, `paused_too_long`.' },
  options: { type: 'object', description: 'As they were given.' },
  metadata: { ...nullable({ type: 'object' }), description: 'As it was given.' },
  webhook_url: nullable(STRING),
  max_credits: nullable(COUNT),
  parts: whole({ count: { ...COUNT, description: 'Parts that were sent.' }, bytes: COUNT }),
  counts: { ...whole({ total: COUNT, succeeded: COUNT, not_found: COUNT, failed: COUNT, unprocessed: COUNT }), description: 'Lines; `total` is the sum of the others, and 0 until the job is validated.' },
  credits_charged: COUNT,
  times: { ...whole(Object.fromEntries(STATES.map((state) => [state, nullable(TIME)]))), description: 'When it came into each state last.' },
});

export const BATCH_PAGE: Schema = {
  type: 'object',
  required: ['data', 'meta'],
  properties: {
    data: { type: 'array', items: { $ref: '#/components/schemas/Batch' } },
    meta: whole({ limit: { type: 'integer', minimum: 1 }, next_cursor: { ...nullable(STRING), description: 'To be passed as `cursor` for the next page; `null`: this is the last.' } }),
  },
};

export const BATCH_PART: Schema = whole({ part: { type: 'integer', minimum: 1 }, bytes: { ...COUNT, description: 'Uncompressed.' } });

const LINE_ERROR: Schema = {
  type: 'object',
  description: 'What the operation\'s own call would have been refused with.',
  required: ['code', 'detail', 'errors'],
  properties: { code: { type: 'string', enum: Object.keys(ERRORS) }, detail: STRING, errors: { type: 'array', items: { type: 'object' } } },
};

export const BATCH_LINE: Schema = whole({
  line: { type: 'integer', minimum: 1, description: 'The number of the line among all lines of all parts; empty lines and headers do not count.' },
  custom_id: { ...nullable(STRING), description: 'As it was sent.' },
  status: { type: 'string', enum: RESULT_SETS },
  record: { ...nullable({ type: 'object' }), description: 'What the operation\'s own call would have answered.' },
  error: { anyOf: [LINE_ERROR, { type: 'null' }] },
  credits: COUNT,
});
