/** Answers of 400 and above, as the document has them: which codes an operation may be refused with, and what comes with each. Pure. */
import { ERRORS, problem, PROBLEM_TYPE, type ErrorCode } from '../http/problem.ts';
import { ALWAYS, ALWAYS_OPEN, headerRefs } from './headers.ts';
import type { DeclaredAnswer, Operation } from '../http/operation.ts';
import { ref, type Schema } from '../http/body-schema.ts';

const CODES = Object.keys(ERRORS) as ErrorCode[];

/** The meaning of each code, and the way to mend it. */
export const PROBLEM_NOTES: Readonly<Record<ErrorCode, string>> = {
  invalid_json: 'The body is no JSON, or there is none.',
  unknown_parameter: 'There is no such query parameter; the nearest one is named.',
  invalid_parameter: 'A parameter or header has a value that it cannot have; `errors` names each.',
  unauthorized: 'No API key, or one that this service does not know.',
  insufficient_credits:
    'The key has no calls or credits left for this. Nothing was done, and the ' +
    'same request, with the same `Idempotency-Key` too, works once there are.',
  forbidden: 'The key was revoked, and is accepted no more.',
  no_match: 'The lookup found nothing. Free.',
  not_found: 'There is no such path or resource.',
  method_not_allowed: 'The path takes other methods: see `Allow`.',
  request_timeout: 'The request did not arrive in time.',
  idempotency_in_flight: 'The first request with this `Idempotency-Key` is not answered yet.',
  job_state_conflict: 'The job or webhook is in another state than this needs; `detail` says in which.',
  payload_too_large: 'The body is larger than 1 MiB, or a part of a batch than 64 MiB.',
  unsupported_media_type: 'The body is of another type than the operation takes, or it is compressed.',
  expectation_failed: 'The request has an `Expect` other than `100-continue`.',
  wrong_region: 'The key belongs to another region, which is named.',
  validation_failed: 'The body is JSON, but not what the operation takes; `errors` names each field.',
  too_many_emails: 'More than 1,000 addresses.',
  idempotency_mismatch:
    'The `Idempotency-Key` was used for another request within the last 24 ' +
    'hours, or its answer was too large to be kept. Free; take another key.',
  rate_limited: 'The quota is used up: wait as long as `Retry-After` says.',
  headers_too_large: 'The headers, path and query with them, are larger than 16 KiB, or there are more than 100.',
  suppressed_person:
    'The person asked to be removed; of an answer that would be repeated for its `Idempotency-Key`, somebody whom it names. Free.',
  internal_error:
    'Something went wrong here, or what the store has of this is damaged. Nothing was charged; `request_id` helps to find it.',
  overloaded: 'Too much at once, or the store cannot be written for the moment: wait as long as `Retry-After` says. Nothing was charged.',
  disk_full:
    'The disk of the service is full, so what this costs or keeps could not ' +
    'be written. Nothing was charged: wait as long as `Retry-After` says.',
};

/** Problems of any call. A wrong path or method is refused before any operation. */
const COMMON: readonly ErrorCode[] = [
  'unknown_parameter',
  'invalid_parameter',
  'unauthorized',
  'forbidden',
  'request_timeout',
  'unsupported_media_type',
  'expectation_failed',
  'wrong_region',
  'rate_limited',
  'headers_too_large',
  'internal_error',
  'overloaded',
  'disk_full',
  'method_not_allowed',
];
/** A body is read wherever one is sent, also where none is wanted. */
const OF_CHANGES: readonly ErrorCode[] = ['invalid_json', 'payload_too_large'];
const OF_BODIES: readonly ErrorCode[] = ['validation_failed'];
/** Any POST may carry an `Idempotency-Key`; an answer that names an erased person is not repeated. */
const OF_POSTS: readonly ErrorCode[] = ['idempotency_in_flight', 'idempotency_mismatch', 'suppressed_person'];
const OPEN: readonly ErrorCode[] = [
  'unknown_parameter',
  'invalid_parameter',
  'method_not_allowed',
  'request_timeout',
  'expectation_failed',
  'headers_too_large',
  'internal_error',
];

/** Headers of an answer with this code, besides those of every answer. */
const WITH: Partial<Record<ErrorCode, readonly string[]>> = {
  unauthorized: ['WWW-Authenticate'],
  method_not_allowed: ['Allow'],
  idempotency_in_flight: ['Retry-After'],
  rate_limited: ['Retry-After'],
  overloaded: ['Retry-After'],
  disk_full: ['Retry-After'],
};

/** Settled answers come again for the same `Idempotency-Key`. */
const REPLAYED: readonly number[] = [404, 422, 451];

/** Every code that an operation may answer. */
export function problemsOf({ open, method, body, problems }: Operation): readonly ErrorCode[] {
  const all = new Set<ErrorCode>([
    ...(open === true ? OPEN : COMMON),
    ...(method === 'GET' ? [] : OF_CHANGES),
    ...(body === undefined ? [] : OF_BODIES),
    ...(method === 'POST' ? OF_POSTS : []),
    ...problems,
  ]);
  return CODES.filter((code) => all.has(code));
}

/** One answer a status, each a component: operations that may be refused alike share it. */
export function problemResponses(operation: Operation): Record<string, Schema> {
  return Object.fromEntries(
    groups(operation).map(({ status, codes, name }) => {
      const answer = operation.answers[status];
      return [
        String(status),
        answer === undefined
          ? { $ref: `#/components/responses/${name}` }
          : beside(answer, response(status, codes, operation.open === true)),
      ];
    }),
  );
}

/** The answers that `problemResponses` refers to, by name. */
export function responseComponents(operations: readonly Operation[]): Record<string, Schema> {
  return Object.fromEntries(
    operations.flatMap((operation) =>
      groups(operation).map(({ status, codes, name }) => [name, response(status, codes, operation.open === true)]),
    ),
  );
}

/** An example of each code, by code. */
export function exampleComponents(): Record<string, Schema> {
  return Object.fromEntries(
    CODES.map((code) => [
      code,
      { summary: ERRORS[code].title, value: JSON.parse(problem(code, PROBLEM_NOTES[code], '/v1/enrich', 'req_1f0c8a4be2d7_1')) as unknown },
    ]),
  );
}

interface Group {
  readonly status: number;
  readonly codes: readonly ErrorCode[];
  readonly name: string;
}

function groups(operation: Operation): Group[] {
  const byStatus = Map.groupBy(problemsOf(operation), (code) => ERRORS[code].status);
  return [...byStatus].map(([status, codes]) => ({
    status,
    codes,
    name: [...(operation.open === true ? ['open'] : []), ...codes].join('.'),
  }));
}

function response(status: number, codes: readonly ErrorCode[], open: boolean): Schema {
  const extra = codes.flatMap((code) => WITH[code] ?? []);
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEM_NOTES[code]}`).join(' '),
    headers: headerRefs([...(open ? ALWAYS_OPEN : ALWAYS), ...extra, ...(REPLAYED.includes(status) ? ['Idempotency-Replayed'] : [])]),
    content: {
      [PROBLEM_TYPE]: {
        schema: { ...ref('Problem'), properties: { status: { const: status }, code: { enum: codes } } },
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  };
}

/** A status that says something else than a problem, too. */
function beside({ description, content }: DeclaredAnswer, problem: Schema): Schema {
  return {
    ...problem,
    description: `${description} Or ${String(problem['description'])}`,
    headers: { ...(problem['headers'] as Schema), ...headerRefs(['Idempotency-Replayed']) },
    content: {
      ...(problem['content'] as Schema),
      ...Object.fromEntries(Object.entries(content ?? {}).map(([type, schema]) => [type, { schema }])),
    },
  };
}

const ITEM: Schema = {
  type: 'object',
  required: ['code', 'detail'],
  additionalProperties: false,
  properties: {
    pointer: { type: 'string', description: 'Where in the body (RFC 6901).', examples: ['/email'] },
    parameter: { type: 'string', description: 'Which query parameter or header.', examples: ['limit'] },
    code: { type: 'string', examples: ['unknown_field'] },
    detail: { type: 'string' },
  },
};

export const PROBLEM: Schema = {
  type: 'object',
  description: 'What went wrong (RFC 9457).',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'request_id', 'retryable', 'errors'],
  properties: {
    type: { type: 'string', format: 'uri', description: 'Names the kind of problem.', examples: ['urn:millrace:error:no_match'] },
    title: { type: 'string' },
    status: { type: 'integer', minimum: 400, maximum: 599 },
    detail: { type: 'string', description: 'What happened, for who reads it.' },
    instance: { type: 'string', description: 'The path asked for.' },
    code: { type: 'string', enum: CODES, description: 'For programs; stable.' },
    request_id: { type: 'string', description: 'As in `X-Request-Id`.' },
    retryable: { type: 'boolean', description: 'Whether the same request may work later.' },
    errors: { type: 'array', items: ITEM, maxItems: 100, description: 'What exactly is wrong, and where; at most 100.' },
  },
};
