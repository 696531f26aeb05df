/** Headers of requests and answers, as the document names them. Pure. */
import type { Parameters } from '../http/operation.ts';
import type { Schema } from '../http/body-schema.ts';

interface Header {
  readonly description: string;
  readonly schema: Schema;
  readonly example: unknown;
  /** Always there. */
  readonly required?: true;
}

const COUNT: Schema = { type: 'integer', minimum: 0 };
const TEXT: Schema = { type: 'string' };

/** Headers of answers; a component each. */
export const HEADERS: Readonly<Record<string, Header>> = {
  'X-RateLimit-Limit': { required: true, description: 'Requests a minute; 0: no limit.', schema: COUNT, example: 1000 },
  'X-RateLimit-Remaining': { required: true, description: 'Requests that may be sent at once now.', schema: COUNT, example: 999 },
  'X-RateLimit-Reset': {
    required: true,
    description: 'Seconds, rounded up, until the whole limit may be sent at once again.',
    schema: COUNT,
    example: 1,
  },
  'RateLimit-Policy': {
    required: true,
    description: 'The quota, as the IETF draft has it; named after the plan.',
    schema: TEXT,
    example: '"growth";q=1000;w=60',
  },
  RateLimit: { required: true, description: 'What is left of it, likewise.', schema: TEXT, example: '"growth";r=999;t=1' },
  'X-Request-Id': { required: true, description: 'Names the request.', schema: TEXT, example: 'req_1f0c8a4be2d7_1' },
  'X-Credits-Charged': { required: true, description: 'What the request cost.', schema: COUNT, example: 1 },
  'X-Sample-Data': {
    description: 'The service serves the sample set: its people, companies and mailboxes are invented.',
    schema: { type: 'string', enum: ['true'] },
    example: 'true',
  },
  'Idempotency-Replayed': {
    description: 'This is the answer to an earlier request with the same `Idempotency-Key`; it costs nothing.',
    schema: { type: 'string', enum: ['true'] },
    example: 'true',
  },
  'Retry-After': { description: 'Seconds until it is worth asking again.', schema: COUNT, example: 30 },
  'X-Search-Units': {
    description: 'The work that the searches of the request took.',
    schema: COUNT,
    example: 120,
  },
  ETag: { description: 'Names what was answered; see `If-None-Match`.', schema: TEXT, example: '"q83vEjRWeJCrze8SNFZ4kA"' },
  Link: { description: 'The next page, when there is one.', schema: TEXT, example: '</v1/signals?limit=2&cursor=WyJ4Il0>; rel="next"' },
  Location: {
    description: 'Where to ask for the result.',
    schema: TEXT,
    example: '/v1/emails/verify/ver_0123456789abcdef0123456789abcdef',
  },
  'Preference-Applied': { description: 'What `Prefer` asked for is done.', schema: TEXT, example: 'respond-async' },
  Allow: { required: true, description: 'The methods that the path takes.', schema: TEXT, example: 'GET, HEAD' },
  'WWW-Authenticate': { required: true, description: 'How to show a key.', schema: TEXT, example: 'Bearer' },
};

/** Headers of every answer to a call with a key. */
export const ALWAYS = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
  'X-Request-Id',
  'X-Credits-Charged',
  'X-Sample-Data',
] as const;
/** Headers of every answer without a key. */
export const ALWAYS_OPEN = ['X-Request-Id', 'X-Credits-Charged'] as const;

/** Headers that any POST may have. */
export const POST_HEADERS: Parameters = {
  'Idempotency-Key': {
    description:
      '1 to 255 printable ASCII characters. A value of your own for each request, such as a ' +
      'UUID: the same request with the same value within 24 hours is answered as the first ' +
      'was, at no charge, and another request with it is refused (422 `idempotency_mismatch`).',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[ -~]+$' },
  },
};

export function headerRefs(names: readonly string[]): Schema {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

export function headerComponents(): Schema {
  return Object.fromEntries(
    Object.entries(HEADERS).map(([name, { required, description, schema, example }]) => [
      name,
      { description, ...(required === undefined ? {} : { required }), schema, example },
    ]),
  );
}
