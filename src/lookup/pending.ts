/** The poll schedule of verdicts that are not final, and the ledger entries that store it. Pure. */
import type { VerificationResult } from '../client/types.ts';

/** Addresses of one request that are polled together, so that a run after a kill sends the same request. Times are epoch milliseconds. */
export interface PendingGroup {
  /** Names the request whose answer left them pending. */
  readonly id: string;
  /** The number of requests so far, from 1. */
  readonly round: number;
  /** The number of addresses. */
  readonly size: number;
  /** When they are polled. */
  readonly dueMs: number;
  /** When polling ends: verdicts that are pending then stay `unknown`. */
  readonly endMs: number;
}

/** The reasons that mean "not yet" in the service's definitions. */
const NOT_YET: readonly (string | null)[] = ['pending', 'greylisted'];
/** The wait for a service that says "not yet" without a time. */
const UNSAID_MS = 60_000;
const DAY_MS = 86_400_000;
const SHORTEST_MS = 1_000;
const LONGEST_FLOOR_MS = 60_000;

/**
 * Milliseconds until the next poll; null when the verdict is final. At least a second, and longer from round to round, so that a service
 * with wrong times is not polled constantly.
 */
export function pendingMs(record: VerificationResult, round: number, nowMs: number): number | null {
  if (record.result !== 'unknown') return null;
  const retryAt = timeOf(record['retry_at']);
  if (retryAt === null) return NOT_YET.includes(record.reason) ? UNSAID_MS : null;
  // By the service's own clock where it states one: the local clock may be wrong.
  const saidAt = timeOf(record['verified_at']);
  const waitMs = saidAt !== null && retryAt >= saidAt && retryAt - saidAt <= DAY_MS ? retryAt - saidAt : retryAt - nowMs;
  return Math.max(waitMs, Math.min(LONGEST_FLOOR_MS, SHORTEST_MS * 2 ** (round - 1)));
}

function timeOf(value: unknown): number | null {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

/** A record's JSON on one line, then the group that polls for it: the text in the ledger. */
export function withGroup(text: string, { id, round, size, dueMs, endMs }: PendingGroup): string {
  return `${text}\n${JSON.stringify([id, round, size, dueMs, endMs])}`;
}

/** Reads the text of `withGroup`, or a record's JSON alone. */
export function readGroup(kept: string): { readonly text: string; readonly group: PendingGroup | null } {
  const end = kept.indexOf('\n');
  if (end === -1) return { text: kept, group: null };
  const [id, round, size, dueMs, endMs] = JSON.parse(kept.slice(end + 1)) as [string, number, number, number, number];
  return { text: kept.slice(0, end), group: { id, round, size, dueMs, endMs } };
}
