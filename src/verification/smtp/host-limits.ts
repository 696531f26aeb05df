/** The limits of each mail host, learnt from where it broke off: recipients a conversation, conversations at once, and waits. Pure. */
import { LruMap } from '../../util/lru-map.ts';

/** RCPT commands after which a conversation ends instead of being reused. */
const MAX_RECIPIENTS = 100;
/** The wait before the next conversation doubles with each one that breaks off, until one ends normally. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 2_000;
/** How long a host counts as alive after an answer, even if it refuses the next connection. */
const ALIVE_MS = 60_000;
/** Limits expire, because servers change them, and a measured one may be chance. */
const FORGOTTEN_AFTER_MS = 600_000;
const MAX_HOSTS = 20_000;

interface HostRecord {
  maxRecipients: number;
  maxConversations: number;
  waitMs: number;
  notBeforeMs: number;
  answeredMs: number;
  learntMs: number;
}

export class HostLimits {
  readonly #clock: () => number;
  readonly #hosts = new LruMap<string, HostRecord>(MAX_HOSTS);

  /** @param clock monotonic, milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** The number of recipients that one conversation may ask about. */
  maxRecipients(host: string): number {
    return this.#find(host)?.maxRecipients ?? MAX_RECIPIENTS;
  }

  /** The number of concurrent conversations with the host. */
  maxConversations(host: string): number {
    return this.#find(host)?.maxConversations ?? Infinity;
  }

  /** How long until another conversation may begin, milliseconds; 0: now. */
  waitMs(host: string): number {
    return Math.max(0, (this.#find(host)?.notBeforeMs ?? 0) - this.#clock());
  }

  /** True after a recent answer: then a refused connection means "too many", not "never". */
  isAlive(host: string): boolean {
    return this.#clock() - (this.#find(host)?.answeredMs ?? -Infinity) < ALIVE_MS;
  }

  /** Records that a conversation ended normally. */
  endedNormally(host: string): void {
    const record = this.#get(host);
    record.answeredMs = this.#clock();
    record.waitMs = 0;
  }

  /** Records that the host broke off after `answers` (at least one). Later conversations ask about no more recipients. */
  brokeOff(host: string, answers: number): void {
    const record = this.#get(host);
    record.answeredMs = this.#clock();
    record.maxRecipients = Math.min(record.maxRecipients, answers);
    this.#slowDown(record);
  }

  /** Records that the host refused a conversation while `open` others were open. */
  refusedAnother(host: string, open: number): void {
    const record = this.#get(host);
    record.maxConversations = Math.min(record.maxConversations, Math.max(1, open));
    this.#slowDown(record);
  }

  #slowDown(record: HostRecord): void {
    const now = this.#clock();
    record.learntMs = now;
    // Several conversations often end at the same time. Only the first one doubles the wait.
    if (record.notBeforeMs > now) return;
    record.waitMs = Math.min(LONGEST_WAIT_MS, record.waitMs === 0 ? FIRST_WAIT_MS : record.waitMs * 2);
    record.notBeforeMs = now + record.waitMs;
  }

  #find(host: string): HostRecord | null {
    const found = this.#hosts.peek(host);
    if (found === undefined) return null;
    if (this.#clock() - found.learntMs < FORGOTTEN_AFTER_MS) return found;
    this.#hosts.delete(host);
    return null;
  }

  #get(host: string): HostRecord {
    const record = this.#find(host) ?? {
      maxRecipients: MAX_RECIPIENTS,
      maxConversations: Infinity,
      waitMs: 0,
      notBeforeMs: 0,
      answeredMs: -Infinity,
      learntMs: this.#clock(),
    };
    this.#hosts.set(host, record);
    return record;
  }
}
