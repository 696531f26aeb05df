/**
 * Tells a service that is down from lookups that fail on their own. Pure: time is passed in.
 *
 * closed -> open: `OPEN_AFTER` different lookups failed for the first time with no answer between them, or, where fewer are
 * left, one failed at its last attempt and nothing was answered meanwhile (`docs/decisions/outages.md`).
 * open: one probe at a time; open -> closed: any answer that is no failure.
 *
 * While nothing answers (no connection, a timeout, a gateway's 502 to 504), probes come at growing intervals and cost no
 * lookup its attempts. A service that answers with a failure is up, and whether it fails for everybody is for other lookups
 * to tell: probes go on quickly through those that were not asked yet, and each counts as an attempt. Only when there is no
 * other left, the same ones are asked again until their attempts are used up, in half of the time that an outage may take.
 */
import type { CallResult, Retryable } from '../client/types.ts';
import { MAX_ATTEMPTS } from './retry-policy.ts';

/** Different lookups that must fail in a row: a few that the service cannot digest must not look like an outage. */
export const OPEN_AFTER = 10;
const FIRST_PROBE_MS = 500;
const LONGEST_PROBE_MS = 15_000;
/** The same while the address may be wrong: a mistyped one is to end the run within 15 s. */
const LONGEST_DOUBT_MS = 4_000;
/** Between two probes of lookups that were not asked before, while the service answers. */
const FRESH_PROBE_MS = 1_000;
const SHORTEST_PROBE_MS = 100;
/** The part of the longest outage in which the lookups that are left over use up their attempts. */
const TAIL_SHARE = 0.5;

/** A gateway's words for a service that is not there; 520 to 530 are those of the large CDNs, and a redirect is nobody else's. */
function isGatewayStatus(status: number): boolean {
  return (status >= 300 && status < 400) || (status >= 502 && status <= 504) || (status >= 520 && status <= 530);
}

/** What a connection that is open never ends with: somebody looked for the service, and nothing was sent. */
const NEVER_SENT = /\b(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN)\b/;

/** Whether it is certain that no service has heard of a call. */
export function wasNeverSent(result: CallResult<unknown>): boolean {
  return result.kind === 'retryable' && result.code === 'network' && (result.fault !== undefined || NEVER_SENT.test(result.detail));
}

/** Whether a failure came from the service itself, which then is up. A page in the place of a record is a gateway's, or a maintenance page. */
export function isFromService({ code, meta, page }: Retryable): boolean {
  return !(page === true && meta.status < 300) && meta.status > 0 && !isGatewayStatus(meta.status) && code !== 'network' && code !== 'timeout';
}

/** How long until the next probe of a service that answers with failures. @param left lookups that have all failed before; 0: there are others */
export function probeAgainMs(left: number, maxOutageMs: number): number {
  if (left === 0) return FRESH_PROBE_MS;
  return Math.min(LONGEST_PROBE_MS, Math.max(SHORTEST_PROBE_MS, Math.floor((maxOutageMs * TAIL_SHARE) / (MAX_ATTEMPTS * left))));
}

export interface FailedHow {
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

  /** @param maxOutageMs the last probe goes when the service has been down for so long: no wait for one is longer */
  constructor(maxOutageMs = Infinity) {
    this.#maxOutageMs = maxOutageMs;
  }

  get open(): boolean {
    return this.#openedAt !== null;
  }

  /** An answer came, of whatever kind. Returns true when this closed an open circuit. */
  answered(): boolean {
    this.#failing.clear();
    const closed = this.#openedAt !== null;
    this.#openedAt = null;
    this.#probeMs = FIRST_PROBE_MS;
    return closed;
  }

  /**
   * No answer, or 5xx. `lookup` identifies what was asked; null: one that has failed before, which tells nothing new.
   * `againMs`: when to probe next; null: later each time. `alone`: this lookup has used up its attempts, and nothing was
   * answered meanwhile. `soon`: the address may be wrong. Returns true when this opened the circuit.
   */
  failed(lookup: object | null, nowMs: number, { againMs = null, alone = false, soon = false }: FailedHow = {}): boolean {
    if (this.#openedAt !== null) {
      // What was in flight when it opened is no probe.
      if (nowMs < this.#nextProbeAt) return false;
      const longestMs = soon ? LONGEST_DOUBT_MS : LONGEST_PROBE_MS;
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

  /** How long to wait before the next probe; 0 when closed or due. */
  waitMs(nowMs: number): number {
    return this.#openedAt === null ? 0 : Math.max(0, this.#nextProbeAt - nowMs);
  }

  /** How long it may still be down. */
  leftMs(nowMs: number): number {
    return Math.max(0, this.#maxOutageMs - this.outageMs(nowMs));
  }

  /** How long the service has been down. */
  outageMs(nowMs: number): number {
    return this.#openedAt === null ? 0 : nowMs - this.#openedAt;
  }
}
