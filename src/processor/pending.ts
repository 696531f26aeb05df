/** Verdicts that are not final: which they are, when to ask again, and how the ledger remembers that they are waited for. Pure. */
import type { VerificationResult } from '../client/types.ts';

/** Addresses of one request that are asked about again together, so that a job which was killed sends the same request again. Times are epoch milliseconds. */
export interface PendingGroup {
  /** Names the request whose answer left them pending. */
  readonly id: string;
  /** How often they were asked about before, from 1. */
  readonly round: number;
  /** How many they are. */
  readonly size: number;
  /** When they are asked about again. */
  readonly dueMs: number;
  /** When patience ends: what is pending then stays `unknown`. */
  readonly endMs: number;
}

/** Reasons of the service's definitions for "not yet". */
const NOT_YET: readonly (string | null)[] = ['pending', 'greylisted'];
/** A service that says "not yet" and not when. */
const UNSAID_MS = 60_000;
const DAY_MS = 86_400_000;
const SHORTEST_MS = 1_000;
const LONGEST_FLOOR_MS = 60_000;

/**
 * How long until it is worth asking again, milliseconds; null: the verdict is final. Never less than a second, and longer from round to round:
 * a service whose times cannot be trusted is not asked all the time.
 */
export function pendingMs(record: VerificationResult, round: number, nowMs: number): number | null {
  if (record.result !== 'unknown') return null;
  const retryAt = timeOf(record['retry_at']);
  if (retryAt === null) return NOT_YET.includes(record.reason) ? UNSAID_MS : null;
  // By the service's own clock where it tells: ours may be wrong.
  const saidAt = timeOf(record['verified_at']);
  const waitMs = saidAt !== null && retryAt >= saidAt && retryAt - saidAt <= DAY_MS ? retryAt - saidAt : retryAt - nowMs;
  return Math.max(waitMs, Math.min(LONGEST_FLOOR_MS, SHORTEST_MS * 2 ** (round - 1)));
}

function timeOf(value: unknown): number | null {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

/** A record's JSON, on one line, and after it the group that it waits in: what the ledger keeps. */
export function withGroup(text: string, { id, round, size, dueMs, endMs }: PendingGroup): string {
  return `${text}\n${JSON.stringify([id, round, size, dueMs, endMs])}`;
}

/** What `withGroup` made, or a record's JSON alone. */
export function readGroup(kept: string): { readonly text: string; readonly group: PendingGroup | null } {
  const end = kept.indexOf('\n');
  if (end === -1) return { text: kept, group: null };
  const [id, round, size, dueMs, endMs] = JSON.parse(kept.slice(end + 1)) as [string, number, number, number, number];
  return { text: kept.slice(0, end), group: { id, round, size, dueMs, endMs } };
}
