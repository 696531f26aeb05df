import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import type { CallResult } from '../../../src/client/types.ts';
import { Counters } from '../../../src/job/run/counters.ts';

type Event =
  | { readonly kind: 'sent'; readonly step: 'enrich' | 'verify' }
  | { readonly kind: 'answered'; readonly credits: number; readonly status: number; readonly latencyMs: number }
  | { readonly kind: 'throttled'; readonly waitMs: number; readonly isNew: boolean }
  | { readonly kind: 'retrying' }
  | { readonly kind: 'later'; readonly ms: number };

const n = fc.nat({ max: 100_000 });
const event: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ kind: fc.constant('sent' as const), step: fc.constantFrom('enrich' as const, 'verify' as const) }),
  fc.record({ kind: fc.constant('answered' as const), credits: n, status: fc.constantFrom(0, 200, 404, 500), latencyMs: n }),
  fc.record({ kind: fc.constant('throttled' as const), waitMs: n, isNew: fc.boolean() }),
  fc.record({ kind: fc.constant('retrying' as const) }),
  fc.record({ kind: fc.constant('later' as const), ms: n }),
);

function happen(counters: Counters, clock: { ms: number }, some: Event): void {
  switch (some.kind) {
    case 'sent':
      return counters.sent({ step: some.step, keys: 1 });
    case 'answered':
      return counters.answered({ step: 'enrich', keys: 1, origin: null, attempt: 1, slowestMs: 0 }, {
        kind: 'miss',
        meta: { status: some.status, headers: {}, quota: null, requestId: null, credits: some.credits, latencyMs: some.latencyMs },
      } satisfies CallResult<unknown>);
    case 'throttled':
      return counters.throttled({ untilMs: clock.ms + some.waitMs, isNew: some.isNew, cause: 'retry_after', what: '' });
    case 'retrying':
      return counters.retrying('enrich');
    case 'later':
      clock.ms += some.ms;
      return undefined;
    default:
      return some satisfies never;
  }
}

/** The part of the elapsed time that was a wait: until the latest of the stated ends. */
function waited(events: readonly Event[]): number {
  let [now, until, spent] = [0, 0, 0];
  for (const some of events) {
    if (some.kind === 'throttled') until = Math.max(until, now + some.waitMs);
    if (some.kind !== 'later') continue;
    spent += Math.min(some.ms, Math.max(0, until - now));
    now += some.ms;
  }
  return spent;
}

/** An answer that failed without one when its status is 0 or 500, else a match. */
function answerOf({ status, credits = 0 }: { status: number; credits?: number }): CallResult<unknown> {
  const meta = { status, headers: {}, quota: null, requestId: null, credits, latencyMs: 5 };
  return status === 200 ? { kind: 'ok', value: null, meta } : { kind: 'retryable', code: 'reset', detail: '', retryAfterMs: null, meta };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
const LOOKUPS = { lookups: 7, reused: 3 };

describe('Counters', () => {
  it('add up to the same totals over any number of resumes, through a checkpoint', () => {
    fc.assert(
      fc.property(fc.array(fc.array(event, { maxLength: 40 }), { minLength: 1, maxLength: 5 }), (runs) => {
        const clock = { ms: 1_000 };
        let saved: ReturnType<Counters['totals']> | null = null;
        for (const events of runs) {
          const counters: Counters = new Counters(saved, () => clock.ms);
          for (const some of events) happen(counters, clock, some);
          saved = JSON.parse(JSON.stringify(counters.totals(LOOKUPS))) as ReturnType<Counters['totals']>;
          expect(counters.callsNow).toBe(events.filter(({ kind }) => kind === 'sent').length);
          expect(counters.allCalls).toBe(sum(Object.values(saved.calls)));
          // The time between two runs does not count.
          clock.ms += 12_345;
        }
        const all = runs.flat();
        const answers = all.filter((some) => some.kind === 'answered');
        const waits = all.filter((some) => some.kind === 'throttled' && some.isNew);
        const calls = (step: string): number => all.filter((some) => some.kind === 'sent' && some.step === step).length;
        expect({ enrich: 0, verify: 0, ...saved?.calls }).toEqual({ enrich: calls('enrich'), verify: calls('verify') });
        expect(saved).toMatchObject({
          lookups: { unique: 7, fromLedger: 3 },
          retries: all.filter(({ kind }) => kind === 'retrying').length,
          throttled: { events: waits.length, waitedMs: sum(runs.map(waited)) },
          credits: sum(answers.map(({ credits }) => credits)),
          activeMs: sum(all.flatMap((some) => (some.kind === 'later' ? [some.ms] : []))),
        });
        // A request without an answer has no latency.
        expect(sum(Object.values(saved?.latency ?? {}))).toBe(answers.filter(({ status }) => status > 0).length);
      }),
    );
  });

  it('leave the checkpoint that they started from unchanged', () => {
    const from = new Counters(null, () => 0).totals(LOOKUPS);
    const frozen = structuredClone(from);
    new Counters(from, () => 0).sent({ step: 'enrich', keys: 1 });
    expect(from).toEqual(frozen);
  });

  it('count what calls in flight may cost, by the dearest key so far, and let the answer replace it', () => {
    const counters = new Counters(null, () => 0);
    const two = { step: 'verify', keys: 2, origin: null, attempt: 1, slowestMs: 0 } as const;
    counters.sent(two);
    expect([counters.creditsAtMost, counters.costAtMost(two)]).toEqual([2, 2]);
    counters.answered(two, answerOf({ status: 200, credits: 6 }));
    expect([counters.credits, counters.creditsAtMost, counters.costAtMost(two)]).toEqual([6, 6, 6]);
    counters.sent(two);
    expect([counters.credits, counters.creditsAtMost]).toEqual([6, 12]);
  });

  it('count a match whose answer names no credits for the limit, and not as spent', () => {
    const counters = new Counters(null, () => 0, null, { reveal: 8 });
    const call = { origin: null, attempt: 1, slowestMs: 0 } as const;
    const unsaid = { status: 200, headers: {}, quota: null, requestId: null, credits: 0, namesNoCredits: true, latencyMs: 5 } as const;
    const ok = (value: unknown): CallResult<unknown> => ({ kind: 'ok', value, meta: unsaid });
    const atMostAfter = (step: 'enrich' | 'verify' | 'reveal', keys: number, result: CallResult<unknown>): number => {
      counters.sent({ step, keys });
      counters.answered({ ...call, step, keys }, result);
      return counters.creditsAtMost;
    };
    expect([
      atMostAfter('enrich', 1, ok({ record: {} })),
      atMostAfter('enrich', 1, { kind: 'miss', meta: unsaid }),
      atMostAfter('reveal', 1, ok({ record: {} })),
      atMostAfter('enrich', 3, ok([ok({}), { kind: 'miss', meta: unsaid }, null])),
      atMostAfter(
        'verify',
        2,
        ok({
          byEmail: new Map([
            ['a@x.example', {}],
            ['b@x.example', {}],
          ]),
        }),
      ),
      atMostAfter('enrich', 1, { kind: 'ok', value: {}, meta: { ...unsaid, credits: 0, namesNoCredits: undefined } as never }),
      // Two of three matches of a batch have named a credit each.
      atMostAfter('enrich', 3, { ...ok([ok({}), ok({}), ok({})]), meta: { ...unsaid, credits: 2 } }),
      counters.credits,
    ]).toEqual([1, 1, 9, 10, 12, 12, 15, 2]);
  });

  it('count a success that cannot be used as spent, each time that it comes, and keep that there was one', () => {
    const meta = { status: 200, headers: {}, quota: null, requestId: null, credits: 0, namesNoCredits: true, latencyMs: 5 } as const;
    const one = { step: 'enrich', keys: 2, origin: null, attempt: 1, slowestMs: 0 } as const;
    const broken: CallResult<unknown> = { kind: 'retryable', code: 'bad_body', detail: 'it broke off', retryAfterMs: null, meta };
    const counters = new Counters(null, () => 0, null, { enrich: 3 });
    const totalsAfter = (result: CallResult<unknown>): readonly (number | undefined)[] => {
      counters.sent(one);
      counters.answered(one, result);
      return [counters.credits, counters.creditsAtMost, counters.totals({ lookups: 0, reused: 0 }).creditsLost];
    };
    expect(totalsAfter({ ...broken, meta: { ...meta, status: 503 } })).toEqual([0, 0, undefined]);
    expect(totalsAfter({ ...broken, meta: { ...meta, namesNoCredits: undefined } as never })).toEqual([0, 0, undefined]);
    expect(totalsAfter(broken)).toEqual([0, 6, 6]);
    expect(totalsAfter({ kind: 'rejected', code: 'bad_shape', detail: '', meta })).toEqual([0, 12, 12]);
    const resumed = new Counters(counters.totals({ lookups: 0, reused: 0 }), () => 0);
    expect(resumed.totals({ lookups: 0, reused: 0 }).creditsLost).toBe(12);
  });

  it('count a free match after a kill as paid before, where others cost something, and keep that its cost is unknown', () => {
    const one = { step: 'enrich', keys: 1, origin: null, attempt: 1, slowestMs: 0 } as const;
    const lostAfter = (isAfterKill: boolean, unknown: number, calls: readonly (readonly [attempt: number, credits: number])[]): unknown => {
      const counters = new Counters(null, () => 0);
      if (isAfterKill) counters.afterKill(unknown);
      for (const [attempt, credits] of calls) {
        counters.sent(one);
        counters.answered({ ...one, attempt }, answerOf({ status: 200, credits }));
      }
      return counters.totals(LOOKUPS).creditsLost;
    };
    expect(
      lostAfter(true, 0, [
        [1, 0],
        [1, 2],
        [1, 0],
      ]),
    ).toBe(3);
    // A second attempt repeats one of this run, whose loss is counted.
    expect(
      lostAfter(true, 0, [
        [1, 2],
        [2, 0],
      ]),
    ).toBeUndefined();
    expect(
      lostAfter(true, 0, [
        [1, 0],
        [1, 0],
      ]),
    ).toBeUndefined();
    expect(
      lostAfter(false, 0, [
        [1, 2],
        [1, 0],
      ]),
    ).toBeUndefined();
    expect(lostAfter(true, 4, [])).toBe(4);
  });

  it('reserve what a promised answer may cost until it comes, over resumes, and what a lost ticket may have cost for good', () => {
    const each = { enrich: 3 };
    const one = { step: 'enrich', keys: 1, origin: null, attempt: 1, slowestMs: 0 } as const;
    const poll = { ...one, isPoll: true } as const;
    const meta = { status: 202, headers: {}, quota: null, requestId: null, credits: 0, latencyMs: 5 } as const;
    const promise = (credits: number) => ({ kind: 'pending', ticket: 't', afterMs: 1, longestMs: 9, meta: { ...meta, credits } }) as const;
    const lost = { kind: 'rejected', code: 'ticket_lost', detail: '', meta: { ...meta, status: 404 } } as const;
    const first = new Counters(null, () => 0, null, each);
    for (const credits of [0, 1, 0]) {
      first.sent(one);
      first.answered(one, promise(credits));
    }
    expect([first.credits, first.creditsAtMost]).toEqual([1, 9]);
    first.sent(poll);
    expect([first.costAtMost(poll), first.creditsAtMost]).toEqual([0, 9]);
    first.answered(poll, answerOf({ status: 500 }));
    expect(first.creditsAtMost).toBe(9);
    const saved = JSON.parse(JSON.stringify(first.totals(LOOKUPS))) as ReturnType<Counters['totals']>;
    const next = new Counters(saved, () => 0, null, each);
    expect(next.creditsAtMost).toBe(9);
    next.rejoined(one, 0);
    next.rejoined(one, 1);
    expect(next.creditsAtMost).toBe(9);
    next.answered(poll, answerOf({ status: 200, credits: 2 }));
    next.answered({ ...poll, charged: 1 }, { kind: 'miss', meta: { ...meta, status: 200 } });
    expect([next.credits, next.creditsAtMost]).toEqual([3, 6]);
    next.rejoined(one, 0);
    next.answered(poll, lost);
    expect([next.credits, next.creditsAtMost]).toEqual([3, 6]);
    // A promise to another job's run is reserved by the run that asks for its answer.
    next.rejoined(one, 0);
    expect(next.creditsAtMost).toBe(9);
  });

  it('count a call without an answer as charged, and a refused one as free', () => {
    const counters = new Counters(null, () => 0);
    const one = { step: 'enrich', keys: 1, origin: null, attempt: 1, slowestMs: 0 } as const;
    for (const result of [answerOf({ status: 0 }), answerOf({ status: 500 })]) {
      counters.sent(one);
      counters.answered(one, result);
    }
    expect([counters.credits, counters.creditsAtMost]).toEqual([0, 1]);
  });

  it.each([
    ['verify', 'verifyRequests'],
    ['enrich', 'requestSizes'],
  ] as const)('keep the size of %s requests once it is known', (step, key) => {
    const counters = new Counters(null, () => 0);
    counters.requestSize(step).tooLarge = 2;
    expect(counters.totals(LOOKUPS)).not.toHaveProperty(key);
    counters.requestSize(step).kept = { size: 500, most: 8 };
    expect(counters.totals(LOOKUPS)).toHaveProperty(key);
    const resumed = new Counters(counters.totals(LOOKUPS), () => 0);
    expect(resumed.requestSize(step)).toEqual({ kept: { size: 500, most: 8 }, tooLarge: 2 });
  });

  it('give totals that later calls do not change', () => {
    const counters = new Counters(null, () => 0);
    const before = counters.totals(LOOKUPS);
    counters.sent({ step: 'verify', keys: 1 });
    expect(before.calls).toEqual({});
  });
});
