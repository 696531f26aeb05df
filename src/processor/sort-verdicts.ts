/** Which verdicts of an answer are final, and which are waited for. Pure: time is passed in. */
import { saysSuppressed } from '../client/verify-answer.ts';
import type { VerificationResult } from '../client/types.ts';
import { pendingMs } from './pending.ts';
import type { Answered } from './result.ts';

type Verdicts = ReadonlyMap<string, Answered<VerificationResult>>;

export interface SortedVerdicts {
  readonly final: Verdicts;
  /** Asked for again at `dueMs`, together. */
  readonly pending: Verdicts;
  readonly suppressed: readonly string[];
  /** Epoch milliseconds. */
  readonly dueMs: number;
}

export interface Waiting {
  /** The round in which they would be asked for again, from 1. */
  readonly round: number;
  /** When patience ends, epoch milliseconds. */
  readonly endMs: number;
  /** 0: nothing is waited for. */
  readonly patienceMs: number;
  readonly nowMs: number;
}

/**
 * @param found by address; null: the answer left it out
 * @param known what was said the time before; null: nothing
 */
export function sortVerdicts(found: ReadonlyMap<string, Answered<VerificationResult> | null>, known: Verdicts | null, { round, endMs, patienceMs, nowMs }: Waiting): SortedVerdicts {
  const final = new Map<string, Answered<VerificationResult>>();
  const pending = new Map<string, Answered<VerificationResult>>();
  const suppressed: string[] = [];
  let dueMs = nowMs;
  for (const [email, said] of found) {
    const answer = said ?? known?.get(email);
    if (answer === undefined) continue;
    if (saysSuppressed(answer.record)) {
      suppressed.push(email);
      continue;
    }
    const waitMs = said === null || patienceMs === 0 ? null : pendingMs(said.record, round, nowMs);
    // Patience would end before there is anything to learn.
    if (waitMs === null || nowMs + waitMs > endMs) {
      final.set(email, answer);
      continue;
    }
    pending.set(email, answer);
    dueMs = Math.max(dueMs, nowMs + waitMs);
  }
  return { final, pending, suppressed, dueMs };
}
