import { describe, expect, it, vi } from 'vitest';
import type { RequestPace } from '../../src/lookup/step-context.ts';
import { RequestSize, type KeptSize } from '../../src/lookup/request-size.ts';
import type { VerificationResult } from '../../src/client/types.ts';
import type { LookupOutcome } from '../../src/lookup/lookup-outcome.ts';
import { VERIFY_BATCH, verifyStep } from '../../src/processor/verify.ts';
import { emailsIn, makeBench, verdicts } from './bench.ts';
import { addresses, answerAll, inWords, SCOPE } from './verify-bench.ts';

/** A step that learns how large its requests may be. The test decides when the size for a resume is stored. */
function paced(options: { from?: KeptSize | null; pollForMs?: number } = {}) {
  const { from = null, pollForMs = 0 } = options;
  const bench = makeBench();
  const sizes = new RequestSize({ largest: VERIFY_BATCH, limitMs: 30_000, from });
  const said: string[] = [];
  const keeping: (() => void)[] = [];
  const pace: RequestPace = {
    sizes,
    limitMs: 30_000,
    tooLarge: (why, isSmaller) => said.push(`${why}: ${isSmaller ? sizes.size : 'as before'}`),
    note: (isDone) => said.push(`noted ${sizes.size}${isDone ? ', done' : ''}`),
    keep: (withAnswers, then) => {
      said.push(`kept ${sizes.size}${withAnswers ? ' with answers' : ''}`);
      keeping.push(then);
    },
  };
  const step = verifyStep({ ...bench.context, paceOf: () => pace }, { email: SCOPE }, { pollForMs });
  const all = (n: number): LookupOutcome<VerificationResult>[][] =>
    addresses(n).map((email) => {
      const got: LookupOutcome<VerificationResult>[] = [];
      step.ask({ key: email, spelled: email }, (outcome) => got.push(outcome));
      return got;
    });
  return {
    bench,
    step,
    said,
    all,
    kept: () => keeping.splice(0).forEach((then) => then()),
    sent: () => bench.bodies.verify.map((body) => emailsIn(body).length),
  };
}

const TIMEOUT = { code: 'timeout', detail: 'no answer within the time allowed', status: 0, latencyMs: 30_000 };

describe('VerifyStep at a slow service', () => {
  it('halves a request after its first timeout, sends the halves one after the other under other keys, and reports the size once', () => {
    const { bench, said, all, kept, sent } = paced();
    const got = all(2_000);
    expect(sent()).toEqual([1_000]);
    const first = bench.next();
    expect(first.fails(TIMEOUT)).toBe(true);
    expect(said).toEqual(['ran into the time limit of 30 s: 500', 'kept 500 with answers']);
    // No request goes before the size of 500 is stored.
    expect(bench.asked).toEqual([]);
    kept();
    expect(sent()).toEqual([1_000, 500]);
    const half = bench.next();
    expect([emailsIn(half.body), half.idempotencyKey === first.idempotencyKey]).toEqual([addresses(500), false]);
    half.settle(verdicts(emailsIn(half.body)));
    kept();
    answerAll(bench, (emails) => verdicts(emails));
    kept();
    answerAll(bench, (emails) => verdicts(emails));
    expect(sent()).toEqual([1_000, 500, 500, 500, 500]);
    expect(new Set(got.map(inWords))).toEqual(new Set(['deliverable']));
    expect(said.filter((text) => text.startsWith('ran'))).toHaveLength(1);
  });

  it.each([
    ['a gateway that says 504', { code: 'http_504', detail: 'HTTP 504', status: 504, latencyMs: 60_000 }, 1],
    ['a service that says 408', { code: 'request_timeout', detail: 'too slow', status: 408, latencyMs: 9_000 }, 1],
    ['a connection that is cut late, twice', { code: 'network', detail: 'read ECONNRESET', status: 0, latencyMs: 20_000 }, 2],
  ])('takes %s for a time limit', (_what, failure, attempts) => {
    const { bench, said, all } = paced({ from: { size: 1_000, most: null } });
    all(1_000);
    const call = bench.next();
    for (let attempt = 1; attempt < attempts; attempt++) expect(call.fails(failure)).toBe(false);
    expect(call.fails(failure)).toBe(true);
    expect(said.at(-1)).toBe('kept 500 with answers');
  });

  it.each([
    [
      'a connection that never came about',
      { code: 'timeout', detail: 'no connection within the time allowed', status: 0, latencyMs: 10_000 },
    ],
    ['a refused connection', { code: 'network', detail: 'connect ECONNREFUSED 127.0.0.1:9', status: 0, latencyMs: 1 }],
    ['a 500 that comes quickly', { code: 'http_500', detail: 'oops', status: 500, latencyMs: 20 }],
  ])('tries the same request again after %s', (_what, failure) => {
    const { bench, all } = paced({ from: { size: 1_000, most: null } });
    all(1_000);
    const call = bench.next();
    for (let attempt = 1; attempt < 5; attempt++) expect(call.fails(failure)).toBe(false);
  });

  it('lets an address that alone is too slow use up its attempts', () => {
    const { bench, step, all } = paced({ from: { size: 1_000, most: null } });
    all(1);
    step.flush();
    expect(bench.next().fails(TIMEOUT)).toBe(false);
  });

  it('halves after a 413 as well, without consulting the quarantine', () => {
    const { bench, said, all, kept, sent } = paced({ from: { size: 1_000, most: null } });
    all(1_000);
    bench.next().settle({ kind: 'failed', rejected: true, status: 413, code: 'payload_too_large', attempts: 1, requestId: null });
    kept();
    expect([sent(), said[0]]).toEqual([[1_000, 500], 'were refused as too large (HTTP 413): 500']);
  });

  it('halves a poll of pending verdicts as well', () => {
    vi.useFakeTimers();
    try {
      const { bench, step, all, kept } = paced({ from: { size: 1_000, most: null }, pollForMs: 600_000 });
      const got = all(1_000);
      const late = (emails: readonly string[]): ReturnType<typeof verdicts> =>
        ({
          ...verdicts(emails),
          value: { byEmail: new Map(emails.map((email) => [email, { email, result: 'unknown', confidence: 0, reason: 'greylisted' }])) },
        }) as ReturnType<typeof verdicts>;
      bench.next().settle(late(addresses(1_000)));
      vi.advanceTimersByTime(120_000);
      expect(bench.next().fails(TIMEOUT)).toBe(true);
      kept();
      expect(answerAll(bench, (emails) => verdicts(emails))).toBe(2);
      expect([new Set(got.map(inWords)), step.callsPending]).toEqual([new Set(['deliverable']), 0]);
    } finally {
      vi.useRealTimers();
    }
  });

  it('writes what it learnt from the last answer with the last checkpoint, without one of its own', () => {
    const { bench, step, said, all } = paced();
    all(300);
    step.flush();
    answerAll(bench, (emails) => verdicts(emails));
    expect([said, step.callsPending]).toEqual([[], 0]);
    step.stop();
    expect(said).toEqual(['noted 500, done']);
  });

  it('leaves its current size to the next run when it is stopped', () => {
    const { bench, step, said, all } = paced({ from: { size: 1_000, most: null } });
    all(1_000);
    step.stop();
    bench.next().fails(TIMEOUT);
    expect([said.at(-1), bench.asked]).toEqual(['noted 500', []]);
  });
});
