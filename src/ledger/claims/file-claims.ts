import { busyFailure } from '../failure.ts';
import type { LedgerAnswer } from '../ledger.ts';
import { BUSY_MS } from '../schema.ts';
import { ClaimsFile } from './claims-file.ts';
import type { Presence } from './presence.ts';
import { Publisher, TRY_AGAIN_MS } from './publisher.ts';
import { WaitingAsks, type Ask } from './waiting-asks.ts';

/** Lookups that may wait for their claim before the reader waits. */
const ASKED_AT_ONCE = 64;
/** How often a run looks for others, and for their answers. */
const LOOK_EVERY_MS = 25;
/** Every so many looks, whether the others still live, and whether they have let go of something. */
const LOOKS_BETWEEN_CHECKS = 8;
/** Of the lookups that wait, so many are asked about again at each check, the longest waiting first. */
const ASKED_AGAIN_AT_ONCE = 512;
/** Of those that ask, so many in one transaction: about a millisecond. */
const EXCHANGED_AT_ONCE = 256;
export interface FileClaimsOptions {
  readonly path: string;
  readonly presence: Presence;
  readonly get: (scope: number, key: string) => LedgerAnswer | null;
  /** Takes note of what others have written, then does the work; `get` is quickest within it. */
  readonly readOthers: <T>(work: () => T) => T;
  /** False: another process is writing. */
  readonly publish: () => boolean;
  /** Monotonic milliseconds. */
  readonly monotonicNow: () => number;
  /** The run shares the ledger from now on. */
  readonly shared: () => void;
  readonly moved: () => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Which run asks for a lookup, among those that use one ledger file.
 *
 * - alone: the run asks for everything, and only remembers what it is asking for. Entered at the start, and when the last other run has left.
 * - joining: another run is there. What this one is asking for goes into the claims file, and nothing new is asked for until the others'
 *   claims are there as well. Entered when another run is seen, and after a pause in which this one's row was removed.
 * - shared: each lookup is claimed before it is asked for. What another run has claimed waits for its answer, or for its claim.
 */
export class FileClaims {
  readonly #options: FileClaimsOptions;
  #state: 'alone' | 'joining' | 'shared' = 'alone';
  #file: ClaimsFile | null = null;
  #isMember = false;
  /** Told to ask, and not published: by the key's hash. */
  readonly #own = new Set<number>();
  #asked: Ask[] = [];
  readonly #waiting = new WaitingAsks();
  /** Of those that wait, others have written an answer. */
  #arrived: number[] = [];
  readonly #publisher: Publisher;
  #released: number[] = [];
  #looks = 0;
  readonly #timer: NodeJS.Timeout;
  #exchanging: NodeJS.Timeout | 'soon' | null = null;
  #room: (() => void)[] = [];
  #settled: (() => void)[] = [];
  /** Since when another process has the claims file locked; null: nobody has. */
  #busySinceMs: number | null = null;
  #closed = false;

  constructor(options: FileClaimsOptions) {
    this.#options = options;
    const { publish, monotonicNow } = options;
    this.#publisher = new Publisher({ publish, monotonicNow, published: (hashes) => this.#published(hashes), failed: (error) => this.#fail(error) });
    this.#timer = setInterval(() => this.#guard(() => this.#look()), LOOK_EVERY_MS);
    this.#timer.unref();
    if (options.presence.others.size > 0) this.#join();
  }

  /** Lookups that others are asking for. */
  get waiting(): number {
    return this.#waiting.size;
  }

  ask(ask: Ask): void {
    if (this.#state === 'alone') {
      this.#own.add(ask.hash);
      ask.told(null);
      return;
    }
    this.#asked.push(ask);
    this.#exchangeSoon();
  }

  /** They are in the ledger: others are to find them there. */
  answered(hashes: readonly number[]): void {
    if (this.#state === 'alone') {
      for (const hash of hashes) this.#own.delete(hash);
      return;
    }
    this.#publisher.answered(hashes.filter((hash) => this.#own.has(hash)));
  }

  /** Another process has written an answer. */
  arrived(hash: number): void {
    if (this.#waiting.has(hash)) this.#arrived.push(hash);
  }

  room(): Promise<void> | null {
    if (this.#closed || this.#asked.length < ASKED_AT_ONCE) return null;
    return new Promise((resolve) => this.#room.push(resolve));
  }

  /** True: what this run has claimed is still its own. A promise: ask again then. */
  mayCall(): true | Promise<void> {
    const { presence } = this.#options;
    if (presence.holds && this.#settled.length === 0) return true;
    if (this.#closed) return true;
    if (this.#settled.length === 0) {
      // The process stood still for long, or its event loop did.
      const renewed = presence.renew('at once');
      if (renewed === true) {
        presence.look();
        if (this.#state === 'alone' && presence.others.size > 0) this.#join();
      } else if (renewed === false) {
        this.#register();
      } else {
        return new Promise((resolve) => setTimeout(resolve, TRY_AGAIN_MS));
      }
      if (this.#state !== 'joining') return true;
    }
    return new Promise((resolve) => this.#settled.push(resolve));
  }

  /** Nothing more is asked for or told. */
  stop(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    this.#publisher.stop();
    if (typeof this.#exchanging === 'object' && this.#exchanging !== null) clearTimeout(this.#exchanging);
    this.#makeRoom();
    this.#settle();
  }

  /** Lets go of all that this run has claimed; to be called when its answers are in the ledger. */
  leave(): void {
    const { presence, path } = this.#options;
    const file = this.#file;
    this.#file = null;
    try {
      file?.forget(presence.id);
    } finally {
      file?.close();
      presence.removeGone();
      presence.leave(() => ClaimsFile.remove(path));
    }
  }

  #look(): void {
    const { presence } = this.#options;
    if (presence.renew('when due') === false) this.#register();
    const changed = presence.look();
    if (this.#state === 'alone') {
      if (presence.others.size > 0) this.#join();
      return;
    }
    const check = this.#looks++ % LOOKS_BETWEEN_CHECKS === 0;
    const gone = check ? presence.removeGone() : [];
    for (const id of gone) this.#file?.forget(id);
    if (this.#state === 'joining') this.#joinOn();
    if (presence.others.size === 0 && this.#goAlone()) return;
    if (this.#state !== 'shared') return;
    this.#settleArrived();
    if (changed || gone.length > 0) this.#askAgain(Infinity);
    else if (check) this.#askAgain(ASKED_AGAIN_AT_ONCE);
  }

  #register(): void {
    const { presence, path } = this.#options;
    this.#closeFile();
    presence.register(() => ClaimsFile.remove(path));
    if (presence.others.size > 0) this.#join();
    else this.#isAlone();
  }

  #join(): void {
    this.#state = 'joining';
    this.#timer.ref();
    this.#joinOn();
  }

  /** One more step towards sharing; the next look makes another one where somebody is writing. */
  #joinOn(): void {
    const { presence, publish, path, shared } = this.#options;
    // What is answered already must be seen before the claim for it could be missed.
    if (!publish()) return;
    this.#file ??= this.#unlessBusy(ClaimsFile.open(path));
    if (this.#file === null) return;
    this.#isMember ||= this.#unlessBusy(this.#file.join(presence.id, this.#own)) !== null;
    if (!this.#isMember) return;
    const members = this.#file.members();
    if ([...presence.others.keys()].some((id) => !members.has(id))) return;
    this.#state = 'shared';
    shared();
    this.#settle();
    this.#exchangeSoon();
  }

  #goAlone(): boolean {
    const { presence, path } = this.#options;
    const isAlone = presence.whenAlone(() => {
      this.#closeFile();
      ClaimsFile.remove(path);
      return true;
    });
    if (isAlone !== true) return false;
    this.#isAlone();
    return true;
  }

  #isAlone(): void {
    this.#state = 'alone';
    this.#timer.unref();
    for (const hash of this.#publisher.stop()) this.#own.delete(hash);
    [this.#released, this.#arrived] = [[], []];
    const asks = [...this.#asked, ...this.#waiting.takeLongest(Infinity)];
    this.#asked = [];
    for (const [ask, answer] of this.#answersOf(asks)) {
      if (answer === null) this.ask(ask);
      else ask.told(answer);
    }
    this.#settle();
    this.#makeRoom();
    this.#options.moved();
  }

  #exchangeSoon(): void {
    if (this.#exchanging !== null || this.#closed) return;
    this.#exchanging = 'soon';
    // Together with all that the reader starts now.
    queueMicrotask(() => this.#guard(() => this.#exchange()));
  }

  #exchange(): void {
    this.#exchanging = null;
    if (this.#closed || this.#state !== 'shared' || this.#file === null || this.#asked.length + this.#released.length === 0) return;
    const { presence, moved } = this.#options;
    const holds = presence.holds ? true : presence.renew('at once');
    if (holds === false) {
      this.#register();
      return;
    }
    const asks = this.#asked.slice(0, EXCHANGED_AT_ONCE);
    const claimed = holds === null ? null : this.#unlessBusy(this.#file.exchange(presence.id, this.#released, asks.map(({ hash }) => hash), (id) => presence.isWaitedFor(id)));
    if (claimed === null) {
      this.#exchanging = setTimeout(() => this.#guard(() => this.#exchange()), TRY_AGAIN_MS);
      return;
    }
    this.#asked = this.#asked.slice(asks.length);
    this.#released = [];
    // Whoever had claimed it before may have published its answer and let go of it by now.
    for (const [i, [ask, answer]] of this.#answersOf(asks).entries()) {
      if (answer !== null) {
        if (claimed[i] === true) this.#released.push(ask.hash);
        ask.told(answer);
      } else if (claimed[i] === true) {
        this.#own.add(ask.hash);
        ask.told(null);
      } else {
        this.#waiting.add(ask);
      }
    }
    if (this.#asked.length > 0) this.#exchanging ??= setTimeout(() => this.#guard(() => this.#exchange()), 0);
    else if (this.#released.length > 0) this.#exchangeSoon();
    this.#makeRoom();
    moved();
  }

  /** The same. @throws 75 where the claims file has been locked for longer than a write to the ledger waits */
  #unlessBusy<T>(result: T | null): T | null {
    const { path, monotonicNow } = this.#options;
    this.#busySinceMs = result === null ? (this.#busySinceMs ?? monotonicNow()) : null;
    if (this.#busySinceMs !== null && monotonicNow() - this.#busySinceMs > BUSY_MS) throw busyFailure(path);
    return result;
  }

  #answersOf(asks: readonly Ask[]): (readonly [Ask, LedgerAnswer | null])[] {
    const { readOthers, get } = this.#options;
    return readOthers(() => asks.map((ask) => [ask, get(ask.scope, ask.key)] as const));
  }

  #settleArrived(): void {
    const { readOthers, get, moved } = this.#options;
    const found = readOthers(() => {
      const arrived = this.#arrived;
      this.#arrived = [];
      return arrived.flatMap((hash) => this.#waiting.take(hash)).map((ask) => [ask, get(ask.scope, ask.key)] as const);
    });
    if (found.length === 0) return;
    for (const [ask, answer] of found) {
      if (answer !== null) ask.told(answer);
      // What failed for the other run is asked for by this one.
      else this.#asked.push(ask);
    }
    if (this.#asked.length > 0) this.#exchangeSoon();
    moved();
  }

  /** Others may have let go of what waits, without an answer. The longest waiting first. */
  #askAgain(most: number): void {
    this.#asked.push(...this.#waiting.takeLongest(most));
    if (this.#asked.length > 0) this.#exchangeSoon();
  }

  #published(hashes: readonly number[]): void {
    for (const hash of hashes) this.#own.delete(hash);
    this.#released.push(...hashes);
    this.#exchangeSoon();
  }

  #closeFile(): void {
    this.#file?.close();
    this.#file = null;
    this.#isMember = false;
  }

  #settle(): void {
    const settled = this.#settled;
    this.#settled = [];
    for (const resolve of settled) resolve();
  }

  #makeRoom(): void {
    if (!this.#closed && this.#asked.length >= ASKED_AT_ONCE) return;
    const room = this.#room;
    this.#room = [];
    for (const resolve of room) resolve();
  }

  #guard(work: () => void): void {
    if (this.#closed) return;
    try {
      work();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.stop();
    this.#options.failed(error);
  }
}
