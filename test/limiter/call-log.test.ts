import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { CallLog } from '../../src/limiter/call-log.ts';
import { SLOTS } from '../../src/limiter/recent-slots.ts';

/** Some sends, and answers in any order, a few milliseconds from each other; enough of them for the rings to grow. */
const events = fc.array(fc.record({ afterMs: fc.nat(3), send: fc.boolean(), which: fc.nat(1_000) }), { maxLength: 1_200 });

interface Call {
  readonly sentMs: number;
  answeredMs: number;
}

function play(
  steps: readonly { afterMs: number; send: boolean; which: number }[],
  restored: number,
): { log: CallLog; calls: Call[]; nowMs: number } {
  const log = new CallLog();
  log.restore([[0, restored]]);
  const calls: Call[] = [];
  const underWay: number[] = [];
  let nowMs = 1;
  for (const { afterMs, send, which } of steps) {
    nowMs += afterMs;
    if (send || underWay.length === 0) {
      const callNumber = log.sent(nowMs, Infinity);
      expect(callNumber).toBe(restored + calls.length + 1);
      underWay.push(calls.length);
      calls.push({ sentMs: nowMs, answeredMs: Infinity });
    } else {
      const [index] = underWay.splice(which % underWay.length, 1) as [number];
      const call = calls[index] as Call;
      call.answeredMs = nowMs;
      expect(log.answered(restored + index + 1, nowMs)).toBe(call.sentMs);
    }
  }
  return { log, calls, nowMs };
}

describe('CallLog', () => {
  it('counts as one would from a list of all calls', () => {
    fc.assert(
      fc.property(events, fc.constantFrom(0, 0, 7, 400), fc.nat(2_000), fc.nat(2_000), (steps, restored, a, b) => {
        const { log, calls, nowMs } = play(steps, restored);
        const [from, to] = [Math.min(a, b) % (nowMs + 2), Math.max(a, b) % (nowMs + 2)];
        expect(log.inFlight).toBe(calls.filter(({ answeredMs }) => answeredMs === Infinity).length);
        expect(log.inFlightSince(from)).toBe(calls.filter(({ sentMs, answeredMs }) => answeredMs === Infinity && sentMs > from).length);
        expect(log.sentAfter(from)).toBe(calls.filter(({ sentMs }) => sentMs > from).length);
        expect(log.firstSentAfter(from)).toBe(calls.find(({ sentMs }) => sentMs > from)?.sentMs ?? Infinity);
        expect(log.unansweredAt(from)).toBe(calls.filter(({ answeredMs }) => answeredMs > from).length);
        expect(log.firstAnsweredAfter(from)).toBe(
          calls.reduce((first, { answeredMs }) => (answeredMs > from ? Math.min(first, answeredMs) : first), Infinity),
        );
        expect(log.within(from, to)).toBe(calls.filter(({ sentMs, answeredMs }) => sentMs > from && answeredMs <= to).length);
      }),
      { numRuns: 300 },
    );
  });

  it('knows restored calls as sent, and not as counted by the service', () => {
    const log = new CallLog();
    log.restore([[100, 5]]);
    log.answered(log.sent(150, Infinity), 160);
    expect([log.sentAfter(99), log.unansweredAt(99), log.within(99, 200), log.inFlight]).toEqual([6, 6, 1, 0]);
  });

  it('counts a call in flight as of now, and each other call at its answer', () => {
    fc.assert(
      fc.property(events, fc.constantFrom(0, 7), fc.integer({ min: 1, max: 2_000 }), (steps, restored, periodMs) => {
        const { log, calls, nowMs } = play(steps, restored);
        const all = [...Array.from({ length: restored }, () => 0), ...calls.map(({ answeredMs }) => Math.min(answeredMs, nowMs))];
        const expected = all.filter((atMs) => atMs > nowMs - periodMs).sort((one, other) => one - other);
        const recent = log.recent(nowMs, periodMs).flatMap(([endMs, count]) => Array.from({ length: count }, () => endMs));
        const laterBy = recent.map((atMs, i) => atMs - (expected[i] as number));
        expect(recent).toHaveLength(expected.length);
        expect(laterBy.filter((ms) => ms < 0 || ms >= periodMs / SLOTS)).toEqual([]);
      }),
    );
  });

  it('forgets what it may, and goes on counting the rest', () => {
    const log = new CallLog();
    for (let i = 0; i < 1_000; i++) log.answered(log.sent(i * 10, 1_000), i * 10 + 5);
    expect(log.sentAt(1)).toBeNull();
    expect(log.sentAt(1_000)).toBe(9_990);
    expect([log.sentAfter(9_500), log.unansweredAt(9_500), log.within(9_500, 9_700)]).toEqual([49, 50, 19]);
  });
});
