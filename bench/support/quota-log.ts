/** The log of a limited server, and its evaluation. Server and bench share this limiter. */
import { seeded } from '../../test/support/leads.ts';
import { Bucket, Counter, Fixed, Gcra, MINUTE, mostInAMinute, Sliding, type Kind, type Limited } from '../../test/limiter/services.ts';

export interface Limits {
  readonly kind: Kind;
  readonly rpm: number;
  /** The share of the quota that another client of the same key requests. */
  readonly neighbour: number;
  readonly seed: number;
}

export type Decision = 'admitted' | 'refused' | 'neighbour admitted' | 'neighbour refused';

/** Milliseconds since the first request, and the decision, in the order of the limiter's decisions. */
export type Log = readonly (readonly [atMs: number, decision: Decision])[];

export interface Measured {
  readonly admitted: number;
  readonly refused: number;
  /**
   * Admitted requests as a share of the available ones, from the second minute on. A bucket's larger content at the end counts as used.
   * Null without a second minute.
   */
  readonly share: number | null;
  readonly mostAdmitted: number;
  readonly mostSent: number;
  /** For each second. */
  readonly admittedAt: readonly number[];
  readonly refusedAt: readonly number[];
}

export function limiterOf({ kind, rpm, seed }: Limits): Limited {
  switch (kind) {
    case 'fixed':
      return new Fixed(rpm, seeded(seed)() * MINUTE);
    case 'sliding':
      return new Sliding(rpm, false);
    case 'counter':
      return new Counter(rpm, seeded(seed)() * MINUTE);
    case 'bucket':
      return new Bucket(rpm, rpm);
    case 'gcra':
      return new Gcra(rpm, Math.max(1, Math.floor(rpm / 10)));
    default:
      return kind satisfies never;
  }
}

/** Replays the log through a new limiter, which decides as the server's did, and knows at the end how much was left. */
export function measure(log: Log, limits: Limits, endMs: number): Measured {
  const limiter = limiterOf(limits);
  const seconds = Math.ceil(endMs / 1_000);
  const admittedAt = Array.from({ length: seconds }, () => 0);
  const refusedAt = Array.from({ length: seconds }, () => 0);
  const admitted: number[] = [];
  const sent: number[] = [];
  let later = 0;
  let heldAtFirst: number | null = null;
  for (const [atMs, decision] of log) {
    if (atMs >= endMs) break;
    if (atMs > MINUTE) heldAtFirst ??= limiter.held(MINUTE);
    if (limiter.take(atMs) === decision.endsWith('refused')) throw new Error(`the log does not repeat: ${decision} at ${atMs} ms`);
    if (decision.startsWith('neighbour')) continue;
    const second = Math.floor(atMs / 1_000);
    sent.push(atMs);
    if (decision === 'refused') refusedAt[second] = (refusedAt[second] ?? 0) + 1;
    else {
      admitted.push(atMs);
      admittedAt[second] = (admittedAt[second] ?? 0) + 1;
      if (atMs > MINUTE) later++;
    }
  }
  const available = later + limiter.lapsed(endMs) + Math.max(0, limiter.held(endMs) - (heldAtFirst ?? 0));
  return {
    admitted: admitted.length,
    refused: sent.length - admitted.length,
    share: endMs <= MINUTE || available <= 0 ? null : later / available,
    mostAdmitted: mostInAMinute(admitted),
    mostSent: mostInAMinute(sent),
    admittedAt,
    refusedAt,
  };
}

/** The requests before a refused one, to explain the refusal. */
export function around(log: Log, index: number): string {
  const [atMs] = log[index] ?? [0];
  const before = log.slice(0, index);
  const count = (withinMs: number, decision: Decision): number =>
    before.filter(([at, what]) => what === decision && at > atMs - withinMs).length;
  const last = before.findLast(([, decision]) => !decision.startsWith('neighbour'));
  return (
    `429 at ${(atMs / 1_000).toFixed(3)} s: ${count(1_000, 'admitted')} admitted in the second before, ${count(MINUTE, 'admitted')} ` +
    `in the minute before, ${count(MINUTE, 'neighbour admitted')} of others; the request before it came ` +
    `${(atMs - (last?.[0] ?? 0)).toFixed(1)} ms earlier`
  );
}
