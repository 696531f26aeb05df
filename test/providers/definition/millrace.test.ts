/** The definition of the specification's service says what the typed client does. */
import { expect, test } from 'vitest';
import type { Answer } from '../../../src/client/answer.ts';
import { AttemptClient, type EnrichKey, type RevealKey } from '../../../src/client/attempt-client.ts';
import { COMPANY_FIELDS, PERSON_FIELDS } from '../../../src/client/answer-fields.ts';
import { classify, isSuccess } from '../../../src/client/classify.ts';
import { readCompany, readContact, readPerson } from '../../../src/client/record.ts';
import { Redactor } from '../../../src/client/redactor.ts';
import { readVerification } from '../../../src/client/verify-answer.ts';
import type { AnswerRules } from '../../../src/providers/compiled-provider.ts';
import { compileProvider } from '../../../src/providers/definition/compile-provider.ts';
import { loadProvider } from '../../../src/providers/definition/load-provider.ts';
import * as fc from '../../support/fast-check.ts';
import { casesOf } from '../../support/sample.ts';

const provider = compileProvider(await loadProvider('millrace'));
const { enrich, verify, company, reveal } = provider.operations;
const RULES = ['suppressed', 'wait', 'outOfCredits', 'denied', 'pending', 'match', 'miss', 'refused', 'retry'] as const;

/** The first rule that is true, as `AnswerRules` says. */
async function decided(rules: AnswerRules | undefined, input: unknown): Promise<string | null> {
  for (const rule of RULES) if ((await rules?.[rule]?.evaluate(input)) === true) return rule;
  return null;
}

/** The kind that the typed client has for a rule. */
const KIND: Readonly<Record<string, string>> = {
  suppressed: 'suppressed',
  wait: 'throttled',
  outOfCredits: 'denied',
  denied: 'denied',
  match: 'ok',
  miss: 'miss',
  refused: 'rejected',
  retry: 'retryable',
};

const options = { call: 'POST https://a.example', lookup: true, redactor: new Redactor(null), clock: () => 0 };
function answerOf(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  const all = { 'content-type': 'application/json', ...headers };
  const meta = { status, requestId: null, latencyMs: 1, headers: all, quota: { windows: [], plan: [] }, creditsCharged: null };
  return { status, text: body === undefined ? '' : JSON.stringify(body), failure: null, meta } as unknown as Answer;
}

const value = fc.constantFrom<unknown>(null, '', 'x', [], ['x'], {}, { name: null }, { name: 'Acme' }, false, 0);
const recordOf = (fields: readonly string[]): fc.Arbitrary<unknown> =>
  fc.oneof(
    fc.constant(null),
    fc.array(fc.tuple(fc.constantFrom(...fields), value), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  );

test.each([
  ['enrich', enrich, readPerson, [...PERSON_FIELDS.keys()]],
  ['reveal', reveal, readContact, [...PERSON_FIELDS.keys()]],
  ['company', company, readCompany, [...COMPANY_FIELDS.keys()].filter((field) => !['type', 'description'].includes(field))],
] as const)('a success of %s is a match or a miss as the typed client has it', async (_, operation, read, fields) => {
  await fc.assert(
    fc.asyncProperty(recordOf(fields), async (body) => {
      const read200 = read(answerOf(200, body));
      // The definition calls a record of another shape a miss. A change of its rules would refuse every job under way.
      fc.pre(!(read200.kind === 'retryable' && read200.code === 'bad_shape'));
      const kind = KIND[(await decided(operation?.answers, { status: 200, headers: {}, body })) ?? ''];
      expect([body, kind]).toEqual([body, read200.kind]);
    }),
    { numRuns: casesOf(100, 1000) },
  );
});

test.each([
  ...[204, 400, 401, 402, 403, 404, 408, 409, 413, 415, 422, 425, 429, 451, 500, 502, 503].map((status) => ({ status, code: 'other' })),
  { status: 409, code: 'idempotency_in_flight' },
  { status: 421, code: 'wrong_region' },
  { status: 503, code: 'overloaded', headers: { 'retry-after': '5' } },
])(
  '%j means the same to the definition and to the typed client',
  async ({ status, code, headers = {} }: { status: number; code: string; headers?: Record<string, string> }) => {
    const body = status === 204 ? undefined : { code, detail: 'why' };
    const answer = answerOf(status, body, headers);
    expect(isSuccess(answer)).toBe(false);
    const input = { status, headers, body };
    expect(KIND[(await decided(enrich?.answers, input)) ?? '']).toBe(classify(answer, options).kind);
    expect(await enrich?.answers.code?.evaluate(input)).toBe(body?.code);
  },
);

test('a path that the service does not have is no miss', async () => {
  expect(await decided(enrich?.answers, { status: 404, headers: {}, body: { code: 'not_found' } })).toBeNull();
  expect(await decided(enrich?.answers, { status: 404, headers: {}, body: '<html>' })).toBeNull();
});

test('the requests are those of the typed client', async () => {
  const client = new AttemptClient({ baseUrl: 'https://a.example', apiKey: null, enrich: { minLikelihood: 6, required: ['title'] } });
  const more = { min_likelihood: 6, required: ['title'] };
  const keys: readonly EnrichKey[] = [
    { email: 'a@b.example' },
    { linkedin_url: 'l' },
    { phone: '+1' },
    { name: 'A B', domain: 'b.example' },
    { domain: 'b.example' },
  ];
  for (const key of keys) expect(JSON.parse(client.enrichBody(key))).toEqual(await enrich?.request?.body?.evaluate({ ...key, ...more }));
  const contacts: readonly RevealKey[] = [
    { linkedin_url: 'l' },
    { email: 'e' },
    { phone: '+1' },
    { name: 'A', domain: 'd' },
    { name: 'A', company: 'Acme' },
  ];
  for (const key of contacts)
    expect(JSON.parse(client.revealBody(key))).toEqual(await reveal?.request?.body?.evaluate({ ...key, min_likelihood: 0, required: [] }));
  for (const emails of [['a@b.example'], ['a@b.example', 'c@d.example']]) {
    const lookups = emails.map((email, id) => ({ id: String(id), email }));
    expect(JSON.parse(client.verifyBody(emails))).toEqual(await verify?.batch?.request.body?.evaluate({ lookups }));
  }
  expect(await enrich?.request?.body?.evaluate({ email: 'e', min_likelihood: 0, required: [] })).toEqual({ email: 'e' });
  await client.close();
});

test('a verdict is read as the typed client reads it', async () => {
  const email = 'a@b.example';
  const entry = fc.record(
    {
      result: fc.constantFrom('deliverable', 'risky', 'unknown'),
      status: fc.constantFrom('undeliverable'),
      confidence: fc.constantFrom(0, 0.29, 0.5, 1, 55, 100),
      score: fc.constantFrom(0.9, 40),
    },
    { requiredKeys: [] },
  );
  const shape = fc.constantFrom(
    (one: object): unknown => ({ data: [one] }),
    (one: object): unknown => ({ results: [one] }),
    (one: object): unknown => [one],
  );
  await fc.assert(
    fc.asyncProperty(entry, shape, async (one, put) => {
      fc.pre(one.result !== undefined || one.status !== undefined);
      const body = put({ email, ...one, extra: 'kept' });
      const read = readVerification(answerOf(200, body), JSON.stringify({ emails: [email] }));
      const expected = read.kind === 'ok' ? read.value.byEmail.get(email) : null;
      const items = (await verify?.batch?.items.evaluate({ status: 200, headers: {}, body })) as readonly unknown[];
      expect(items).toHaveLength(1);
      const input = { status: 200, headers: {}, body: items[0] };
      expect(await decided(verify?.answers, input)).toBe('match');
      expect({ confidence: null, reason: null, ...((await verify?.record.evaluate(input)) as object) }).toEqual(expected);
      expect(await verify?.batch?.itemId?.evaluate(items[0])).toBe(email);
    }),
    { numRuns: casesOf(100, 1000) },
  );
});

test('the plans, the batch and the idempotency key are those of the specification', () => {
  const perMinute = Object.entries(provider.quota.plans).map(([plan, windows]) => [plan, windows[0]?.limit ?? null]);
  expect(Object.fromEntries(perMinute)).toEqual({ growth: 1000, scale: 5000, enterprise: null });
  expect(provider).toMatchObject({
    client: 'built-in',
    baseUrl: null,
    authentication: { kind: 'bearer' },
    idempotencyHeader: 'Idempotency-Key',
  });
  expect(verify).toMatchObject({ keys: ['email'], request: null, batch: { size: 1000 } });
});
