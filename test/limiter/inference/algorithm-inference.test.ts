import { describe, expect, it } from 'vitest';
import { CallLog } from '../../../src/limiter/call-log.ts';
import { AlgorithmInference } from '../../../src/limiter/inference/algorithm-inference.ts';
import { Latencies } from '../../../src/limiter/inference/latencies.ts';
import type { Observation } from '../../../src/limiter/inference/quota-observations.ts';

const RPM = 600;
const LATENCY_MS = 20;

/** Asks one call after the other; `remaining` is what the service says, and the reset it states is at `resetMs`. */
function bed(): { inference: AlgorithmInference; ask: (atMs: number, remaining: number, resetMs?: number) => void } {
  const log = new CallLog();
  const latencies = new Latencies();
  for (let i = 0; i < 50; i++) latencies.add(LATENCY_MS, 0);
  const inference = new AlgorithmInference(RPM, log, latencies);
  let before: Observation | undefined;
  return {
    inference,
    ask: (atMs, remaining, resetMs = 60_000) => {
      const callNumber = log.sent(atMs, Infinity);
      const answeredMs = atMs + LATENCY_MS;
      log.answered(callNumber, answeredMs);
      const told: Observation = {
        callNumber,
        sentMs: atMs,
        answeredMs,
        remaining,
        throttled: false,
        notBeforeMs: resetMs - 1_000,
        untilMs: resetMs + 1_000,
      };
      inference.answered(told, RPM, before, false, before !== undefined);
      before = told;
    },
  };
}

const kinds = ({ fixedWindow: fixed, slidingWindow: sliding, bucket }: AlgorithmInference): object => ({ fixed, sliding, bucket });

describe('AlgorithmInference', () => {
  it('allows every algorithm at first', () => {
    expect(kinds(bed().inference)).toEqual({ fixed: true, sliding: true, bucket: true });
  });

  it('rules a fixed window out when permits come back before the reset', () => {
    const { inference, ask } = bed();
    for (let i = 0; i < 5; i++) ask(i * 2_000, 500);
    expect(inference.fixedWindow).toBe(false);
  });

  it('rules a fixed window out when the reset moves within the window', () => {
    const { inference, ask } = bed();
    for (let i = 0; i < 6; i++) ask(i * 3_000, 590 - i, 60_000 + i * 3_000);
    expect(kinds(inference)).toMatchObject({ fixed: false });
    const other = bed();
    for (let i = 0; i < 50; i++) other.ask(i * 3_000, 590 - (i % 20), 60_000 * (1 + Math.floor(i / 20)));
    expect(other.inference.fixedWindow).toBe(true);
  });

  it('rules a sliding window out when a call younger than a minute is given back', () => {
    const { inference, ask } = bed();
    for (let i = 0; i < 20; i++) ask(i * 100, 599 - i);
    for (let i = 0; i < 5; i++) ask(10_000 + i * 100, 590);
    expect(inference.slidingWindow).toBe(false);
  });

  it('rules a bucket out when permits come back faster than its rate', () => {
    const { inference, ask } = bed();
    for (let i = 0; i < 4; i++) {
      ask(i * 10_000, 100);
      ask(i * 10_000 + 1_000, 300);
    }
    expect(inference.bucket).toBe(false);
  });

  it('rules a bucket out when permits come back slower than its rate', () => {
    const { inference, ask } = bed();
    for (let i = 0; i < 590; i++) ask(i, 599 - i);
    for (let i = 1; i < 5; i++) ask(i * 11_000, 10 - i);
    expect(inference.hasOtherClients(50_000)).toBe(false);
    expect(inference.bucket).toBe(false);
  });

  it('detects other clients when more is spent than this run sent', () => {
    const { inference, ask } = bed();
    ask(0, 599);
    expect(inference.hasOtherClients(20)).toBe(false);
    ask(1_000, 540);
    expect(inference.hasOtherClients(1_020)).toBe(true);
    expect(inference.hasOtherClients(1_020 + 11 * 60_000)).toBe(false);
  });

  it('trusts its estimate step by step, fully after a refill as estimated, and loses the trust after a refusal', () => {
    const { inference, ask } = bed();
    expect(inference.trust.calls).toBe(1);
    for (let i = 0; i < 30; i++) ask(i * 30, 599 - i);
    ask(61_500, 598);
    ask(61_600, 597);
    expect(inference.trust.calls).toBeGreaterThan(1_000);
    inference.refused(
      { callNumber: 40, sentMs: 61_700, answeredMs: 61_720, remaining: 0, throttled: true, notBeforeMs: -Infinity, untilMs: 62_720 },
      true,
    );
    expect(inference.trust.calls).toBe(1);
  });
});
