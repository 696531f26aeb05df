/** Remembers greylisted mailboxes and when they may be asked about again. Pure. */
import { LruMap } from '../util/lru-map.ts';

const MINUTE_MS = 60_000;
/** Most greylists let a client through after 5 minutes (postgrey's default), some only after an hour. */
const RETRY_AFTER_MS = [6 * MINUTE_MS, 15 * MINUTE_MS, 60 * MINUTE_MS] as const;
/** A greylisting older than this has expired on the server. */
const FORGOTTEN_AFTER_MS = 24 * 60 * MINUTE_MS;
const MAX_MAILBOXES = 100_000;

interface Postponed {
  /** The number of times that the server postponed the mailbox. */
  readonly times: number;
  /** Epoch milliseconds; null when all retries are used. */
  readonly retryAtMs: number | null;
}

export class Greylist {
  readonly #postponed = new LruMap<string, Postponed & { readonly atMs: number }>(MAX_MAILBOXES);

  /** The earlier greylisting of `email`, due or not. */
  find(email: string, nowMs: number): Postponed | null {
    const found = this.#postponed.peek(email);
    if (found === undefined) return null;
    if (nowMs - found.atMs < FORGOTTEN_AFTER_MS) return found;
    this.#postponed.delete(email);
    return null;
  }

  /** Records another greylisting. */
  postpone(email: string, nowMs: number): Postponed {
    const times = (this.find(email, nowMs)?.times ?? 0) + 1;
    const afterMs = RETRY_AFTER_MS[times - 1];
    const postponed = { times, retryAtMs: afterMs === undefined ? null : nowMs + afterMs, atMs: nowMs };
    this.#postponed.set(email, postponed);
    return postponed;
  }

  /** Removes the mailbox after an answer. */
  settle(email: string): void {
    this.#postponed.delete(email);
  }
}
