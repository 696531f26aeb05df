import type { CallResult } from '../client/types.ts';
import { MAX_ATTEMPTS } from './retry-policy.ts';

/**
 * A redirect is never followed. Where a service was never reached, it says that the address is wrong. Once it has answered,
 * a redirect comes from what stands in front of it, and fails one attempt as a gateway's error does.
 */
export class Redirects {
  #reached: boolean;
  #count = 0;

  /** @param reached the service has answered this job before, in an earlier run */
  constructor(reached: boolean) {
    this.#reached = reached;
  }

  /** What an answer means for the pool. A run of nothing but redirects is given as many as one lookup has attempts. */
  judge(result: CallResult<unknown>): CallResult<unknown> {
    if (result.kind !== 'wrong_address' || result.meta.status >= 400) {
      this.#reached ||= ['ok', 'miss', 'suppressed', 'rejected'].includes(result.kind);
      return result;
    }
    this.#count++;
    if (!this.#reached && this.#count >= MAX_ATTEMPTS) return result;
    return { kind: 'retryable', code: `http_${result.meta.status}`, detail: result.detail, retryAfterMs: null, meta: result.meta };
  }
}
