import * as fc from '../support/fast-check.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { VerificationResult } from '../../src/client/types.ts';
import type { VerifyAnswer } from '../../src/client/attempt-client.ts';
import type { SettledCall } from '../../src/pool/call-pool.ts';
import { pendingMs, readGroup, withGroup } from '../../src/lookup/pending.ts';
import type { LookupOutcome } from '../../src/lookup/lookup-outcome.ts';
import { verifyStep, type VerifyStep } from '../../src/processor/verify.ts';
import { emailsIn, GAVE_UP, makeBench, SUPPRESSED, type Bench } from './bench.ts';

const NOW = Date.parse('2026-05-01T12:00:00Z');
const at = (ms: number): string => new Date(NOW + ms).toISOString();
const unknown = (fields: Record<string, unknown>): VerificationResult => ({
  email: 'a@a.test',
  result: 'unknown',
  confidence: 30,
  reason: null,
  ...fields,
});
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

describe('the wait before a pending verdict is polled', () => {
  it.each([
    ['a verdict is final', { result: 'risky', retry_at: at(5_000) }, 1, null],
    ['unknown for good', { reason: 'dns_failed' }, 1, null],
    ['when the service says', { retry_at: at(6 * MINUTE_MS) }, 1, 6 * MINUTE_MS],
    ['by the clock of a service that is an hour ahead', { retry_at: at(66 * MINUTE_MS), verified_at: at(HOUR_MS) }, 1, 6 * MINUTE_MS],
    ['by our clock, when what it says of its own is old', { retry_at: at(MINUTE_MS), verified_at: at(-48 * HOUR_MS) }, 1, MINUTE_MS],
    ['not yet, and not when', { reason: 'greylisted' }, 1, MINUTE_MS],
    ['a time that is no time', { reason: 'pending', retry_at: 'soon' }, 1, MINUTE_MS],
    ['a time that is over', { retry_at: at(-HOUR_MS) }, 1, 1_000],
    ['the same for the fourth time', { retry_at: at(-HOUR_MS) }, 4, 8_000],
    ['and for the twentieth', { retry_at: at(-HOUR_MS) }, 20, MINUTE_MS],
  ])('follows the rule "%s"', (_name, fields, round, expected) => {
    expect(pendingMs(unknown(fields), round, NOW)).toBe(expected);
  });
});

it('a ledger entry gives back its record byte for byte, with its group', () => {
  fc.assert(
    fc.property(
      fc.jsonValue(),
      fc.record({ id: fc.string(), round: fc.nat(), size: fc.nat(), dueMs: fc.nat(), endMs: fc.nat() }),
      (record, group) => {
        const text = JSON.stringify(record);
        expect(readGroup(withGroup(text, group))).toEqual({ text, group });
        expect(readGroup(text)).toEqual({ text, group: null });
      },
    ),
  );
});

describe('VerifyStep that polls pending verdicts', () => {
  beforeEach(() => void vi.useFakeTimers({ now: NOW }));
  afterEach(() => void vi.useRealTimers());

  const polling = (bench: Bench, pollForMs = HOUR_MS): VerifyStep => verifyStep(bench.context, { email: 3 }, { pollForMs, batch: 3 });
  const askAll = (step: VerifyStep, emails: readonly string[]): Map<string, LookupOutcome<VerificationResult>> => {
    const got = new Map<string, LookupOutcome<VerificationResult>>();
    for (const email of emails) step.ask({ key: email, spelled: email }, (outcome) => got.set(email, outcome));
    return got;
  };
  const inWords = (got: ReadonlyMap<string, LookupOutcome<VerificationResult>>): unknown =>
    Object.fromEntries(
      [...got].map(([email, outcome]) => [email.slice(0, 1), outcome.kind === 'hit' ? outcome.answer.record.result : outcome.kind]),
    );
  /** `later`: who is pending, and for how long from now. All others are deliverable. */
  const answer = (emails: readonly string[], later: Readonly<Record<string, number>> = {}): SettledCall<VerifyAnswer> => ({
    kind: 'ok',
    attempts: 1,
    requestId: null,
    value: {
      byEmail: new Map(
        emails.map((email) => {
          const waitMs = later[email.slice(0, 1)];
          return [
            email,
            {
              email,
              result: waitMs === undefined ? 'deliverable' : 'unknown',
              confidence: 1,
              reason: 'r',
              ...(waitMs === undefined ? {} : { retry_at: new Date(Date.now() + waitMs).toISOString() }),
            },
          ];
        }),
      ),
    },
  });
  const EMAILS = ['a@a.test', 'b@a.test', 'c@a.test'];

  it('asks once more for all pending addresses together, when the last is due, under a new key', async () => {
    const bench = makeBench();
    const got = askAll(polling(bench), EMAILS);
    const first = bench.next();
    first.settle(answer(EMAILS, { a: 6 * MINUTE_MS, c: MINUTE_MS }));
    expect([inWords(got), bench.pending]).toEqual([{ b: 'deliverable' }, [[2, 6 * MINUTE_MS]]]);
    await vi.advanceTimersByTimeAsync(6 * MINUTE_MS - 1);
    expect(bench.asked).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1);
    const second = bench.next();
    expect(emailsIn(second.body)).toEqual(['a@a.test', 'c@a.test']);
    expect(second.idempotencyKey).not.toBe(bench.context.idempotencyKey(second.body));
    second.settle(answer(['a@a.test', 'c@a.test'], { a: 2_000 }));
    await vi.advanceTimersByTimeAsync(2_000);
    const third = bench.next();
    expect(emailsIn(third.body)).toEqual(['a@a.test']);
    third.settle(answer(['a@a.test']));
    expect(inWords(got)).toEqual({ a: 'deliverable', b: 'deliverable', c: 'deliverable' });
    // A whole request may be pending. It still gets another key, or the service would replay its first answer.
    expect(new Set([first, second, third].map(({ idempotencyKey }) => idempotencyKey)).size).toBe(3);
    expect(bench.kept.flat().map(({ key, again }) => [key.slice(0, 1), again === true])).toEqual([
      ['b', false],
      ['a', false],
      ['c', false],
      ['c', true],
      ['a', true],
      ['a', true],
    ]);
  });

  it('settles at once a verdict that only a later poll could learn, and the rest when polling ends', async () => {
    const bench = makeBench();
    const got = askAll(polling(bench, 5 * MINUTE_MS), EMAILS);
    bench.next().settle(answer(EMAILS, { a: 6 * MINUTE_MS, b: 2 * MINUTE_MS }));
    expect(inWords(got)).toEqual({ a: 'unknown', c: 'deliverable' });
    await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
    bench.next().settle(answer(['b@a.test'], { b: 4 * MINUTE_MS }));
    expect(inWords(got)).toEqual({ a: 'unknown', b: 'unknown', c: 'deliverable' });
    expect(vi.getTimerCount()).toBe(0);
    expect([...bench.ledger.values()].map((known) => ('text' in known ? readGroup(known.text).group : null))).toEqual([null, null, null]);
  });

  it('keeps the verdicts it has when a poll fails or leaves an address out', async () => {
    const bench = makeBench();
    const got = askAll(polling(bench), EMAILS);
    bench.next().settle(answer(EMAILS, { a: 1_000, b: 1_000, c: 1_000 }));
    await vi.advanceTimersByTimeAsync(1_000);
    bench.next().settle(answer(['a@a.test', 'b@a.test'], { a: 2_000 }));
    expect(inWords(got)).toEqual({ b: 'deliverable', c: 'unknown' });
    await vi.advanceTimersByTimeAsync(2_000);
    bench.next().settle(GAVE_UP);
    expect(inWords(got)).toEqual({ a: 'unknown', b: 'deliverable', c: 'unknown' });
  });

  it('keeps nothing of a person who asked to be removed in the meantime', async () => {
    const bench = makeBench();
    const got = askAll(polling(bench), EMAILS);
    bench.next().settle(answer(EMAILS, { a: 1_000 }));
    await vi.advanceTimersByTimeAsync(1_000);
    bench.next().settle(SUPPRESSED);
    expect([inWords(got), bench.kept.flat().at(-1)]).toEqual([
      { a: 'suppressed', b: 'deliverable', c: 'deliverable' },
      { scope: 3, key: 'a@a.test', answer: { kind: 'suppressed' }, again: true },
    ]);
  });

  it('sends the request of a killed run again once its whole group has come by, and pays for no other address', async () => {
    const bench = makeBench();
    const before = polling(bench);
    askAll(before, EMAILS);
    bench.next().settle(answer(EMAILS, { a: MINUTE_MS, c: MINUTE_MS }));
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    const lost = bench.next();
    before.stop();
    const step = polling(bench);
    const got = askAll(step, ['a@a.test', 'b@a.test']);
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect([bench.asked.length, step.groupsIncomplete, inWords(got)]).toEqual([0, 1, { b: 'deliverable' }]);
    const rest = askAll(step, ['c@a.test']);
    await vi.advanceTimersByTimeAsync(0);
    const again = bench.next();
    expect([again.body, again.idempotencyKey]).toEqual([lost.body, lost.idempotencyKey]);
    again.settle(answer(emailsIn(again.body)));
    expect([inWords(got), inWords(rest)]).toEqual([{ a: 'deliverable', b: 'deliverable' }, { c: 'deliverable' }]);
  });

  it('stops waiting for addresses that never come by', async () => {
    const bench = makeBench();
    const before = polling(bench);
    askAll(before, EMAILS);
    bench.next().settle(answer(EMAILS, { a: MINUTE_MS, c: MINUTE_MS }));
    before.stop();
    const step = polling(bench);
    const got = askAll(step, ['a@a.test']);
    step.giveUpOnMissing();
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    bench.next().settle(answer(['a@a.test']));
    expect([inWords(got), step.groupsIncomplete]).toEqual([{ a: 'deliverable' }, 0]);
  });
});
