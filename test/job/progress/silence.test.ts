import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SilenceWatch } from '../../../src/job/progress/silence.ts';
import { addWaits, MOST_LISTED, NO_WAITS, type LoggedWait } from '../../../src/checkpoint/wait-log.ts';
import { Waits, type Wait } from '../../../src/util/waits.ts';

const START = Date.UTC(2036, 6, 15, 12);

beforeEach(() => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date', 'performance'], now: START }));
afterEach(() => vi.useRealTimers());

/** A watch over a run whose last request the test sends. */
function watched() {
  const waits = new Waits();
  const said: string[] = [];
  const watch = new SilenceWatch({
    waits,
    reporter: { detail: (event, text) => said.push(`${event}: ${text}`) },
    now: () => performance.now(),
    wallNow: Date.now,
  });
  let sentMs = performance.now();
  watch.follow(() => sentMs);
  const pass = (ms: number): void => void vi.advanceTimersByTime(ms);
  return { waits, said, watch, pass, send: () => (sentMs = performance.now()) };
}

const quota = (untilMs: number | null = null): Wait => ({ reason: 'quota', what: 'the quota', untilMs });

describe('a silence', () => {
  it('longer than five seconds is reported with its subject, end time and reason, and so is its end', () => {
    const { waits, said, watch, pass, send } = watched();
    const leave = waits.enter(quota(performance.now() + 60_000));
    pass(4_900);
    expect([watch.silence, said]).toEqual([null, []]);
    pass(600);
    expect(watch.silence?.wait.reason).toBe('quota');
    expect([watch.silentMs, watch.leftMs]).toEqual([5_500, 54_500]);
    expect(said).toEqual(['waiting: nothing is sent: waiting for the quota, until 12:01:00 UTC (in 55 s) (quota)']);
    pass(54_500);
    leave();
    send();
    pass(500);
    expect(said[1]).toBe('waited: waited 1 min 0 s for the quota (quota)');
    expect(watch.totals).toEqual({
      count: 1,
      ms: 60_000,
      reasons: { quota: 60_000 },
      list: [{ at: new Date(START).toISOString(), ms: 60_000, reason: 'quota', what: 'the quota' }],
    });
  });

  it('has the day in its report when it ends on another day', () => {
    const { waits, said, pass } = watched();
    waits.enter(quota(performance.now() + 20 * 3_600_000));
    pass(5_000);
    expect(said[0]).toContain('until 2036-07-16 08:00:00 UTC (in 19 h 59 min)');
  });

  it('with several reasons in turn is divided between them, and the parts add up', () => {
    const { waits, watch, pass, send } = watched();
    const first = waits.enter({ reason: 'throttled', what: 'a pause', untilMs: null });
    pass(8_000);
    first();
    const second = waits.enter(quota());
    pass(12_000);
    send();
    second();
    pass(1_000);
    const { ms, reasons, list } = watch.totals;
    expect(list.map(({ reason }) => reason)).toEqual(['throttled', 'quota']);
    expect(ms).toBe(20_000);
    expect((reasons.throttled ?? 0) + (reasons.quota ?? 0)).toBe(20_000);
  });

  it('counts a reason that lasts for a moment as part of the wait around it', () => {
    const { waits, said, watch, pass, send } = watched();
    const first = waits.enter(quota());
    pass(12_000);
    first();
    const second = waits.enter({ reason: 'input', what: 'the next records', untilMs: null });
    pass(1_000);
    send();
    second();
    pass(500);
    expect(watch.totals).toMatchObject({ count: 1, ms: 13_000, reasons: { quota: 13_000 } });
    expect(said).toEqual(['waiting: nothing is sent: waiting for the quota (quota)', 'waited: waited 13 s for the quota (quota)']);
  });

  it('counts each moment once, also across a moment without a reason', () => {
    const { waits, watch, pass } = watched();
    const leave = waits.enter(quota());
    pass(10_000);
    leave();
    pass(2_000);
    waits.enter(quota());
    pass(8_000);
    expect(watch.totals).toMatchObject({ count: 2, ms: 20_000 });
  });

  it('writes at most one log line a minute for a wait that returns all the time', () => {
    const { waits, said, watch, pass, send } = watched();
    waits.enter(quota());
    for (let i = 0; i < 30; i++) {
      pass(6_000);
      send();
      pass(500);
    }
    expect(said.filter((text) => text.startsWith('waiting'))).toHaveLength(3);
    expect(watch.totals.count).toBe(30);
  });

  it('before the first request counts from the start of the process, so a wait for a lock is reported', () => {
    const waits = new Waits();
    const said: string[] = [];
    const watch = new SilenceWatch({
      waits,
      reporter: { detail: (_event, text) => said.push(text) },
      now: () => performance.now(),
      wallNow: Date.now,
    });
    waits.enter({ reason: 'lock', what: 'another run', untilMs: null });
    vi.advanceTimersByTime(5_000);
    expect(said).toEqual(['nothing is sent: waiting for another run (lock)']);
    watch.close();
    expect(vi.getTimerCount()).toBe(0);
    expect(watch.totals).toMatchObject({ count: 1, reasons: { lock: 5_000 } });
  });
});

describe('the log of waits', () => {
  it('counts all waits and lists the longest, in the order of their start', () => {
    const one = (i: number): LoggedWait => ({ at: new Date(START + i * 60_000).toISOString(), ms: 5_000 + i, reason: 'quota', what: 'q' });
    const many = Array.from({ length: 2 * MOST_LISTED }, (_, i) => ({
      count: 1,
      ms: 5_000 + i,
      reasons: { quota: 5_000 + i },
      list: [one(i)],
    }));
    const sum = addWaits([NO_WAITS, ...many]);
    expect(sum).toMatchObject({ count: 2 * MOST_LISTED, ms: many.reduce((all, { ms }) => all + ms, 0) });
    expect(sum.list).toEqual(Array.from({ length: MOST_LISTED }, (_, i) => one(MOST_LISTED + i)));
  });
});
