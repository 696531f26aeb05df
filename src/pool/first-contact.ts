import type { CallResult } from '../client/types.ts';
import type { MillraceError } from '../errors.ts';
import { pagesError, unreachableError, wrongAddressError } from './fatal-errors.ts';
import { MAX_ATTEMPTS } from './retry-policy.ts';

/** What a result means for the pool: one that is judged like any other, or the end of the run. */
export interface Judged {
  readonly result: CallResult<unknown>;
  readonly end: MillraceError | null;
}

/**
 * Whether there is such a service at the address at all. Until the first real answer, what points to a wrong address ends
 * the run with 78 at the fifth time: a redirect (never followed), a refusal that is an HTML page, a fault of the connection
 * that waiting does not mend. After it, the same comes from what stands in front of the service, and fails one attempt.
 */
export class FirstContact {
  #reached: boolean;
  /** Results that point to a wrong address. */
  #doubts = 0;
  /** HTML pages where a record should be. */
  #pages = 0;
  /** Something else than a page was answered. */
  #spoke = false;

  /** @param reached the service has answered this job before, in an earlier run */
  constructor(reached: boolean) {
    this.#reached = reached;
  }

  /** Whether the service has answered this job. */
  get reached(): boolean {
    return this.#reached;
  }

  judge(result: CallResult<unknown>): Judged {
    const usual: Judged = { result, end: null };
    switch (result.kind) {
      case 'ok':
      case 'miss':
      case 'suppressed':
        this.#reached = true;
        return usual;
      case 'rejected':
        if (this.#reached || result.page !== true) {
          this.#reached = true;
          return usual;
        }
        return this.#doubt(asFailure(result), () => wrongAddressError(result.meta.status, `${result.detail} (an HTML page)`));
      case 'wrong_address':
        if (result.meta.status >= 400) return usual;
        return this.#doubt(asFailure(result), () => wrongAddressError(result.meta.status, result.detail));
      case 'retryable': {
        const { fault, page, meta, detail } = result;
        if (fault !== undefined) return this.#doubt(result, () => unreachableError(fault, detail));
        if (page === true && meta.status < 300) this.#pages++;
        else if (meta.status > 0 && page !== true) this.#spoke = true;
        return usual;
      }
      case 'denied':
      case 'throttled':
        return usual;
      default:
        return result satisfies never;
    }
  }

  /**
   * The end of a run that has waited for too long and was never answered but with web pages; null: it was. A page with a
   * 5xx says itself that the service is down, and does not count.
   */
  endOfPages(forMs: number): MillraceError | null {
    return this.#reached || this.#spoke || this.#pages === 0 ? null : pagesError(this.#pages, forMs);
  }

  #doubt(result: CallResult<unknown>, end: () => MillraceError): Judged {
    return { result, end: !this.#reached && ++this.#doubts >= MAX_ATTEMPTS ? end() : null };
  }
}

function asFailure({ detail, meta }: { readonly detail: string; readonly meta: CallResult<unknown>['meta'] }): CallResult<unknown> {
  return { kind: 'retryable', code: `http_${meta.status}`, detail, retryAfterMs: null, meta };
}
