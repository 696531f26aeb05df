import type { Ask } from './waiting-asks.ts';

/** Lookups that may wait for their claim before the reader waits. */
const ASKED_AT_ONCE = 64;
/** Of those that ask, so many in one transaction: about a millisecond. */
const EXCHANGED_AT_ONCE = 256;

/** What the next transaction on the claims file has to do, and when it is time for it. */
export class AskQueue {
  readonly #exchange: () => void;
  #asked: Ask[] = [];
  #released: number[] = [];
  #timer: NodeJS.Timeout | 'soon' | null = null;
  #room: (() => void)[] = [];
  #closed = false;

  /** @param exchange called when a transaction is due */
  constructor(exchange: () => void) {
    this.#exchange = exchange;
  }

  /** Lookups that wait for their claim. */
  get size(): number {
    return this.#asked.length;
  }

  ask(asks: readonly Ask[]): void {
    this.#asked.push(...asks);
    if (this.#asked.length > 0) this.soon();
  }

  /** These claims are given back: their answers can be seen. */
  release(hashes: readonly number[]): void {
    this.#released.push(...hashes);
    if (this.#released.length > 0) this.soon();
  }

  /** A transaction is due soon, together with all that the reader starts now. */
  soon(): void {
    if (this.#timer !== null || this.#closed || this.#asked.length + this.#released.length === 0) return;
    this.#timer = 'soon';
    queueMicrotask(() => this.#due());
  }

  /** @param ms milliseconds */
  after(ms: number): void {
    if (!this.#closed) this.#timer ??= setTimeout(() => this.#due(), ms);
  }

  /** What one transaction does; null: nothing. */
  get next(): { readonly asks: readonly Ask[]; readonly released: readonly number[] } | null {
    if (this.#closed || this.#asked.length + this.#released.length === 0) return null;
    return { asks: this.#asked.slice(0, EXCHANGED_AT_ONCE), released: this.#released };
  }

  /** What `next` told is done. */
  done({ asks }: { readonly asks: readonly Ask[] }): void {
    this.#asked = this.#asked.slice(asks.length);
    this.#released = [];
  }

  /** Nothing has to be claimed any more. Returns what asked. */
  clear(): readonly Ask[] {
    const asked = this.#asked;
    [this.#asked, this.#released] = [[], []];
    return asked;
  }

  /** Back-pressure: null when more may ask. */
  room(): Promise<void> | null {
    if (this.#closed || this.#asked.length < ASKED_AT_ONCE) return null;
    return new Promise((resolve) => this.#room.push(resolve));
  }

  makeRoom(): void {
    if (!this.#closed && this.#asked.length >= ASKED_AT_ONCE) return;
    const room = this.#room;
    this.#room = [];
    for (const resolve of room) resolve();
  }

  stop(): void {
    this.#closed = true;
    if (typeof this.#timer === 'object' && this.#timer !== null) clearTimeout(this.#timer);
    this.makeRoom();
  }

  #due(): void {
    this.#timer = null;
    this.#exchange();
  }
}
