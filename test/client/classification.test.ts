/** One row for each kind of answer, sent by a real server. */
import { describe, expect, it } from 'vitest';
import { classify } from '../../src/client/classify.ts';
import { Redactor } from '../../src/client/redactor.ts';
import type { CallResult } from '../../src/client/types.ts';
import { EMAIL_BODY, makeClient, PERSON, PERSON_TEXT, serveCanned } from './servers.ts';
import type { Canned } from './servers.ts';

interface Row extends Canned {
  readonly name: string;
  /** The expected fields of the result. */
  readonly enrich?: Record<string, unknown>;
  readonly verify?: Record<string, unknown>;
}

const PROBLEM = { 'content-type': 'application/problem+json' };
const HTML = { 'content-type': 'text/html' };
const problem = (code: string, detail = 'Because.'): string => JSON.stringify({ type: 'about:blank', title: 'T', code, detail });
const both = (expected: Record<string, unknown>): { enrich: Record<string, unknown>; verify: Record<string, unknown> } => ({
  enrich: expected,
  verify: expected,
});
const miss = { enrich: { kind: 'miss' } };
const badBody = (detail: unknown = expect.any(String)): Record<string, unknown> => ({ kind: 'retryable', code: 'bad_body', detail });

const rows: readonly Row[] = [
  // Successes
  { name: '200 with a record', status: 200, body: PERSON_TEXT, enrich: { kind: 'ok', value: { record: PERSON, text: PERSON_TEXT } } },
  { name: '201 with a record', status: 201, body: PERSON_TEXT, enrich: { kind: 'ok' } },
  { name: '200 in text/html that is JSON all the same', status: 200, body: PERSON_TEXT, headers: HTML, enrich: { kind: 'ok' } },
  {
    name: '200 with a byte order mark and spaces',
    status: 200,
    body: `\uFEFF \n${PERSON_TEXT}\r\n`,
    enrich: { kind: 'ok', value: { record: PERSON, text: PERSON_TEXT } },
  },
  {
    name: '200 over several lines',
    status: 200,
    body: JSON.stringify(PERSON, null, 2),
    enrich: { kind: 'ok', value: { record: PERSON, text: PERSON_TEXT } },
  },
  {
    name: '200 with unknown fields, kept',
    status: 200,
    body: '{"name":"A","x":{"y":[1]}}',
    enrich: { kind: 'ok', value: { record: { name: 'A', x: { y: [1] } }, text: '{"name":"A","x":{"y":[1]}}' } },
  },
  {
    name: '200 with numbers that a parse would change, kept as text',
    status: 200,
    body: '{"name":"A","n":1.0,"m":12345678901234567890}',
    enrich: { kind: 'ok', value: { record: expect.anything(), text: '{"name":"A","n":1.0,"m":12345678901234567890}' } },
  },
  { name: '200 with a company only', status: 200, body: '{"email":null,"name":null,"company":{"name":"Acme"}}', enrich: { kind: 'ok' } },
  {
    name: '200 with a person field beyond the specification’s',
    status: 200,
    body: '{"email":"a@b.example","years_experience":0}',
    enrich: { kind: 'ok' },
  },
  {
    name: '200 with verdicts',
    status: 200,
    body: '{"data":[{"email":"ana@acme.example","result":"risky","confidence":40}]}',
    verify: { kind: 'ok' },
  },
  // Successes that say nothing
  { name: '200 null', status: 200, body: 'null', ...miss, verify: badBody() },
  { name: '200 {}', status: 200, body: '{}', ...miss, verify: badBody() },
  {
    name: '200 that echoes the key alone',
    status: 200,
    body: '{"email":"ana@acme.example","domain":"acme.example","id":"1","verified":false,"likelihood":0}',
    ...miss,
  },
  {
    name: '200 with empty fields',
    status: 200,
    body: '{"email":"ana@acme.example","name":"","title":null,"phones":[],"location":{"city":null},"company":{"name":null,"stack":[]}}',
    ...miss,
  },
  ...['{"data":null}', '{"person":{}}', '{"record":{"name":null}}'].map((body) => ({
    name: `200 with ${body}`,
    status: 200,
    body,
    ...miss,
  })),
  // A record in a wrapper
  ...(['data', 'person', 'record'] as const).map((name) => ({
    name: `200 with a record under ${name}`,
    status: 200,
    body: `{"${name}":${PERSON_TEXT}}`,
    enrich: { kind: 'ok', value: { record: PERSON, text: PERSON_TEXT } },
  })),
  {
    name: '200 with a record beside its status',
    status: 200,
    body: `{"status":200,"data":${PERSON_TEXT}}`,
    enrich: { kind: 'ok', value: { record: PERSON, text: PERSON_TEXT } },
  },
  // Successes of another shape
  ...[
    '{"success":false,"error":"rate limit exceeded"}',
    '{"status":"maintenance"}',
    '{"id":"r1","type":"error"}',
    '{"error":"later","data":null}',
    '{"data":{"status":"maintenance"}}',
    '{"data":[]}',
  ].map((body) => ({ name: `200 with ${body}`, status: 200, body, enrich: { kind: 'retryable', code: 'bad_shape', unfit: true } })),
  { name: '200 with an empty text inside a field', status: 200, body: '{"location":{"city":""}}', ...miss },
  { name: '204', status: 204, enrich: { kind: 'miss' }, verify: { kind: 'retryable', code: 'http_204' } },
  // Successes that cannot be read
  { name: '200 without a body', status: 200, body: '', ...both(badBody('the answer is empty')) },
  { name: '200 that is not JSON', status: 200, body: '<html>', headers: HTML, ...both(badBody('the answer is an HTML page')) },
  { name: '200 cut short', status: 200, body: PERSON_TEXT.slice(0, -3), ...both(badBody('the answer is not JSON')) },
  { name: '200 with an array', status: 200, body: '[]', enrich: badBody(), verify: { kind: 'ok' } },
  { name: '200 with a text', status: 200, body: '"ok"', ...both(badBody()) },
  { name: '202', status: 202, body: '{}', ...both({ kind: 'retryable', code: 'http_202' }) },
  { name: '206', status: 206, body: PERSON_TEXT, ...both({ kind: 'retryable', code: 'http_206' }) },
  // Redirects
  {
    name: '302',
    status: 302,
    headers: { location: 'https://user:pw@other.example/login?token=secret#x' },
    ...both({ kind: 'wrong_address', detail: expect.stringMatching(/answered 302 and points to https:\/\/other\.example\/login$/) }),
  },
  { name: '308 without Location', status: 308, ...both({ kind: 'wrong_address', detail: expect.stringMatching(/answered 308$/) }) },
  { name: '304', status: 304, ...both({ kind: 'wrong_address' }) },
  // Refused
  {
    name: '400',
    status: 400,
    body: problem('invalid_json'),
    headers: PROBLEM,
    ...both({ kind: 'rejected', code: 'invalid_json', detail: 'Because.' }),
  },
  {
    name: '401',
    status: 401,
    body: problem('unauthorized'),
    headers: PROBLEM,
    ...both({ kind: 'denied', code: 'unauthorized', detail: 'Because.' }),
  },
  {
    name: '402',
    status: 402,
    body: '{"error":{"code":"insufficient_credits","message":"Top up."}}',
    ...both({ kind: 'denied', code: 'insufficient_credits', detail: 'Top up.' }),
  },
  {
    name: '403 of a firewall',
    status: 403,
    body: '<html><title>Blocked</title>',
    headers: HTML,
    ...both({ kind: 'retryable', code: 'http_403', detail: 'Blocked', page: true }),
  },
  { name: '401 of a proxy', status: 401, body: '<!doctype html>', ...both({ kind: 'retryable', code: 'http_401', page: true }) },
  { name: '402 in HTML', status: 402, body: '<html>', ...both({ kind: 'retryable', code: 'http_402', page: true }) },
  {
    name: '403 in plain text',
    status: 403,
    body: 'RBAC: access denied',
    headers: { 'content-type': 'text/plain' },
    ...both({ kind: 'denied', code: 'http_403', detail: 'RBAC: access denied', isForeign: true }),
  },
  {
    name: '403 with Retry-After',
    status: 403,
    body: problem('forbidden'),
    headers: { ...PROBLEM, 'retry-after': '9' },
    ...both({ kind: 'throttled', retryAfterMs: 9_000 }),
  },
  {
    name: '403 with no request left',
    status: 403,
    body: problem('forbidden'),
    headers: { ...PROBLEM, 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '0' },
    ...both({ kind: 'throttled', retryAfterMs: null }),
  },
  {
    name: '403 of an unlimited plan',
    status: 403,
    body: problem('forbidden'),
    headers: { ...PROBLEM, 'x-ratelimit-limit': '0', 'x-ratelimit-remaining': '0' },
    ...both({ kind: 'denied', code: 'forbidden' }),
  },
  { name: '405', status: 405, ...both({ kind: 'rejected', code: 'http_405', detail: 'HTTP 405' }) },
  { name: '410', status: 410, ...both({ kind: 'rejected', code: 'http_410' }) },
  {
    name: '413',
    status: 413,
    body: '{"error":"Too big for us"}',
    ...both({ kind: 'rejected', code: 'http_413', detail: 'Too big for us' }),
  },
  { name: '418', status: 418, ...both({ kind: 'rejected', code: 'http_418' }) },
  {
    name: '421, the key is of another region',
    status: 421,
    body: problem('wrong_region'),
    headers: PROBLEM,
    ...both({ kind: 'denied', code: 'wrong_region' }),
  },
  {
    name: '421 of somebody on the way',
    status: 421,
    body: 'Misdirected Request',
    headers: { 'content-type': 'text/plain' },
    ...both({ kind: 'rejected', code: 'http_421' }),
  },
  {
    name: '422 with a list',
    status: 422,
    headers: PROBLEM,
    body: '{"code":"validation_failed","detail":"Invalid.","errors":[{"pointer":"/email","code":"format","detail":"not an e-mail"}]}',
    ...both({ kind: 'rejected', code: 'validation_failed', detail: 'Invalid.; /email: not an e-mail' }),
  },
  { name: '451', status: 451, body: problem('suppressed_person'), headers: PROBLEM, ...both({ kind: 'suppressed' }) },
  // 404
  { name: '404 no_match', status: 404, body: problem('no_match'), headers: PROBLEM, ...miss, verify: { kind: 'wrong_address' } },
  {
    name: '404 not_found of a problem+json',
    status: 404,
    body: problem('not_found', 'No such path.'),
    headers: PROBLEM,
    ...both({ kind: 'wrong_address', detail: expect.stringMatching(/^POST http.* answered 404: No such path\.$/) }),
  },
  { name: '404 {}', status: 404, body: '{}', ...miss, verify: { kind: 'wrong_address' } },
  { name: '404 not_found in another dialect', status: 404, body: '{"code":"not_found"}', ...miss, verify: { kind: 'wrong_address' } },
  { name: '404 null as JSON', status: 404, body: 'null', ...miss },
  { name: '404 empty as JSON', status: 404, body: '', headers: { 'content-type': 'application/hal+json; charset=utf-8' }, ...miss },
  { name: '404 JSON object as text', status: 404, body: '{"message":"none"}', headers: { 'content-type': 'text/plain' }, ...miss },
  {
    name: '404 bare word that is JSON, as text',
    status: 404,
    body: '404',
    headers: { 'content-type': 'text/plain' },
    ...both({ kind: 'wrong_address' }),
  },
  {
    name: '404 HTML',
    status: 404,
    body: '<!doctype html><title>Not Found</title>',
    headers: HTML,
    ...both({ kind: 'wrong_address', detail: expect.stringMatching(/Not Found$/) }),
  },
  {
    name: '404 HTML that claims to be JSON',
    status: 404,
    body: '<html>',
    ...both({ kind: 'wrong_address', detail: expect.stringMatching(/^POST http\S+ answered 404$/) }),
  },
  // Throttled
  { name: '429 with seconds', status: 429, headers: { 'retry-after': '7' }, ...both({ kind: 'throttled', retryAfterMs: 7000 }) },
  {
    name: '429 with a date',
    status: 429,
    headers: { date: 'Sun, 06 Nov 1994 08:49:37 GMT', 'retry-after': 'Sun, 06 Nov 1994 08:49:57 GMT' },
    ...both({ kind: 'throttled', retryAfterMs: 20_000 }),
  },
  { name: '429 without Retry-After', status: 429, body: '<html>', headers: HTML, ...both({ kind: 'throttled', retryAfterMs: null }) },
  {
    name: '503 with Retry-After',
    status: 503,
    body: problem('overloaded'),
    headers: { ...PROBLEM, 'retry-after': '0' },
    ...both({ kind: 'throttled', retryAfterMs: 0 }),
  },
  { name: '503 without Retry-After', status: 503, ...both({ kind: 'retryable', code: 'http_503', retryAfterMs: null }) },
  {
    name: '503 with an unreadable Retry-After',
    status: 503,
    headers: { 'retry-after': 'soon' },
    ...both({ kind: 'retryable', code: 'http_503', retryAfterMs: null }),
  },
  // Retryable
  { name: '408', status: 408, ...both({ kind: 'retryable', code: 'http_408' }) },
  {
    name: '409 in flight',
    status: 409,
    body: problem('idempotency_in_flight'),
    headers: { ...PROBLEM, 'retry-after': '2' },
    ...both({ kind: 'retryable', code: 'idempotency_in_flight', retryAfterMs: 2000 }),
  },
  {
    name: '409 of another kind',
    status: 409,
    body: problem('job_state_conflict'),
    headers: PROBLEM,
    ...both({ kind: 'rejected', code: 'job_state_conflict' }),
  },
  { name: '425', status: 425, ...both({ kind: 'retryable', code: 'http_425' }) },
  ...[500, 501, 502, 504, 520, 599].map((status) => ({
    name: `${status}`,
    status,
    body: '<h1>',
    headers: HTML,
    ...both({ kind: 'retryable', code: `http_${status}`, detail: `HTTP ${status}`, retryAfterMs: null }),
  })),
  {
    name: '500 with its own code and Retry-After',
    status: 500,
    body: '{"error":"internal_error","message":"Oops"}',
    headers: { 'retry-after': '1.5' },
    ...both({ kind: 'retryable', code: 'internal_error', detail: 'Oops', retryAfterMs: 1500 }),
  },
];

describe('classification of an answer', () => {
  for (const row of rows) {
    if (row.enrich !== undefined) {
      it(`enrich: ${row.name}`, async () => {
        const client = makeClient(await serveCanned(row));
        check(await client.callEnrich(EMAIL_BODY), row.enrich, row.status);
      });
    }
    if (row.verify !== undefined) {
      it(`verify: ${row.name}`, async () => {
        const client = makeClient(await serveCanned(row));
        check(await client.callVerify(client.verifyBody(['ana@acme.example'])), row.verify, row.status);
      });
    }
  }
});

const META = { status: 503, headers: {}, quota: null, requestId: null, credits: 0, latencyMs: 1 };

it('a cancelled call counts as cancelled, also when an answer with a status had begun', () => {
  const meta = { ...META, headers: { 'retry-after': '1' } };
  const options = { call: 'POST x', lookup: true, redactor: new Redactor(null), clock: () => 0 };
  const cancelled = { status: 503, text: '', failure: { code: 'aborted', detail: 'cancelled' }, meta } as const;
  expect(classify(cancelled, options)).toMatchObject({ kind: 'retryable', code: 'aborted' });
  expect(classify({ ...cancelled, failure: { code: 'network', detail: 'reset' } }, options)).toMatchObject({
    kind: 'throttled',
    retryAfterMs: 1000,
  });
});

it('the form of a 404 has the type of a body that is no object, and not its text, which may name the lookup', () => {
  const options = { call: 'POST x', lookup: true, redactor: new Redactor(null), clock: () => 0 };
  const formOf = (text: string): unknown => {
    const headers = { 'content-type': 'application/json' };
    const result = classify({ status: 404, text, failure: null, meta: { ...META, status: 404, headers } }, options);
    return result.kind === 'miss' ? result.form : result.kind;
  };
  for (const bodyOf of [(name: string) => `No person ${name}`, (name: string) => [name]])
    expect(formOf(JSON.stringify(bodyOf('ann')))).toBe(formOf(JSON.stringify(bodyOf('bob'))));
  const bodies = ['null', 'false', '7', '"text"', '[]', '{}'];
  expect(new Set(bodies.map(formOf)).size).toBe(bodies.length);
});

function check(result: CallResult<unknown>, expected: Record<string, unknown> | undefined, status: number): void {
  expect(result).toMatchObject(expected ?? {});
  expect(result.meta.status).toBe(status);
  expect(result.meta.latencyMs).toBeGreaterThan(0);
}
