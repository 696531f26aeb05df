/**
 * Tells a service that is down from lookups that fail on their own. Pure: time is passed in.
 *
 * ## closed
 * Calls go out. It opens when `OPEN_AFTER` different lookups failed for the first time with no answer between them. With fewer lookups
 * left, it opens when one failed at its last attempt and nothing was answered meanwhile (`docs/decisions/outages.md`).
 *
 * ## open
 * One probe goes out at a time. Any answer that is not a failure closes the circuit.
 *
 * While nothing answers (no connection, a timeout, a gateway's 502 to 504), probes come at growing intervals and cost no attempts.
 * A service that answers with a failure is up, and other lookups show whether it fails for all of them. Then probes go quickly through
 * lookups that were not sent yet, and each costs an attempt. When none is left, the same lookups are sent again until their attempts are
 * used, within half of the longest outage.
 */
import type { Retryable } from '../client/types.ts';
import type { CallAnswer } from './call.ts';
import { MAX_ATTEMPTS } from './retry-policy.ts';

/** Different lookups that must fail in a row. A few lookups that the service cannot process must not look like an outage. */
export const OPEN_AFTER = 10;
const FIRST_PROBE_MS = 500;
const LONGEST_PROBE_MS = 15_000;
/** The same while the address may be wrong: a mistyped address ends the run within 15 s. */
const LONGEST_DOUBTED_PROBE_MS = 4_000;
/** Between two probes of new lookups, while the service answers. */
const FRESH_PROBE_MS = 1_000;
const SHORTEST_PROBE_MS = 100;
/** The part of the longest outage in which the remaining lookups use up their attempts. */
const TAIL_SHARE = 0.5;

/**
 * A gateway's status for a service that is down. 520 to 530 belong to the large CDNs. A redirect comes from a gateway too, and so does a
 * 401, 403 or 404 that is tried again.
 */
function isGatewayStatus(status: number): boolean {
  const isRefusal = status === 401 || status === 403 || status === 404;
  return isRefusal || (status >= 300 && status < 400) || (status >= 502 && status <= 504) || (status >= 520 && status <= 530);
}

/** Errors before a connection is open: nothing was sent. */
const NEVER_SENT = /\b(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN)\b/;

type NeverMade = Extract<CallAnswer<unknown>, { readonly kind: 'rejected' }>;

/** No request could be made of this lookup: that says nothing of the service. */
export function wasNeverMade(result: CallAnswer<unknown>): result is NeverMade {
  return result.kind === 'rejected' && result.meta.status === 0;
}

/** True when no service can have received the call. */
export function wasNeverSent(result: CallAnswer<unknown>): boolean {
  if (wasNeverMade(result)) return true;
  return result.kind === 'retryable' && result.code === 'network' && (result.fault !== undefined || NEVER_SENT.test(result.detail));
}

/**
 * Whether a failure came from the service itself, which then is up. A page instead of a record comes from a gateway, or announces
 * maintenance.
 */
export function isFromService({ code, meta, page }: Retryable): boolean {
  return (
    !(page === true && meta.status < 300) && meta.status > 0 && !isGatewayStatus(meta.status) && code !== 'network' && code !== 'timeout'
  );
}

/**
 * Milliseconds until the next probe of a service that answers with failures.
 * @param left lookups that have all failed before; 0 when there are others
 */
export function nextProbeMs(left: number, maxOutageMs: number): number {
  if (left === 0) return FRESH_PROBE_MS;
  return Math.min(LONGEST_PROBE_MS, Math.max(SHORTEST_PROBE_MS, Math.floor((maxOutageMs * TAIL_SHARE) / (MAX_ATTEMPTS * left))));
}

interface FailureContext {
  readonly againMs?: number | null;
  readonly alone?: boolean;
  readonly soon?: boolean;
}

export class Circuit {
  #failing = new Set<object>();
  #openedAt: number | null = null;
  #nextProbeAt = 0;
  #probeMs = FIRST_PROBE_MS;
  readonly #maxOutageMs: number;

  /** @param maxOutageMs the last probe goes at this age of the outage, so that no wait for a probe is longer */
  constructor(maxOutageMs = Infinity) {
    this.#maxOutageMs = maxOutageMs;
  }

  get open(): boolean {
    return this.#openedAt !== null;
  }

  /** An answer came. Returns whether this closed an open circuit. */
  answered(): boolean {
    this.#failing.clear();
    const closed = this.#openedAt !== null;
    this.#openedAt = null;
    this.#probeMs = FIRST_PROBE_MS;
    return closed;
  }

  /**
   * A call failed: no answer, or 5xx. Returns whether this opened the circuit.
   * @param lookup identifies the lookup; null for one that has failed before, which says nothing new
   * `againMs`: time until the next probe; null for growing intervals. `alone`: this lookup has used its attempts, and nothing was answered
   * meanwhile. `soon`: the address may be wrong.
   */
  failed(lookup: object | null, nowMs: number, { againMs = null, alone = false, soon = false }: FailureContext = {}): boolean {
    if (this.#openedAt !== null) {
      // A call that was in flight when the circuit opened is no probe.
      if (nowMs < this.#nextProbeAt) return false;
      const longestMs = soon ? LONGEST_DOUBTED_PROBE_MS : LONGEST_PROBE_MS;
      this.#probeMs = againMs === null ? Math.min(longestMs, this.#probeMs * 2) : FIRST_PROBE_MS;
      this.#nextProbeAt = nowMs + Math.min(longestMs, againMs ?? this.#probeMs, this.leftMs(nowMs));
      return false;
    }
    if (lookup !== null) this.#failing.add(lookup);
    if (this.#failing.size < OPEN_AFTER && !alone) return false;
    this.#openedAt = nowMs;
    this.#nextProbeAt = nowMs + Math.min(FIRST_PROBE_MS, this.#maxOutageMs);
    this.#failing.clear();
    return true;
  }

  /** Milliseconds until the next probe; 0 when closed or due. */
  waitMs(nowMs: number): number {
    return this.#openedAt === null ? 0 : Math.max(0, this.#nextProbeAt - nowMs);
  }

  /** Milliseconds that the outage may still last. */
  leftMs(nowMs: number): number {
    return Math.max(0, this.#maxOutageMs - this.outageMs(nowMs));
  }

  /** Milliseconds since the circuit opened. */
  outageMs(nowMs: number): number {
    return this.#openedAt === null ? 0 : nowMs - this.#openedAt;
  }
}
