import type { VerifyAnswer } from '../client/verify-answer.ts';
import type { RecordOrigin } from '../formats/input-record.ts';
import type { SettledCall } from '../pool/call-pool.ts';
import type { StepContext } from './step-context.ts';
import { isTimeout, refusedAsTooLarge, waitedTooLong } from './too-large.ts';

/**
 * The end of a request. `tooLarge`: the reason to make it smaller, for a sentence that begins with "verify requests"; null without one.
 * `isTooDear`: it was not sent, because the limits of the job have room for a smaller one only. That says nothing about the service.
 */
export interface EndedRequest {
  readonly settled: SettledCall<VerifyAnswer>;
  readonly latencyMs: number;
  readonly tooLarge: string | null;
  readonly isTooDear: boolean;
}

export interface VerifyBatchRequest {
  readonly emails: readonly string[];
  /** The first record that asks for the first address. */
  readonly origin: RecordOrigin | null;
  readonly body: string;
  readonly idempotencyKey: string;
  /** The name of a promise to answer this request later; null without one. */
  readonly ticket: string | null;
  /** The provider answers later: from now on it is asked with this ticket. */
  readonly promised: (ticket: string) => void;
  /** Late failures after which the request counts as too large. */
  readonly lateAttempts: number;
}

/**
 * Hands a request to the pool. A request that is too large ends at once, whatever attempts are left. @param limitMs the longest wait for an
 * answer; null when no request is too large
 */
export function submitVerify(
  context: Pick<StepContext, 'client' | 'pool'>,
  request: VerifyBatchRequest,
  limitMs: number | null,
  settle: (ended: EndedRequest) => void,
): void {
  const { client, pool } = context;
  const { emails, origin, body, idempotencyKey, lateAttempts, promised } = request;
  let { ticket } = request;
  let latencyMs = 0;
  let late = 0;
  let why: string | null = null;
  let isTooDear = false;
  const canBeSmaller = limitMs !== null && emails.length > 1;
  pool.submit<VerifyAnswer>({
    step: 'verify',
    keys: emails.length,
    origin,
    divisible: canBeSmaller,
    send: async () => {
      const result = await client.callVerify(body, ticket === null ? { idempotencyKey } : { idempotencyKey, ticket });
      latencyMs = result.meta.latencyMs;
      return result;
    },
    promised: (next) => {
      if (next === ticket) return;
      ticket = next;
      promised(next);
    },
    isTooDear: () => (isTooDear = emails.length > 1),
    givesUp: (failure) => {
      // With a ticket the provider has the request already: its size is no matter.
      if (!canBeSmaller || ticket !== null) return false;
      if (isTimeout(failure, limitMs)) late++;
      why = waitedTooLong(failure, limitMs) ?? (late >= lateAttempts ? `failed late (${failure.code})` : null);
      return why !== null;
    },
    settle: (settled) => settle({ settled, latencyMs, isTooDear, tooLarge: why ?? (canBeSmaller ? refusedAsTooLarge(settled) : null) }),
  });
}
