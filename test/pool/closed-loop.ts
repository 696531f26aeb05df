/** A closed loop of calls in virtual time: as many are in flight as the concurrency limit and the quota allow. */
import type { AdaptiveConcurrency } from '../../src/pool/adaptive-concurrency.ts';

export interface Moment {
  /** Milliseconds, and calls answered, since the start. */
  readonly at: number;
  readonly calls: number;
  readonly limit: number;
  readonly inFlight: number;
}

/**
 * Runs for `forMs` milliseconds. Returns one moment for each answer.
 * @param rpm the quota, spaced evenly; null for no quota
 * @param latencyMs the latency of a call, by the time at which it is sent and the calls in flight
 */
export function closedLoop(
  auto: AdaptiveConcurrency,
  rpm: number | null,
  forMs: number,
  latencyMs: (at: number, inFlight: number) => number,
): Moment[] {
  const moments: Moment[] = [];
  const spacing = rpm === null ? 0 : 60_000 / rpm;
  /** The calls in flight with the time of each answer and its latency, latest first. */
  const answers: { readonly at: number; readonly latencyMs: number }[] = [];
  let [now, permitAt] = [0, 0];
  for (;;) {
    const next = answers.at(-1);
    if (answers.length < auto.limit && (next === undefined || Math.max(now, permitAt) <= next.at)) {
      now = Math.max(now, permitAt);
      // Permits catch up after a late timer, by 100 ms at most.
      permitAt = Math.max(permitAt, now - 100) + spacing;
      const ms = latencyMs(now, answers.length + 1);
      insert(answers, { at: now + ms, latencyMs: ms });
      continue;
    }
    const answer = answers.pop() as (typeof answers)[number];
    now = answer.at;
    if (now > forMs) return moments;
    auto.observe(answer.latencyMs, true, answers.length + 1);
    moments.push({ at: now, calls: moments.length + 1, limit: auto.limit, inFlight: answers.length + 1 });
  }
}

function insert<T extends { readonly at: number }>(answers: T[], answer: T): void {
  let [low, high] = [0, answers.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((answers[middle] as T).at > answer.at) low = middle + 1;
    else high = middle;
  }
  answers.splice(low, 0, answer);
}

/** Answered calls per minute between two times in milliseconds. */
export function perMinute(moments: readonly Moment[], from: number, to: number): number {
  return (moments.filter(({ at }) => at >= from && at < to).length / (to - from)) * 60_000;
}
