/** Mailboxes whose servers said "later": when they may be asked again. Pure. */

const MINUTE_MS = 60_000;
/** Greylisting opens after 5 minutes as a rule; some wait longer (postgrey's default is 5, others take an hour). */
const AGAIN_AFTER_MS = [6 * MINUTE_MS, 15 * MINUTE_MS, 60 * MINUTE_MS] as const;
/** A server that still says "later" after so long has forgotten, or never meant to. */
const FORGOTTEN_AFTER_MS = 24 * 60 * MINUTE_MS;
const MAX_MAILBOXES = 100_000;

export interface Postponed {
  /** Times that the server said so. */
  readonly times: number;
  /** Epoch milliseconds; null: it was asked often enough. */
  readonly retryAtMs: number | null;
}

export class Greylist {
  readonly #postponed = new Map<string, Postponed & { readonly atMs: number }>();

  /** What was said of `email` before, whether or not it is time to ask again. */
  find(email: string, nowMs: number): Postponed | null {
    const found = this.#postponed.get(email);
    if (found === undefined) return null;
    if (nowMs - found.atMs < FORGOTTEN_AFTER_MS) return found;
    this.#postponed.delete(email);
    return null;
  }

  /** Its server said "later" again. */
  postpone(email: string, nowMs: number): Postponed {
    const times = (this.find(email, nowMs)?.times ?? 0) + 1;
    const afterMs = AGAIN_AFTER_MS[times - 1];
    const postponed = { times, retryAtMs: afterMs === undefined ? null : nowMs + afterMs, atMs: nowMs };
    this.#postponed.delete(email);
    this.#postponed.set(email, postponed);
    if (this.#postponed.size > MAX_MAILBOXES) {
      const [oldest] = this.#postponed.keys();
      if (oldest !== undefined) this.#postponed.delete(oldest);
    }
    return postponed;
  }

  /** Its server answered. */
  settle(email: string): void {
    this.#postponed.delete(email);
  }
}
