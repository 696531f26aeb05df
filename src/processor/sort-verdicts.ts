/** Separates the final verdicts of an answer from those to poll. Pure: time is passed in. */
import { saysSuppressed } from '../client/verify-answer.ts';
import type { VerificationResult } from '../client/types.ts';
import { pendingMs } from './pending.ts';
import type { StepAnswer } from './result.ts';

type Verdicts = ReadonlyMap<string, StepAnswer<VerificationResult>>;

export interface SortedVerdicts {
  readonly final: Verdicts;
  /** Polled together at `dueMs`. */
  readonly pending: Verdicts;
  readonly suppressed: readonly string[];
  /** Epoch milliseconds. */
  readonly dueMs: number;
}

export interface Waiting {
  /** The round of the next poll, from 1. */
  readonly round: number;
  /** When polling ends, epoch milliseconds. */
  readonly endMs: number;
  /** 0 for no polling. */
  readonly pollForMs: number;
  readonly nowMs: number;
}

/** @param found by address; null when the answer left it out @param known the verdicts of the round before; null in the first */
export function sortVerdicts(
  found: ReadonlyMap<string, StepAnswer<VerificationResult> | null>,
  known: Verdicts | null,
  { round, endMs, pollForMs, nowMs }: Waiting,
): SortedVerdicts {
  const final = new Map<string, StepAnswer<VerificationResult>>();
  const pending = new Map<string, StepAnswer<VerificationResult>>();
  const suppressed: string[] = [];
  let dueMs = nowMs;
  for (const [email, said] of found) {
    const answer = said ?? known?.get(email);
    if (answer === undefined) continue;
    if (saysSuppressed(answer.record)) {
      suppressed.push(email);
      continue;
    }
    const waitMs = said === null || pollForMs === 0 ? null : pendingMs(said.record, round, nowMs);
    // Polling would end before the next answer.
    if (waitMs === null || nowMs + waitMs > endMs) {
      final.set(email, answer);
      continue;
    }
    pending.set(email, answer);
    dueMs = Math.max(dueMs, nowMs + waitMs);
  }
  return { final, pending, suppressed, dueMs };
}
