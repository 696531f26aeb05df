import { expect, test } from 'vitest';
import { compiled, LEAST, request } from './support.ts';

test('the smallest definition takes its name from the file and the rest from the defaults', () => {
  expect(compiled(LEAST)).toMatchObject({
    name: 'acme',
    file: 'acme.yaml',
    title: null,
    documentation: [],
    readOn: null,
    client: 'declared',
    baseUrl: null,
    authentication: null,
    headers: {},
    tls: null,
    timeoutMs: 30_000,
    concurrency: 'auto',
    idempotencyHeader: null,
    defaultPlan: null,
    quota: { plans: {}, headers: null },
    operations: { enrich: { keys: ['email'], creditsAtMost: 1, credits: null, batch: null, poll: null, quota: null } },
  });
  expect(Object.isFrozen(compiled(LEAST).operations.enrich?.keys)).toBe(true);
});

const WHOLE = `
name: acme-data
title: Acme Data
documentation: [https://docs.acme.example/enrich]
readOn: 2026-11-26
baseUrl: https://api.acme.example/v1/
authentication: {header: X-Api-Key, prefix: "Token "}
headers: {Accept: application/json}
tls: {caFile: tls/ca.pem, certFile: /etc/c.pem, keyFile: /etc/k.pem}
timeoutMs: 5000
concurrency: 8
idempotency: {header: Idempotency-Key}
defaultPlan: free
quota:
  plans: {free: [100/minute, 1000/month], pro: [15/second], open: []}
  headers:
    - {window: day, limit: X-Limit-Day, remaining: x-left-day, reset: x-reset-day, resetUnit: epoch-seconds}
    - {json: true, remaining: X-RateLimit-Remaining}
operations:
  enrich:
    keys: [email, name+domain]
    request:
      path: "/people/{$lowercase(email & '}')}/find"
      query: {min: min_likelihood, limit: 1, all: true, name: name, domain: domain}
      headers: {X-Trace: "'millrace'"}
    answers:
      match: status = 200 and body.data
      pending: status = 202
      waitSeconds: 5
    record: {email: body.data.work_email, company: {name: body.data.company}}
    credits: "status = 200 ? 1 : 0"
    creditsAtMost: 2
    batch:
      size: 100
      request:
        path: /people/bulk
        body: {requests: "lookups.{'params': {'email': email, 'name': name, 'domain': domain}}"}
        bodyType: form
      items: body
      itemStatus: status
      itemId: metadata.id
      answers: {waitSeconds: 7}
      quota: {plans: {free: [10/minute]}}
    poll: {ticket: body.id, request: {path: "/jobs/{ticket}"}, everySeconds: 0.5, longestSeconds: 60}
  verify:
    batch: {size: 50, request: {path: /verify, body: {emails: "lookups.email[]"}}, items: body.list, answers: {wait: "status = 429"}}
    record: {email: body.address}
`;

test('a whole definition is compiled with units, windows, paths and mappings', async () => {
  const { operations, quota, ...rest } = compiled(WHOLE);
  expect(rest).toMatchObject({
    name: 'acme-data',
    title: 'Acme Data',
    readOn: '2026-11-26',
    baseUrl: 'https://api.acme.example/v1',
    authentication: { kind: 'header', name: 'X-Api-Key', prefix: 'Token ' },
    headers: { Accept: 'application/json' },
    tls: { caFile: `${process.cwd()}/tls/ca.pem`, certFile: '/etc/c.pem', keyFile: '/etc/k.pem' },
    timeoutMs: 5000,
    concurrency: 8,
    idempotencyHeader: 'Idempotency-Key',
    defaultPlan: 'free',
  });
  expect(quota.plans).toEqual({
    free: [
      { limit: 100, periodMs: 60_000 },
      { limit: 1000, periodMs: 30 * 86_400_000 },
    ],
    pro: [{ limit: 15, periodMs: 1_000 }],
    open: [],
  });
  expect(quota.headers).toEqual([
    { periodMs: 86_400_000, limit: 'x-limit-day', remaining: 'x-left-day', used: null, reset: 'x-reset-day', resetUnit: 'epoch-seconds' },
    { periodMs: null, limit: null, remaining: 'x-ratelimit-remaining', used: null, reset: null, resetUnit: 'seconds' },
  ]);
  const { enrich, verify } = operations;
  expect(enrich?.request).toMatchObject({ method: 'GET', bodyType: 'json', body: null, baseUrl: null });
  expect(enrich?.request?.path.map((part) => (typeof part === 'string' ? part : part.text))).toEqual([
    '/people/',
    "$lowercase(email & '}')",
    '/find',
  ]);
  expect(await enrich?.request?.query['limit']?.evaluate({})).toBe(1);
  expect(enrich?.batch).toMatchObject({ size: 100, request: { method: 'POST', bodyType: 'form' }, itemId: { text: 'metadata.id' } });
  expect(enrich?.batch?.quota?.plans).toEqual({ free: [{ limit: 10, periodMs: 60_000 }] });
  expect(enrich?.poll).toMatchObject({ everyMs: 500, longestMs: 60_000, ticket: { text: 'body.id' } });
  expect(await enrich?.record.evaluate({ body: { data: { work_email: 'a@b.example' } } })).toEqual({ email: 'a@b.example', company: {} });
  expect(verify).toMatchObject({ keys: ['email'], request: null });
});

test('a batch without rules has those of the operation, except match, miss and refused', () => {
  const atOnce = WHOLE.replace('      answers: {waitSeconds: 7}\n', '')
    .replace('      pending: status = 202\n', '')
    .replace(/^ {4}poll: .*\n/m, '');
  const { enrich, verify } = compiled(atOnce).operations;
  expect(enrich?.batch?.answers).toMatchObject({ match: null, miss: null, refused: null, waitSeconds: { text: '5' } });
  expect(compiled(WHOLE).operations.enrich?.batch?.answers).toMatchObject({ pending: null, waitSeconds: { text: '7' } });
  expect(verify?.batch?.answers).toMatchObject({ wait: { text: 'status = 429' }, pending: null });
});

test.each([
  ['{bearer: true}', { kind: 'bearer' }],
  ['{query: api_key}', { kind: 'query', name: 'api_key' }],
  ['{query: key, body: api_key}', { kind: 'body', name: 'api_key', query: 'key' }],
  ['{header: X-Key}', { kind: 'header', name: 'X-Key', prefix: '' }],
  ['{basic: {user: api}}', { kind: 'basic', user: 'api', password: null }],
  ['{basic: {password: X}}', { kind: 'basic', user: null, password: 'X' }],
])('the authentication %s is taken', (text, expected) => {
  expect(compiled(`${LEAST}authentication: ${text}`).authentication).toEqual(expected);
});

test('a request that may read any part of its input reads every key', () => {
  for (const body of ['$', '$$', 'lookups', '{"all": $$.lookups}', '*'])
    expect(compiled(request(`path: /a\nbody: '${body}'`).replace('[email]', '[email, phone]')).operations.enrich?.keys).toHaveLength(2);
});
