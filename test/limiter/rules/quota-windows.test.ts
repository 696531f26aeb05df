import * as fc from '../../support/fast-check.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PERIODS_MS } from '../../../src/util/periods.ts';
import { addUncountedCalls, QuotaWindows } from '../../../src/limiter/rules/quota-windows.ts';
import { QuotaRules } from '../../../src/limiter/quota-rules.ts';
import type { LimiterOptions } from '../../../src/limiter/limiter-options.ts';
import { casesOf } from '../../support/sample.ts';
import { answerOf, makeLimiter, stopTime } from '../virtual.ts';
import { callAlways, WindowedService, type Stated, type TestWindow } from '../windowed-service.ts';

const { second, minute, hour, day } = PERIODS_MS;
const NAMES: Readonly<Record<number, string>> = { [second]: 'second', [minute]: 'minute', [hour]: 'hour', [day]: 'day' };
const ADVERBS: Readonly<Record<number, string>> = { [minute]: 'minute', [hour]: 'hourly', [day]: 'daily' };

/** The families as vendors send them. */
const FAMILIES: Readonly<Record<string, (state: readonly Stated[], now: number) => Record<string, string>>> = {
  kong: (state) =>
    Object.fromEntries(
      state.flatMap(({ ms, limit, remaining }) => [
        [`x-ratelimit-limit-${NAMES[ms]}`, String(limit)],
        [`x-ratelimit-remaining-${NAMES[ms]}`, String(remaining)],
      ]),
    ),
  apollo: (state) =>
    Object.fromEntries(
      state.flatMap(({ ms, limit, remaining }) =>
        ADVERBS[ms] === undefined
          ? []
          : [
              [`x-rate-limit-${ADVERBS[ms]}`, String(limit)],
              [`x-${ADVERBS[ms]}-requests-left`, String(remaining)],
            ],
      ),
    ),
  json: (state, now) => ({
    'x-ratelimit-limit': `{${state.map(({ ms, limit }) => `'${NAMES[ms]}': ${limit}`).join(', ')}}`,
    'x-ratelimit-remaining': `{${state.map(({ ms, remaining }) => `'${NAMES[ms]}': ${remaining}`).join(', ')}}`,
    'x-ratelimit-reset': `{${state.map(({ ms, resetMs }) => `'${NAMES[ms]}': '${new Date(now + resetMs).toISOString()}'`).join(', ')}}`,
  }),
  ietf: (state) => ({
    'ratelimit-policy': state.map(({ ms, limit }) => `"${NAMES[ms]}";q=${limit};w=${ms / 1_000}`).join(', '),
    ratelimit: state.map(({ ms, remaining, resetMs }) => `"${NAMES[ms]}";r=${remaining};t=${Math.ceil(resetMs / 1_000)}`).join(', '),
  }),
  none: () => ({}),
};

beforeEach(stopTime);
afterEach(() => vi.useRealTimers());

const stated = (windows: readonly TestWindow[]): LimiterOptions['windows'] => windows.map(({ limit, ms }) => ({ limit, periodMs: ms }));

const rulesOf = (windows: LimiterOptions['windows'] = []): QuotaRules =>
  new QuotaRules((log, latencies) => [new QuotaWindows(windows, log, latencies)]);

describe('several quota windows at once', () => {
  it.each([
    ['kong', 'fixed'],
    ['json', 'fixed'],
    ['ietf', 'fixed'],
    ['kong', 'sliding'],
    ['json', 'sliding'],
    ['ietf', 'sliding'],
  ] as const)('told by headers (%s, %s windows): each is kept, no call is refused, and the tightest is used', async (family, kind) => {
    const windows: TestWindow[] = [
      { limit: 10, ms: second, kind },
      { limit: 300, ms: minute, kind },
      { limit: 2_000, ms: hour, kind },
    ];
    const service = new WindowedService(windows);
    const limiter = makeLimiter(300);
    const calls = callAlways(limiter, service, FAMILIES[family] as (typeof FAMILIES)[string]);
    await vi.advanceTimersByTimeAsync(7 * minute);
    await calls.stop();
    expect(calls.refused()).toBe(0);
    expect(service.taken.length).toBeGreaterThanOrEqual(1_980);
  });

  it('told without a reset, a sliding minute is used to the end: calls on their way are not those of another client', async () => {
    const windows: TestWindow[] = [
      { limit: 50, ms: second, kind: 'sliding' },
      { limit: 1_100, ms: minute, kind: 'sliding' },
    ];
    const service = new WindowedService(windows);
    const limiter = makeLimiter(1_100, { windows: [{ limit: 50, periodMs: second }] });
    const from = Date.now() + minute;
    const calls = callAlways(limiter, service, FAMILIES['kong'] as (typeof FAMILIES)[string]);
    await vi.advanceTimersByTimeAsync(4 * minute);
    await calls.stop();
    expect(calls.refused()).toBe(0);
    const later = service.taken.filter((at) => at >= from && at < from + 3 * minute).length;
    expect(later).toBeGreaterThanOrEqual(0.99 * 3 * 1_100);
  });

  it('told without a reset, for the minute, hour and day (Apollo)', async () => {
    const service = new WindowedService([
      { limit: 50, ms: minute },
      { limit: 100, ms: hour },
      { limit: 150, ms: day },
    ]);
    const limiter = makeLimiter(50);
    const calls = callAlways(limiter, service, FAMILIES['apollo'] as (typeof FAMILIES)[string]);
    await vi.advanceTimersByTimeAsync(2 * hour + 10 * minute);
    expect(limiter.waiting()).toMatchObject({ reason: 'quota', what: 'the quota of 150 requests a day, which is used up' });
    await calls.stop();
    expect([calls.refused(), service.taken.length]).toEqual([0, 150]);
  });

  it.each(['fixed', 'sliding'] as const)(
    'stated in the job alone, before %s windows: each is kept, and the tightest is used',
    async (kind) => {
      const windows: TestWindow[] = [
        { limit: 5, ms: second, kind },
        { limit: 200, ms: minute, kind },
        { limit: 1_500, ms: hour, kind },
      ];
      const service = new WindowedService(windows);
      const limiter = makeLimiter(null, { windows: stated(windows) ?? [] });
      const calls = callAlways(limiter, service, FAMILIES['none'] as (typeof FAMILIES)[string]);
      await vi.advanceTimersByTimeAsync(8 * minute);
      await calls.stop();
      expect(calls.refused()).toBe(0);
      expect(service.taken.length).toBeGreaterThanOrEqual(1_485);
      expect(service.taken.length).toBeLessThanOrEqual(1_500);
    },
  );

  // A call counts for a period and the time that it took longer than the fastest: half of the spread, on average.
  it.each([
    ['kong', 0, 0.995],
    ['none', 0, 0.995],
    ['kong', 40, 0.96],
    ['none', 40, 0.96],
    ['kong', 200, 0.89],
    ['none', 200, 0.89],
  ] as const)(
    'a second is used as far as latencies allow it (headers: %s, spread over %d ms), and no call is refused',
    async (family, jitterMs, share) => {
      for (const kind of ['fixed', 'sliding'] as const) {
        const windows: TestWindow[] = [{ limit: 20, ms: second, kind }];
        const service = new WindowedService(windows);
        const limiter = makeLimiter(null, { windows: stated(windows) ?? [] });
        const calls = callAlways(limiter, service, FAMILIES[family] as (typeof FAMILIES)[string], { jitterMs, callers: 60 });
        await vi.advanceTimersByTimeAsync(20 * second);
        const before = service.taken.length;
        await vi.advanceTimersByTimeAsync(minute);
        const taken = service.taken.length - before;
        await calls.stop();
        expect(calls.refused(), kind).toBe(0);
        expect(taken / (60 * 20), kind).toBeGreaterThanOrEqual(share);
      }
    },
  );

  it.each([
    ['the first calls are slow, because they open their connections', (call: number) => (call < 10 ? [1_480, 20] : [25, 25])],
    ['the service stands still for a moment', (call: number) => (call >= 200 && call < 210 ? [1_500, 25] : [25, 25])],
    ['one call in fifty is decided on after five seconds', (call: number) => (call % 50 === 0 ? [5_000, 25] : [25, 25])],
    ['the latencies are from a tenth of a second to five', (call: number) => [25 + ((call * 7_919) % 4_900), 25]],
  ] as const)('causes no refusal in a window of a second when %s', async (_, ways) => {
    for (const kind of ['fixed', 'sliding'] as const) {
      for (const family of ['kong', 'none'] as const) {
        const windows: TestWindow[] = [{ limit: 10, ms: second, kind }];
        const service = new WindowedService(windows);
        const limiter = makeLimiter(null, { windows: stated(windows) ?? [] });
        const calls = callAlways(limiter, service, FAMILIES[family] as (typeof FAMILIES)[string], {
          callers: 30,
          latencyMs: 5_000,
          ways: (call) => [ways(call)[0] ?? 0, ways(call)[1] ?? 0],
        });
        await vi.advanceTimersByTimeAsync(minute);
        await calls.stop();
        expect(calls.refused(), `${kind} ${family}`).toBe(0);
      }
    }
  });

  it('a call that hangs counts in an hour until it is answered', async () => {
    const windows: TestWindow[] = [{ limit: 100, ms: hour }];
    const service = new WindowedService(windows);
    const limiter = makeLimiter(null, { windows: stated(windows) ?? [] });
    const calls = callAlways(limiter, service, FAMILIES['none'] as (typeof FAMILIES)[string], {
      callers: 21,
      latencyMs: 9_000,
      ways: (call) => (call < 20 ? [90_000, 10] : [250, 250]),
    });
    await vi.advanceTimersByTimeAsync(5 * minute);
    await calls.stop();
    expect([calls.refused(), service.taken.length]).toEqual([0, 100]);
  });

  it('calls in flight that hold all permits are waited for without asking again and again', () => {
    const windows = rulesOf([{ limit: 5, periodMs: hour }]);
    const [first = 0] = Array.from({ length: 5 }, () => windows.sent(0));
    expect([windows.permits(1), windows.usedUp(1)]).toEqual([{ permits: 0, atMs: Infinity }, null]);
    windows.answered(answerOf(first, 2, null));
    expect(windows.permits(3)).toEqual({ permits: 0, atMs: hour + 2 });
  });

  it('a stated limit of nothing is asked for again after a period', () => {
    const windows = rulesOf([]);
    const reading = { periodMs: hour, limit: 0, remaining: 0, resetMs: null };
    windows.answered({ ...answerOf(windows.sent(0), 10, null), windows: [reading] });
    expect(windows.permits(20)).toEqual({ permits: 0, atMs: hour + 10 });
    expect(windows.permits(hour + 10).permits).toBe(1);
  });

  it.each([0, 20, 45])(
    'a run resumed %d s into a minute of which headers tell without a reset uses each minute after it',
    async (phaseS) => {
      await vi.advanceTimersByTimeAsync(phaseS * second);
      const service = new WindowedService([
        { limit: 10, ms: second },
        { limit: 100, ms: minute },
      ]);
      const headers = FAMILIES['kong'] as (typeof FAMILIES)[string];
      const windows = [{ limit: 10, periodMs: second }];
      const killed = makeLimiter(100, { windows });
      const before = callAlways(killed, service, headers);
      await vi.advanceTimersByTimeAsync(4 * second);
      const saved = JSON.parse(JSON.stringify(killed.save())) as ReturnType<typeof killed.save>;
      await before.stop();
      const kept = addUncountedCalls(saved.windows ?? [], 0, saved.savedAtMs, Date.now());
      const limiter = makeLimiter(100, { windows, restored: { ...saved, minute: [[saved.savedAtMs, 100]], windows: kept } });
      const calls = callAlways(limiter, service, headers);
      await vi.advanceTimersByTimeAsync(2 * minute);
      const first = service.taken.length;
      await vi.advanceTimersByTimeAsync(4 * minute);
      expect(service.taken.length - first).toBeGreaterThanOrEqual(0.99 * 400);
      await calls.stop();
      expect(calls.refused()).toBe(0);
    },
  );

  it('goes on after the wait that a refusal asked for, when other calls of the same moment were taken', async () => {
    const service = new WindowedService([
      { limit: 4, ms: second, kind: 'sliding' },
      { limit: 855, ms: minute, kind: 'sliding' },
    ]);
    const calls = callAlways(makeLimiter(null), service, FAMILIES['ietf'] as (typeof FAMILIES)[string], {
      callers: 37,
      ways: () => [1_064, 5],
    });
    await vi.advanceTimersByTimeAsync(20 * second);
    expect(service.taken.length).toBeGreaterThan(20);
    await calls.stop();
  });

  it('causes no refusal in any window, whatever the latencies are and whenever the service decides', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          kind: fc.constantFrom('fixed', 'sliding'),
          family: fc.constantFrom('kong', 'json', 'ietf', 'none'),
          perSecond: fc.integer({ min: 1, max: 60 }),
          perMinute: fc.integer({ min: 30, max: 2_000 }),
          latencyMs: fc.integer({ min: 2, max: 400 }),
          jitterMs: fc.integer({ min: 0, max: 900 }),
          callers: fc.integer({ min: 1, max: 80 }),
          seed: fc.integer(),
        }),
        async ({ kind, family, perSecond, perMinute, latencyMs, jitterMs, callers, seed }) => {
          const windows: TestWindow[] = [
            { limit: perSecond, ms: second, kind },
            { limit: perMinute, ms: minute, kind },
          ];
          const service = new WindowedService(windows);
          const limiter = makeLimiter(null, { windows: stated(windows) ?? [] });
          const calls = callAlways(limiter, service, FAMILIES[family] as (typeof FAMILIES)[string], { latencyMs, jitterMs, callers, seed });
          await vi.advanceTimersByTimeAsync(2.5 * minute);
          await calls.stop();
          expect(calls.refused()).toBe(0);
          expect(service.taken.length).toBeGreaterThan(0);
        },
      ),
      { numRuns: casesOf(10, 100) },
    );
  });

  it('never sends more than a stated window allows in any such period, for any windows and any number of stops and resumes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 2, max: 20 }),
        fc.integer({ min: 20, max: 120 }),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1_000, max: 50_000 }),
        async (perSecond, perMinute, runs, runMs) => {
          const windows: TestWindow[] = [
            { limit: perSecond, ms: second, kind: 'sliding' },
            { limit: perMinute, ms: minute, kind: 'sliding' },
            { limit: 4 * perMinute, ms: hour, kind: 'sliding' },
          ];
          const service = new WindowedService(windows);
          let spent: ReturnType<ReturnType<typeof makeLimiter>['save']> | null = null;
          for (let run = 0; run < runs; run++) {
            const limiter = makeLimiter(null, {
              windows: stated(windows) ?? [],
              restored: spent === null ? null : (JSON.parse(JSON.stringify(spent)) as typeof spent),
            });
            const calls = callAlways(limiter, service, FAMILIES['none'] as (typeof FAMILIES)[string]);
            await vi.advanceTimersByTimeAsync(runMs);
            spent = limiter.save();
            await calls.stop();
            expect(calls.refused()).toBe(0);
          }
          await vi.advanceTimersByTimeAsync(2 * hour);
        },
      ),
      { numRuns: casesOf(3, 15) },
    );
  });

  it('counts what others spend, where headers tell of it', async () => {
    const service = new WindowedService([{ limit: 200, ms: hour }]);
    for (let i = 0; i < 120; i++) service.take(Date.now());
    const limiter = makeLimiter(6_000, { windows: [{ limit: 200, periodMs: hour }] });
    const calls = callAlways(limiter, service, FAMILIES['json'] as (typeof FAMILIES)[string]);
    await vi.advanceTimersByTimeAsync(5 * minute);
    await calls.stop();
    expect([calls.refused(), service.taken.length]).toEqual([0, 200]);
  });
});

describe('a day of 300 that is used up', () => {
  const plain = (state: readonly Stated[]): Record<string, string> => {
    const { limit, remaining, resetMs } = state[0] as Stated;
    return {
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(remaining),
      'x-ratelimit-reset': String(Math.ceil(resetMs / 1_000)),
    };
  };

  it.each([
    [5, 'without Retry-After'],
    [3_000, 'without Retry-After, from slow answers'],
  ])('a used-up day gets at most one more request (latency %d ms, %s), and requests continue with the next day', async (latencyMs) => {
    const service = new WindowedService([{ limit: 300, ms: day }]);
    const limiter = makeLimiter(1_000);
    const calls = callAlways(limiter, service, plain, { latencyMs });
    await vi.advanceTimersByTimeAsync(11 * hour);
    expect(calls.refused()).toBeLessThanOrEqual(1);
    expect(service.taken).toHaveLength(300);
    expect(limiter.usedUp()?.what).toBe('quota of 300 requests a day');
    expect(Math.abs(limiter.pausedMs() - hour)).toBeLessThanOrEqual(2 * minute);
    await vi.advanceTimersByTimeAsync(2 * hour);
    await calls.stop();
    expect(calls.refused()).toBeLessThanOrEqual(1);
    expect(service.taken).toHaveLength(600);
  });

  it('a resume before that sends nothing, also where the run before heard no Retry-After', async () => {
    const service = new WindowedService([{ limit: 300, ms: day }]);
    const before = makeLimiter(1_000);
    const calls = callAlways(before, service, plain);
    await vi.advanceTimersByTimeAsync(10 * minute);
    const spent = JSON.parse(JSON.stringify(before.save())) as ReturnType<typeof before.save>;
    await calls.stop();
    const limiter = makeLimiter(1_000, { restored: spent });
    const again = callAlways(limiter, service, plain);
    await vi.advanceTimersByTimeAsync(hour);
    expect(again.sent).toEqual([]);
    expect(limiter.usedUp()?.what).toBe('quota of 300 requests a day');
    await again.stop();
  });
});

it('a window that is used up is kept with the time at which it opens, also when the job states it and no header tells of it', async () => {
  const limiter = makeLimiter(1_000, {
    windows: [
      { limit: 30, periodMs: day },
      { limit: 500, periodMs: hour },
    ],
  });
  const calls = callAlways(limiter, new WindowedService([{ limit: 1_000, ms: minute }]), () => ({}));
  await vi.advanceTimersByTimeAsync(minute);
  const kept = limiter.save().windows ?? [];
  const untilMs = limiter.usedUp()?.untilMs ?? 0;
  await calls.stop();
  expect(calls.sent).toHaveLength(30);
  expect(kept.map(({ periodMs, opensAtMs }) => [periodMs, opensAtMs])).toEqual([
    [day, Math.round(Date.now() + untilMs - performance.now())],
    [hour, undefined],
  ]);
});

it('the claim of a killed run counts as spent in each window, up to its limit; a window of a minute or less counts as used up', () => {
  const kept = [
    { periodMs: hour, limit: 500, left: null, resetAtMs: null, spent: [[1, 3]] as const },
    { periodMs: second, limit: 10, left: null, resetAtMs: null, spent: [] },
  ];
  expect(addUncountedCalls(kept, 200, 9, 12).map(({ spent }) => spent)).toEqual([
    [
      [1, 3],
      [9, 200],
    ],
    [[12, 10]],
  ]);
  expect(addUncountedCalls(kept, 0, 9, 12).map(({ spent }) => spent)).toEqual([[[1, 3]], [[12, 10]]]);
  expect(addUncountedCalls(kept, 700, 9, 12)[0]?.spent).toEqual([
    [1, 3],
    [9, 500],
  ]);
});

it.each([
  ['fixed', 600],
  ['sliding', 600],
] as const)('of a quota of %s minutes that is used up every time, the share used is all of what was offered', async (kind, limit) => {
  await vi.advanceTimersByTimeAsync(minute - (Date.now() % minute) + 20_000);
  const service = new WindowedService([{ limit, ms: minute, kind }]);
  const limiter = makeLimiter(limit);
  const begunMs = performance.now();
  const calls = callAlways(limiter, service, (state) => {
    const { remaining, resetMs } = state[0] as Stated;
    return {
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(remaining),
      'x-ratelimit-reset': String(Math.ceil(resetMs / 1_000)),
    };
  });
  await vi.advanceTimersByTimeAsync(5 * minute - 5_000);
  const offered = (limit * (performance.now() - begunMs)) / minute + limiter.beyondPlan();
  expect(service.taken.length / offered).toBeGreaterThanOrEqual(0.95);
  expect(service.taken.length / offered).toBeLessThanOrEqual(1.05);
  await calls.stop();
  expect(calls.refused()).toBe(0);
});
