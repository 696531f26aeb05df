/** What a mail host puts up with, learnt from where it broke off: how much a conversation, how many at once, how soon. Pure. */

/** RCPT commands after which a conversation is ended rather than handed on. */
const MOST_ASKED = 100;
/** The wait before the next conversation doubles with each that breaks off, until one ends as it should. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 2_000;
/** How long a host that answered counts as alive, whatever it says to whoever connects next. */
const ALIVE_MS = 60_000;
/** Servers change their minds, and what was learnt may have been chance. */
const FORGOTTEN_AFTER_MS = 600_000;
const MAX_HOSTS = 20_000;

interface Manners {
  mostAsked: number;
  mostOpen: number;
  waitMs: number;
  notBeforeMs: number;
  answeredMs: number;
  learntMs: number;
}

export class HostManners {
  readonly #clock: () => number;
  readonly #hosts = new Map<string, Manners>();

  /** @param clock monotonic, milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Recipients that one conversation may ask about. */
  mostAsked(host: string): number {
    return this.#find(host)?.mostAsked ?? MOST_ASKED;
  }

  /** Conversations with the host at once. */
  mostOpen(host: string): number {
    return this.#find(host)?.mostOpen ?? Infinity;
  }

  /** How long until another conversation may begin, milliseconds; 0: now. */
  waitMs(host: string): number {
    return Math.max(0, (this.#find(host)?.notBeforeMs ?? 0) - this.#clock());
  }

  /** Whether it answered not long ago: then a refused connection says "not so many", not "never". */
  isAlive(host: string): boolean {
    return this.#clock() - (this.#find(host)?.answeredMs ?? -Infinity) < ALIVE_MS;
  }

  /** A conversation ended as it should. */
  wentWell(host: string): void {
    const manners = this.#get(host);
    manners.answeredMs = this.#clock();
    manners.waitMs = 0;
  }

  /** A conversation broke off after `answers` (at least one): the next ones ask about no more. */
  brokeOff(host: string, answers: number): void {
    const manners = this.#get(host);
    manners.answeredMs = this.#clock();
    manners.mostAsked = Math.min(manners.mostAsked, answers);
    this.#slowDown(manners);
  }

  /** It refused a conversation beside `open` others. */
  refusedAnother(host: string, open: number): void {
    const manners = this.#get(host);
    manners.mostOpen = Math.min(manners.mostOpen, Math.max(1, open));
    this.#slowDown(manners);
  }

  #slowDown(manners: Manners): void {
    const now = this.#clock();
    manners.learntMs = now;
    // Conversations end in flocks; the first of them slows down all, and the others say the same.
    if (manners.notBeforeMs > now) return;
    manners.waitMs = Math.min(LONGEST_WAIT_MS, manners.waitMs === 0 ? FIRST_WAIT_MS : manners.waitMs * 2);
    manners.notBeforeMs = now + manners.waitMs;
  }

  #find(host: string): Manners | null {
    const found = this.#hosts.get(host);
    if (found === undefined) return null;
    if (this.#clock() - found.learntMs < FORGOTTEN_AFTER_MS) return found;
    this.#hosts.delete(host);
    return null;
  }

  #get(host: string): Manners {
    const manners = this.#find(host) ?? { mostAsked: MOST_ASKED, mostOpen: Infinity, waitMs: 0, notBeforeMs: 0, answeredMs: -Infinity, learntMs: this.#clock() };
    this.#hosts.delete(host);
    this.#hosts.set(host, manners);
    if (this.#hosts.size > MAX_HOSTS) {
      const [oldest] = this.#hosts.keys();
      if (oldest !== undefined) this.#hosts.delete(oldest);
    }
    return manners;
  }
}
