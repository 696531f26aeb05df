import type { CallResult } from '../client/types.ts';
import type { MillraceError } from '../errors.ts';
import { pagesError, unreachableError, wrongAddressError } from './fatal-errors.ts';
import { MAX_ATTEMPTS } from './retry-policy.ts';

/** What a result means for the pool: one that is judged like any other, or the end of the run. */
export interface Judged {
  readonly result: CallResult<unknown>;
  readonly end: MillraceError | null;
}

/** How long what points to a wrong address must go on: a resolver, a proxy or a pod that is only starting is through by then. */
const DOUBT_SPAN_MS = 10_000;
/** Calls that fail within this time saw the same moment, and are one doubt: the first step of the backoff. */
const DOUBT_STEP_MS = 250;

export interface FirstContactOptions {
  /** The service has answered this job before, in an earlier run. */
  readonly reached: boolean;
  readonly monotonicNow: () => number;
  /** `limits.maxOutageMs`: a run that waits less than the span decides by then. */
  readonly maxOutageMs: number;
}

/**
 * Whether there is such a service at the address at all. Until the first real answer, what points to a wrong address ends
 * the run with 78 once it came five times over ten seconds: a redirect (never followed), a refusal that is an HTML page, a fault of the connection
 * that waiting does not mend. After it, the same comes from what stands in front of the service, and fails one attempt.
 */
export class FirstContact {
  #reached: boolean;
  readonly #options: FirstContactOptions;
  /** Moments at which a result pointed to a wrong address: the first, the last that counts, and how many. */
  #doubts: { readonly sinceMs: number; lastMs: number; count: number } | null = null;
  /** HTML pages where a record should be. */
  #pages = 0;
  /** Something else than a page was answered. */
  #spoke = false;

  constructor(options: FirstContactOptions) {
    this.#options = options;
    this.#reached = options.reached;
  }

  /** Whether the service has answered this job. */
  get reached(): boolean {
    return this.#reached;
  }

  /** Whether the address may be wrong: probes go on quickly until that is decided. */
  get doubted(): boolean {
    return !this.#reached && this.#doubts !== null;
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
        else if (meta.status > 0 && page !== true) {
          this.#spoke = true;
          // A gateway whose service is down: what came before was the same outage.
          this.#doubts = null;
        }
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
    if (this.#reached) return { result, end: null };
    const now = this.#options.monotonicNow();
    this.#doubts ??= { sinceMs: now, lastMs: -Infinity, count: 0 };
    const doubts = this.#doubts;
    if (now - doubts.lastMs >= DOUBT_STEP_MS) {
      doubts.lastMs = now;
      doubts.count++;
    }
    const { maxOutageMs } = this.#options;
    // A run that waits for less than that has time for two.
    const [spanMs, enough] = maxOutageMs < DOUBT_SPAN_MS ? [maxOutageMs, 2] : [DOUBT_SPAN_MS, MAX_ATTEMPTS];
    return { result, end: now - doubts.sinceMs >= spanMs && doubts.count >= enough ? end() : null };
  }
}

function asFailure({ detail, meta }: { readonly detail: string; readonly meta: CallResult<unknown>['meta'] }): CallResult<unknown> {
  return { kind: 'retryable', code: `http_${meta.status}`, detail, retryAfterMs: null, meta };
}
