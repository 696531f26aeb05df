import type { Wait } from '../../waits.ts';
import type { LedgerAnswer } from '../ledger.ts';
import { AskQueue } from './ask-queue.ts';
import { BusyClock } from './busy-clock.ts';
import { ClaimsFile } from './claims-file.ts';
import type { FileClaimsOptions } from './file-claims-options.ts';
import { Membership } from './membership.ts';
import { Publisher } from './publisher.ts';
import { WaitingAsks, type Ask } from './waiting-asks.ts';

/** How often a run looks for others, and for their answers. */
const LOOK_EVERY_MS = 25;
/** Every so many looks, whether the others still live, and whether they have let go of something. */
const LOOKS_BETWEEN_CHECKS = 8;
/** Of the lookups that wait, so many are asked about again at each check, the longest waiting first. */
const ASKED_AGAIN_AT_ONCE = 512;

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
  readonly #membership: Membership;
  /** Of the renewals of this run's row in the ledger. */
  readonly #renewals: BusyClock;
  /** Told to ask, and not published: by the key's hash. */
  readonly #own = new Set<number>();
  /** While it is alone: see `ClaimsFile.leftBehind`. */
  #left = new Map<number, string>();
  readonly #asked: AskQueue;
  readonly #waiting = new WaitingAsks();
  /** Of those that wait, others have written an answer. */
  #arrived: number[] = [];
  readonly #publisher: Publisher;
  #looks = 0;
  readonly #timer: NodeJS.Timeout;
  #settled: (() => void)[] = [];
  #closed = false;

  constructor(options: FileClaimsOptions) {
    this.#options = options;
    const { path, presence, keySeed, publish, monotonicNow } = options;
    this.#membership = new Membership({ path, presence, keySeed, monotonicNow });
    this.#renewals = new BusyClock(path, monotonicNow);
    this.#asked = new AskQueue(() => this.#guard(() => this.#exchange()));
    this.#publisher = new Publisher({ path, publish, monotonicNow, published: (hashes) => this.#published(hashes), failed: (error) => this.#fail(error) });
    this.#timer = setInterval(() => this.#guard(() => this.#look()), LOOK_EVERY_MS);
    this.#timer.unref();
    if (presence.others.size > 0) this.#join();
  }

  /** Lookups that others are asking for. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** What it waits for until it can claim what it was asked, or send what it has claimed; null: nothing. */
  get joining(): Wait | null {
    const { untilMs } = this.#renewals;
    if (this.#closed) return null;
    if (untilMs !== null && !this.#options.presence.holds) return { reason: 'claim', what: 'another process to finish its write to the ledger', untilMs };
    if (this.#asked.size + this.#settled.length === 0) return null;
    return this.#state === 'joining' || this.#membership.isBusy ? this.#membership.wait : null;
  }

  ask(ask: Ask): void {
    if (this.#state === 'alone') {
      this.#own.add(ask.hash);
      ask.told(null, this.#left.get(ask.hash));
      return;
    }
    this.#asked.ask([ask]);
  }

  /** They are in the ledger: others are to find them there. */
  answered(hashes: readonly number[]): void {
    if (this.#state === 'alone') {
      for (const hash of hashes) {
        this.#own.delete(hash);
        this.#left.delete(hash);
      }
      return;
    }
    this.#publisher.answered(hashes.filter((hash) => this.#own.has(hash)));
  }

  /** Another process has written an answer. */
  arrived(hash: number): void {
    if (this.#waiting.has(hash)) this.#arrived.push(hash);
  }

  room(): Promise<void> | null {
    return this.#asked.room();
  }

  /** True: what this run has claimed is still its own. A promise: ask again then. @throws 75 where another process keeps the ledger locked */
  mayCall(): true | Promise<void> {
    const { presence } = this.#options;
    if (presence.holds && this.#settled.length === 0) return true;
    if (this.#closed) return true;
    if (this.#settled.length === 0) {
      // The process stood still for long, or its event loop did.
      const renewed = this.#renewals.unlessBusy(presence.renew('at once'));
      if (renewed === true) {
        presence.look();
        if (this.#state === 'alone' && presence.others.size > 0) this.#join();
      } else if (renewed === false) {
        this.#register();
      } else {
        return new Promise((resolve) => setTimeout(resolve, this.#renewals.pauseMs));
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
    this.#asked.stop();
    this.#settle();
  }

  /** Lets go of all that this run has claimed; to be called when its answers are in the ledger. */
  leave(): void {
    const { presence, path } = this.#options;
    try {
      this.#membership.leave();
    } finally {
      presence.removeGone();
      presence.leave(() => ClaimsFile.remove(path));
    }
  }

  #look(): void {
    const { presence } = this.#options;
    this.#renew();
    const changed = presence.look();
    if (this.#state === 'alone') {
      if (presence.others.size > 0) this.#join();
      return;
    }
    const check = this.#looks++ % LOOKS_BETWEEN_CHECKS === 0;
    const gone = check ? presence.removeGone() : [];
    for (const id of gone) this.#membership.forget(id);
    if (this.#state === 'joining') this.#joinOn();
    if (presence.others.size === 0 && this.#goAlone()) return;
    if (this.#state !== 'shared') return;
    this.#settleArrived();
    if (changed || gone.length > 0) this.#askAgain(Infinity);
    else if (check) this.#askAgain(ASKED_AGAIN_AT_ONCE);
  }

  /** The next look tries again where it is refused: only what cannot go on without it counts that time. */
  #renew(): void {
    const renewed = this.#options.presence.renew('when due');
    if (renewed !== null) this.#renewals.unlessBusy(renewed);
    if (renewed === false) this.#register();
  }

  #register(): void {
    const { presence, path } = this.#options;
    this.#membership.close();
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
    const { publish, shared } = this.#options;
    // What is answered already must be seen before the claim for it could be missed.
    if (!publish() || !this.#membership.join(this.#own, this.#left)) return;
    this.#left.clear();
    this.#state = 'shared';
    shared();
    this.#settle();
    this.#asked.soon();
  }

  #goAlone(): boolean {
    const { presence, path } = this.#options;
    const isAlone = presence.whenAlone(() => {
      this.#left = new Map(this.#membership.leftBehind());
      this.#membership.close();
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
    for (const hash of this.#publisher.stop()) {
      this.#own.delete(hash);
      this.#left.delete(hash);
    }
    this.#arrived = [];
    const asks = [...this.#asked.clear(), ...this.#waiting.takeLongest(Infinity)];
    for (const [ask, answer] of this.#answersOf(asks)) {
      if (answer === null) this.ask(ask);
      else ask.told(answer);
    }
    this.#settle();
    this.#asked.makeRoom();
    this.#options.moved();
  }

  #exchange(): void {
    const { next } = this.#asked;
    if (this.#state !== 'shared' || next === null) return;
    const { presence, moved } = this.#options;
    const holds = presence.holds ? true : this.#renewals.unlessBusy(presence.renew('at once'));
    if (holds === false) {
      this.#register();
      return;
    }
    const { asks, released } = next;
    const claimed = holds === null ? null : this.#membership.exchange(released, asks.map(({ hash }) => hash));
    if (claimed === null) {
      this.#asked.after((holds === null ? this.#renewals : this.#membership).pauseMs);
      return;
    }
    this.#asked.done(next);
    // What is left lets the event loop go on first.
    if (this.#asked.size > 0) this.#asked.after(0);
    // Whoever had claimed it before may have published its answer and let go of it by now.
    for (const [i, [ask, answer]] of this.#answersOf(asks).entries()) {
      if (answer !== null) {
        if (claimed[i]?.isOwn === true) this.#asked.release([ask.hash]);
        ask.told(answer);
      } else if (claimed[i]?.isOwn === true) {
        this.#own.add(ask.hash);
        ask.told(null, claimed[i].seed);
      } else {
        this.#waiting.add(ask);
      }
    }
    this.#asked.makeRoom();
    moved();
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
    for (const [ask, answer] of found) if (answer !== null) ask.told(answer);
    // What failed for the other run is asked for by this one.
    this.#asked.ask(found.flatMap(([ask, answer]) => (answer === null ? [ask] : [])));
    moved();
  }

  /** Others may have let go of what waits, without an answer. The longest waiting first. */
  #askAgain(most: number): void {
    this.#asked.ask(this.#waiting.takeLongest(most));
  }

  #published(hashes: readonly number[]): void {
    for (const hash of hashes) this.#own.delete(hash);
    this.#asked.release(hashes);
  }

  #settle(): void {
    const settled = this.#settled;
    this.#settled = [];
    for (const resolve of settled) resolve();
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
