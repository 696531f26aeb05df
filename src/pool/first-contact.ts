import type { CallResult } from '../client/types.ts';
import type { CallAnswer } from './call.ts';
import type { MillraceError } from '../util/errors.ts';
import { pagesError, unreachableError, wrongAddressError } from './fatal-errors.ts';
import { MAX_ATTEMPTS } from './retry-policy.ts';

/** The pool's view of a result: a result as usual, or the end of the run. */
interface JudgedResult {
  readonly result: CallAnswer<unknown>;
  readonly end: MillraceError | null;
}

/** How long signs of a wrong address must last. A resolver, a proxy or a pod that is only starting is ready by then. */
const DOUBT_SPAN_MS = 10_000;
/** Failures within this time are one sign: the first step of the backoff. */
const DOUBT_STEP_MS = 250;

interface FirstContactOptions {
  /** The service has answered this job before, in an earlier run. */
  readonly reached: boolean;
  readonly monotonicNow: () => number;
  /** `limits.maxOutageMs`: a run that waits for less than the span decides by then. */
  readonly maxOutageMs: number;
}

/**
 * Decides whether the data service is at the address at all. Until the first real answer, five signs of a wrong address over ten seconds
 * end the run with exit code 78, and a 404 that is no miss does so at once. Signs are a redirect (never followed), a refusal that is an
 * HTML page, and a connection fault that waiting does not mend. After that answer, all of these come from a gateway and fail one attempt.
 */
export class FirstContact {
  #reached: boolean;
  readonly #options: FirstContactOptions;
  /** The signs of a wrong address: the first, the last that counted, and how many. */
  #doubts: { readonly sinceMs: number; lastMs: number; count: number } | null = null;
  /** HTML pages in place of a record. */
  #pages = 0;
  /** Whether an answer other than a page came. */
  #hasAnsweredWithoutPage = false;

  constructor(options: FirstContactOptions) {
    this.#options = options;
    this.#reached = options.reached;
  }

  /** Whether the service has answered this job. */
  get reached(): boolean {
    return this.#reached;
  }

  /** Whether the address may be wrong. Probes come quickly until that is decided. */
  get doubted(): boolean {
    return !this.#reached && this.#doubts !== null;
  }

  judge(result: CallAnswer<unknown>): JudgedResult {
    const usual: JudgedResult = { result, end: null };
    switch (result.kind) {
      case 'ok':
      case 'miss':
      case 'suppressed':
      case 'pending':
        this.#reached = true;
        return usual;
      case 'rejected':
        if (this.#reached || result.page !== true) {
          this.#reached = true;
          return usual;
        }
        return this.#doubt(asFailure(result), () => wrongAddressError(result.meta.status, `${result.detail} (an HTML page)`));
      case 'wrong_address':
        if (result.meta.status >= 400 && !this.#reached) return usual;
        return this.#doubt(asFailure(result), () => wrongAddressError(result.meta.status, result.detail));
      case 'retryable': {
        const { fault, page, meta, detail } = result;
        if (fault !== undefined) return this.#doubt(result, () => unreachableError(fault, detail));
        if (page === true && meta.status >= 400 && meta.status < 500)
          return this.#doubt(result, () => wrongAddressError(meta.status, `${detail} (an HTML page)`));
        if (page === true && meta.status < 300) this.#pages++;
        else if (meta.status > 0 && page !== true) {
          this.#hasAnsweredWithoutPage = true;
          // A gateway whose service is down: the signs before belong to the same outage.
          this.#doubts = null;
        }
        return usual;
      }
      case 'denied':
        return this.#reached && result.isForeign === true ? { result: asFailure(result), end: null } : usual;
      case 'throttled':
        return usual;
      default:
        return result satisfies never;
    }
  }

  /**
   * The error that ends a run which has waited too long and got only web pages; null otherwise. A page with a 5xx does not count: it says
   * that the service is down.
   */
  endOfPages(forMs: number): MillraceError | null {
    return this.#reached || this.#hasAnsweredWithoutPage || this.#pages === 0 ? null : pagesError(this.#pages, forMs);
  }

  #doubt(result: CallResult<unknown>, end: () => MillraceError): JudgedResult {
    if (this.#reached) return { result, end: null };
    const now = this.#options.monotonicNow();
    this.#doubts ??= { sinceMs: now, lastMs: -Infinity, count: 0 };
    const doubts = this.#doubts;
    if (now - doubts.lastMs >= DOUBT_STEP_MS) {
      doubts.lastMs = now;
      doubts.count++;
    }
    const { maxOutageMs } = this.#options;
    // A shorter run has time for two signs.
    const [spanMs, enough] = maxOutageMs < DOUBT_SPAN_MS ? [maxOutageMs, 2] : [DOUBT_SPAN_MS, MAX_ATTEMPTS];
    return { result, end: now - doubts.sinceMs >= spanMs && doubts.count >= enough ? end() : null };
  }
}

function asFailure({ detail, meta }: { readonly detail: string; readonly meta: CallResult<unknown>['meta'] }): CallResult<unknown> {
  return { kind: 'retryable', code: `http_${meta.status}`, detail, retryAfterMs: null, meta };
}
