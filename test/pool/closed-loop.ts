/** A dial in front of a service, in virtual time: whatever the limit allows and the quota permits is in flight. */
import type { AdaptiveConcurrency } from '../../src/pool/adaptive-concurrency.ts';

export interface Moment {
  /** Milliseconds, and calls answered, since the start. */
  readonly at: number;
  readonly calls: number;
  readonly limit: number;
  readonly inFlight: number;
}

/**
 * Runs for so long; a moment for each answer.
 * @param rpm the quota, spaced evenly; null: none
 * @param latencyMs of a call that is sent at a moment, as one of so many in flight
 */
export function closedLoop(dial: AdaptiveConcurrency, rpm: number | null, forMs: number, latencyMs: (at: number, inFlight: number) => number): Moment[] {
  const moments: Moment[] = [];
  const spacing = rpm === null ? 0 : 60_000 / rpm;
  /** Those in flight: when each will be answered and what it took, the last one first. */
  const answers: { readonly at: number; readonly latencyMs: number }[] = [];
  let [now, permitAt] = [0, 0];
  for (;;) {
    const next = answers.at(-1);
    if (answers.length < dial.limit && (next === undefined || Math.max(now, permitAt) <= next.at)) {
      now = Math.max(now, permitAt);
      // A timer's lateness is made up for, and no more than that.
      permitAt = Math.max(permitAt, now - 100) + spacing;
      const ms = latencyMs(now, answers.length + 1);
      insert(answers, { at: now + ms, latencyMs: ms });
      continue;
    }
    const answer = answers.pop() as (typeof answers)[number];
    now = answer.at;
    if (now > forMs) return moments;
    dial.observe(answer.latencyMs, true, answers.length + 1);
    moments.push({ at: now, calls: moments.length + 1, limit: dial.limit, inFlight: answers.length + 1 });
  }
}

function insert<T extends { readonly at: number }>(answers: T[], one: T): void {
  let [low, high] = [0, answers.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((answers[middle] as T).at > one.at) low = middle + 1;
    else high = middle;
  }
  answers.splice(low, 0, one);
}

/** Calls answered a minute between two moments. */
export function perMinute(moments: readonly Moment[], from: number, to: number): number {
  return (moments.filter(({ at }) => at >= from && at < to).length / (to - from)) * 60_000;
}
