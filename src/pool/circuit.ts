/**
 * Tells a service that is down from lookups that fail on their own. Pure: time is passed in.
 *
 * closed -> open: `OPEN_AFTER` different lookups failed for the first time with no answer between them.
 * open: one probe at a time, at growing intervals; failures cost no attempt. open -> closed: any answer.
 */

/** Different lookups that must fail in a row: a few that the service cannot digest must not look like an outage. */
export const OPEN_AFTER = 10;
const FIRST_PROBE_MS = 500;
const LONGEST_PROBE_MS = 15_000;

export class Circuit {
  #failing = new Set<object>();
  #openedAt: number | null = null;
  #nextProbeAt = 0;
  #probeMs = FIRST_PROBE_MS;

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
   * Returns true when this opened the circuit.
   */
  failed(lookup: object | null, nowMs: number): boolean {
    if (this.#openedAt !== null) {
      // What was in flight when it opened is no probe.
      if (nowMs < this.#nextProbeAt) return false;
      this.#probeMs = Math.min(LONGEST_PROBE_MS, this.#probeMs * 2);
      this.#nextProbeAt = nowMs + this.#probeMs;
      return false;
    }
    if (lookup !== null) this.#failing.add(lookup);
    if (this.#failing.size < OPEN_AFTER) return false;
    this.#openedAt = nowMs;
    this.#nextProbeAt = nowMs + FIRST_PROBE_MS;
    this.#failing.clear();
    return true;
  }

  /** How long to wait before the next probe; 0 when closed or due. */
  waitMs(nowMs: number): number {
    return this.#openedAt === null ? 0 : Math.max(0, this.#nextProbeAt - nowMs);
  }

  /** How long the service has been down. */
  outageMs(nowMs: number): number {
    return this.#openedAt === null ? 0 : nowMs - this.#openedAt;
  }
}
