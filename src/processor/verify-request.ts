import type { VerifyAnswer } from '../client/verify-answer.ts';
import type { Settled } from '../pool/call-pool.ts';
import type { StepContext } from './context.ts';
import { isLate, refusedAsTooLarge, waitedTooLong } from './too-large.ts';

/** How a request ended. `tooLarge`: why it should be smaller, for a sentence that begins with "verify requests"; null: it need not. */
export interface Ended {
  readonly settled: Settled<VerifyAnswer>;
  readonly latencyMs: number;
  readonly tooLarge: string | null;
}

export interface VerifyRequest {
  readonly emails: readonly string[];
  readonly body: string;
  readonly idempotencyKey: string;
  /** Attempts that fail late, before it counts as too large. */
  readonly lateAttempts: number;
}

/**
 * Hands a request to the pool. One that is too large for the service ends at once, whatever attempts are left.
 * @param limitMs longest wait for an answer; null: no request is too large
 */
export function submitVerify(context: Pick<StepContext, 'client' | 'pool'>, request: VerifyRequest, limitMs: number | null, settle: (ended: Ended) => void): void {
  const { client, pool } = context;
  const { emails, body, idempotencyKey, lateAttempts } = request;
  let latencyMs = 0;
  let late = 0;
  let why: string | null = null;
  const canBeSmaller = limitMs !== null && emails.length > 1;
  pool.submit<VerifyAnswer>({
    step: 'verify',
    divisible: canBeSmaller,
    send: async () => {
      const result = await client.callVerify(body, { idempotencyKey });
      latencyMs = result.meta.latencyMs;
      return result;
    },
    givesUp: (failure) => {
      if (!canBeSmaller) return false;
      if (isLate(failure, limitMs)) late++;
      why = waitedTooLong(failure, limitMs) ?? (late >= lateAttempts ? `failed late (${failure.code})` : null);
      return why !== null;
    },
    settle: (settled) => settle({ settled, latencyMs, tooLarge: why ?? (canBeSmaller ? refusedAsTooLarge(settled) : null) }),
  });
}
