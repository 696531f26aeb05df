import type { GivenClaims } from './claims-file.ts';
import type { ClaimAsk } from './waiting-asks.ts';

/** Lookups that may wait for their claim before the reader waits. */
const ASKED_AT_ONCE = 64;
/** Lookups claimed in one transaction: about a millisecond. */
const EXCHANGED_AT_ONCE = 256;

/** The work of one transaction on the claims file. */
interface Work extends GivenClaims {
  readonly asks: readonly ClaimAsk[];
}

/** The work of the next transaction on the claims file, and when it is due. */
export class AskQueue {
  readonly #exchange: () => void;
  #asked: ClaimAsk[] = [];
  #released: number[] = [];
  #left: number[] = [];
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

  ask(asks: readonly ClaimAsk[]): void {
    this.#asked.push(...asks);
    if (this.#asked.length > 0) this.soon();
  }

  /** Releases claims whose answers are visible to other runs. */
  release(hashes: readonly number[]): void {
    this.#released.push(...hashes);
    if (this.#released.length > 0) this.soon();
  }

  /** Gives claims up without an answer. */
  leave(hashes: readonly number[]): void {
    this.#left.push(...hashes);
    if (this.#left.length > 0) this.soon();
  }

  /** A transaction is due soon, together with all that the reader starts now. */
  soon(): void {
    if (this.#timer !== null || this.#closed || this.#isEmpty) return;
    this.#timer = 'soon';
    queueMicrotask(() => this.#due());
  }

  /** @param ms milliseconds */
  after(ms: number): void {
    if (!this.#closed) this.#timer ??= setTimeout(() => this.#due(), ms);
  }

  /** The work of one transaction; null without any. */
  get next(): Work | null {
    if (this.#closed || this.#isEmpty) return null;
    return { asks: this.#asked.slice(0, EXCHANGED_AT_ONCE), released: this.#released, left: this.#left };
  }

  /** The work of `next` is done. */
  done({ asks }: Work): void {
    this.#asked = this.#asked.slice(asks.length);
    [this.#released, this.#left] = [[], []];
  }

  /** Claims are no longer needed. Returns the lookups that waited for one. */
  clear(): readonly ClaimAsk[] {
    const asked = this.#asked;
    [this.#asked, this.#released, this.#left] = [[], [], []];
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

  get #isEmpty(): boolean {
    return this.#asked.length + this.#released.length + this.#left.length === 0;
  }

  #due(): void {
    this.#timer = null;
    this.#exchange();
  }
}
