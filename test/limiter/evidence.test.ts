import { describe, expect, it } from 'vitest';
import { CallLog } from '../../src/limiter/call-log.ts';
import { Evidence } from '../../src/limiter/evidence.ts';
import { Latencies } from '../../src/limiter/latencies.ts';
import type { Told } from '../../src/limiter/told-answers.ts';

const RPM = 600;
const LATENCY_MS = 20;

/** Asks one call after the other; `remaining` is what the service says, and the reset it states is at `resetMs`. */
function bed(): { evidence: Evidence; ask: (atMs: number, remaining: number, resetMs?: number) => void } {
  const log = new CallLog();
  const latencies = new Latencies();
  for (let i = 0; i < 50; i++) latencies.add(LATENCY_MS, 0);
  const evidence = new Evidence(RPM, log, latencies);
  let before: Told | undefined;
  return {
    evidence,
    ask: (atMs, remaining, resetMs = 60_000) => {
      const ticket = log.sent(atMs, -Infinity);
      const answeredMs = atMs + LATENCY_MS;
      log.answered(ticket, answeredMs);
      const told: Told = { ticket, sentMs: atMs, answeredMs, remaining, throttled: false, notBeforeMs: resetMs - 1_000, untilMs: resetMs + 1_000 };
      evidence.answered(told, RPM, before, false, before !== undefined);
      before = told;
    },
  };
}

const kinds = ({ fixed, sliding, bucket }: Evidence): object => ({ fixed, sliding, bucket });

describe('Evidence', () => {
  it('takes nothing for impossible at first', () => {
    expect(kinds(bed().evidence)).toEqual({ fixed: true, sliding: true, bucket: true });
  });

  it('a fixed window gives nothing back before its reset', () => {
    const { evidence, ask } = bed();
    for (let i = 0; i < 5; i++) ask(i * 2_000, 500);
    expect(evidence.fixed).toBe(false);
  });

  it('a fixed window states the same reset until it is over', () => {
    const { evidence, ask } = bed();
    for (let i = 0; i < 6; i++) ask(i * 3_000, 590 - i, 60_000 + i * 3_000);
    expect(kinds(evidence)).toMatchObject({ fixed: false });
    const other = bed();
    for (let i = 0; i < 50; i++) other.ask(i * 3_000, 590 - (i % 20), 60_000 * (1 + Math.floor(i / 20)));
    expect(other.evidence.fixed).toBe(true);
  });

  it('a sliding window forgets no call that is less than a minute old', () => {
    const { evidence, ask } = bed();
    for (let i = 0; i < 20; i++) ask(i * 100, 599 - i);
    for (let i = 0; i < 5; i++) ask(10_000 + i * 100, 590);
    expect(evidence.sliding).toBe(false);
  });

  it('a bucket gains no more than its rate', () => {
    const { evidence, ask } = bed();
    for (let i = 0; i < 4; i++) {
      ask(i * 10_000, 100);
      ask(i * 10_000 + 1_000, 300);
    }
    expect(evidence.bucket).toBe(false);
  });

  it('a bucket that is not full gains no less', () => {
    const { evidence, ask } = bed();
    for (let i = 0; i < 590; i++) ask(i, 599 - i);
    for (let i = 1; i < 5; i++) ask(i * 11_000, 10 - i);
    expect(evidence.others(50_000)).toBe(false);
    expect(evidence.bucket).toBe(false);
  });

  it('somebody else is on the key when more is spent than we sent', () => {
    const { evidence, ask } = bed();
    ask(0, 599);
    expect(evidence.others(20)).toBe(false);
    ask(1_000, 540);
    expect(evidence.others(1_020)).toBe(true);
    expect(evidence.others(1_020 + 11 * 60_000)).toBe(false);
  });

  it('trusts step by step, at once when calls were given back as reckoned, and never again so after a refusal', () => {
    const { evidence, ask } = bed();
    expect(evidence.trust).toBe(1);
    for (let i = 0; i < 30; i++) ask(i * 30, 599 - i);
    ask(61_500, 598);
    ask(61_600, 597);
    expect(evidence.trust).toBeGreaterThan(1_000);
    evidence.refused({ ticket: 40, sentMs: 61_700, answeredMs: 61_720, remaining: 0, throttled: true, notBeforeMs: -Infinity, untilMs: 62_720 }, true);
    expect(evidence.trust).toBe(1);
  });
});
