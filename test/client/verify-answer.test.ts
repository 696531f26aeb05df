import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/client/answer.ts';
import type { VerificationResult } from '../../src/client/types.ts';
import { readVerification } from '../../src/client/verify-answer.ts';

const answerOf = (json: unknown): Answer => ({
  status: 200,
  text: typeof json === 'string' ? json : JSON.stringify(json),
  failure: null,
  meta: { status: 200, headers: {}, quota: null, requestId: null, credits: 0, latencyMs: 1 },
});

function verdicts(json: unknown, emails: readonly string[]): Map<string, VerificationResult> {
  const result = readVerification(answerOf(json), JSON.stringify({ emails }));
  if (result.kind !== 'ok') throw new Error(`not ok: ${JSON.stringify(result)}`);
  return new Map(result.value.byEmail);
}

const confidenceOf = (values: readonly unknown[]): (number | null)[] => {
  const emails = values.map((_, i) => `a${i}@acme.example`);
  const found = verdicts(
    values.map((confidence, i) => ({ email: emails[i], result: 'risky', confidence })),
    emails,
  );
  return emails.map((email) => found.get(email)?.confidence ?? null);
};

describe('verdicts', () => {
  const entry = { email: 'Ana@Acme.example', result: 'deliverable', confidence: 97, reason: 'accepted', extra: 1 };

  it.each([
    ['data', { data: [entry], summary: {} }],
    ['results', { results: [entry] }],
    ['a bare array', [entry]],
    ['a bare object', entry],
    ['data with a single one', { data: entry }],
  ])('come from %s', (_where, json) => {
    expect(verdicts(json, ['ANA@acme.EXAMPLE']).get('ana@acme.example')).toEqual(entry);
  });

  it('come also from the fields status and score', () => {
    const json = [{ email: 'a@acme.example', status: 'RISKY', score: '40' }];
    expect(verdicts(json, ['a@acme.example']).get('a@acme.example')).toMatchObject({ result: 'risky', confidence: 40, reason: null });
  });

  it('keep unknown results unchanged', () => {
    const json = [{ email: 'a@acme.example', result: 'Parked', reason: 7 }];
    expect(verdicts(json, ['a@acme.example']).get('a@acme.example')).toMatchObject({ result: 'Parked', confidence: null, reason: null });
  });

  it('belong to their address in any order; the first complete one counts, and none of two that contradict each other', () => {
    const email = fc.nat({ max: 5 }).map((n) => `p${n}@acme.example`);
    const entries = fc.array(
      fc.record({ email: fc.oneof(email, fc.constant(null)), result: fc.constantFrom('deliverable', 'risky', '', null), mark: fc.nat() }),
      { maxLength: 30, size: 'max' },
    );
    fc.assert(
      fc.property(entries, fc.uniqueArray(email, { minLength: 1 }), (list, emails) => {
        const complete = list.filter((item) => item.email !== null && Boolean(item.result));
        const result = readVerification(answerOf({ data: list }), JSON.stringify({ emails }));
        const first = (address: string): (typeof complete)[number] | undefined => {
          const own = complete.filter((item) => item.email === address);
          return own.every((item) => item.result === own[0]?.result) ? own[0] : undefined;
        };
        const answered = emails.some((address) => first(address) !== undefined);
        const contradicted = complete.some((item) => emails.includes(item.email ?? '')) && !answered;
        expect(result.kind).toBe(answered || (!contradicted && list.every((item) => item.email !== null)) ? 'ok' : 'retryable');
        if (result.kind !== 'ok') return;
        for (const address of emails) {
          expect(result.value.byEmail.get(address)?.['mark']).toBe(first(address)?.mark);
        }
      }),
    );
  });

  it('two that contradict each other about the only address asked for are bad_shape', () => {
    const json = [
      { email: 'a@acme.example', result: 'deliverable' },
      { email: 'A@acme.example', result: 'undeliverable' },
    ];
    expect(readVerification(answerOf(json), '{"emails":["a@acme.example"]}')).toMatchObject({
      kind: 'retryable',
      code: 'bad_shape',
      unfit: true,
    });
  });

  it.each([
    ['another form of its domain', ['ana@xn--bcher-kva.example'], 'ana@Bücher.example', ['ana@xn--bcher-kva.example']],
    ['no tag', ['ana+news@acme.example', 'ben@acme.example'], 'ana@acme.example', ['ana+news@acme.example']],
    ['no tag, where two tags were asked for', ['ana+a@acme.example', 'ana+b@acme.example'], 'ana@acme.example', []],
    ['no tag, where it was asked for too', ['ana+a@acme.example', 'ana@acme.example'], 'ana@acme.example', ['ana@acme.example']],
    ['another name', ['ana@acme.example'], 'anna@acme.example', []],
  ])('belong to their address when the answer has %s', (_, asked, answered, found) => {
    const some = verdicts([{ email: answered, result: 'risky' }], asked);
    expect(asked.filter((email) => some.has(email))).toEqual(found);
    for (const email of found) expect(some.get(email)).toMatchObject({ email: email === answered ? answered : email, result: 'risky' });
  });

  it.each([
    [{ data: [] }],
    [{ results: [] }],
    [[]],
    [{ data: [], summary: {} }],
    [[{ email: 'other@acme.example', result: 'risky' }]],
    [{ data: [{ email: 'a@acme.example', result: null }] }],
    [{ data: { email: 'A@acme.example', result: 5 } }],
    [{ results: { email: 'a@acme.example' } }],
    [{ email: 'a@acme.example' }],
    [{ email: ' A@acme.example', result: '' }],
  ])('may leave out every address without an error: %j', (json) => {
    expect(verdicts(json, ['a@acme.example']).has('a@acme.example')).toBe(false);
  });

  it.each([
    [{}],
    [null],
    [{ email: 5 }],
    [{ email: 'other@acme.example', result: 'risky' }],
    [[{ result: 'risky' }]],
    [[null]],
    [['a@acme.example']],
    [{ data: { result: 'risky' } }],
    [{ result: 'risky' }],
    ['nonsense'],
  ])('give bad_body when they are not a list and answer no address: %j', (json) => {
    expect(readVerification(answerOf(json), '{"emails":["a@acme.example"]}')).toMatchObject({ kind: 'retryable', code: 'bad_body' });
  });

  it('ignore property names of Object', () => {
    const found = verdicts(
      '[{"email":"__proto__","result":"risky"},{"__proto__":{"result":"risky"},"email":"a@acme.example","status":"unknown"}]',
      ['a@acme.example'],
    );
    expect(found.get('a@acme.example')?.result).toBe('unknown');
    expect(({} as Record<string, unknown>)['result']).toBeUndefined();
  });
});

describe('the scale of confidence', () => {
  it('ends at 1 for a fraction and at 100 for a value over 1, each by itself', () => {
    const percent = fc.integer({ min: 2, max: 100 }).map((value) => [value, value]);
    const share = fc.integer({ min: 0, max: 9_999 }).map((value) => [value / 10_000, value / 100]);
    fc.assert(
      fc.property(fc.array(fc.oneof(percent, share), { minLength: 1 }), (values) => {
        expect(confidenceOf(values.map(([stated]) => stated))).toEqual(values.map(([, percent]) => percent));
      }),
    );
  });

  it.each([
    ['deliverable', 100],
    ['Deliverable', 100],
    ['undeliverable', 1],
    ['risky', 1],
    ['unknown', 1],
    ['parked', 1],
  ])('follows from the verdict when all values are 1 (%s)', (result, confidence) => {
    expect(verdicts([{ email: 'a@acme.example', result, confidence: 1 }], ['a@acme.example']).get('a@acme.example')).toMatchObject({
      confidence,
    });
  });

  it('gives null for values outside it', () => {
    expect(confidenceOf([-1, 101, 'high', '', null, true, '88', '1e999'])).toEqual([null, null, null, null, null, null, 88, null]);
  });
});
