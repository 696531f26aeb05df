import type { Wait } from '../../util/waits.ts';
import { BusyClock } from './busy-clock.ts';
import { ClaimExchange } from './claim-exchange.ts';
import { ClaimsFile } from './claims-file.ts';
import type { FileClaimsOptions } from './file-claims-options.ts';
import { Membership } from './membership.ts';
import { Publisher } from './publisher.ts';
import type { ClaimAsk } from './waiting-asks.ts';

/** The interval at which a run looks for other runs and their answers. */
const POLL_MS = 25;
/** Polls between two checks for ended runs and released claims. */
const POLLS_BETWEEN_CHECKS = 8;
/** Waiting lookups that are claimed again at each check, the longest waiting first. */
const CLAIMED_AGAIN_AT_ONCE = 512;

/**
 * Decides which run asks for a lookup, among the runs that use one ledger file.
 *
 * ## alone
 * The run asks for everything, and only remembers what it asks for. Entered at the start, and when the last other run has left.
 *
 * ## joining
 * Another run is there. This run writes its claims into the claims file, and asks for nothing new until the others' claims are there too.
 * Entered when another run appears, and after a pause in which this run's row was removed.
 *
 * ## shared
 * Each lookup is claimed before it is asked for. A lookup that another run has claimed waits for its answer, or for the claim. Entered once
 * the claims of all runs are in the claims file.
 */
export class FileClaims {
  readonly #options: FileClaimsOptions;
  #state: 'alone' | 'joining' | 'shared' = 'alone';
  readonly #membership: Membership;
  /** For the renewals of this run's row in the ledger. */
  readonly #renewals: BusyClock;
  readonly #exchange: ClaimExchange;
  /** While alone, the seeds of ended runs: see `ClaimsFile.leftBehind`. */
  #leftBehind = new Map<number, string>();
  readonly #publisher: Publisher;
  #polls = 0;
  readonly #timer: NodeJS.Timeout;
  #settled: (() => void)[] = [];
  #closed = false;

  constructor(options: FileClaimsOptions) {
    this.#options = options;
    const { path, presence, keySeed, publish, monotonicNow } = options;
    this.#membership = new Membership({ path, presence, keySeed, monotonicNow });
    this.#renewals = new BusyClock(path, monotonicNow);
    this.#exchange = new ClaimExchange({
      ...options,
      membership: this.#membership,
      renewals: this.#renewals,
      isShared: () => this.#state === 'shared',
      register: () => this.#register(),
      guard: (work) => this.#guard(work),
    });
    this.#publisher = new Publisher({
      path,
      publish,
      monotonicNow,
      published: (hashes) => this.#exchange.published(hashes),
      failed: (error) => this.#fail(error),
    });
    this.#timer = setInterval(() => this.#guard(() => this.#poll()), POLL_MS);
    this.#timer.unref();
    if (presence.others.size > 0) this.#join();
  }

  /** Lookups that other runs are asking for. */
  get waiting(): number {
    return this.#exchange.waiting;
  }

  /** The reason why lookups cannot be claimed, or claimed ones not be sent; null without one. */
  get joining(): Wait | null {
    const { untilMs } = this.#renewals;
    if (this.#closed) return null;
    if (untilMs !== null && !this.#options.presence.holds)
      return { reason: 'claim', what: 'another process to finish its write to the ledger', untilMs };
    if (this.#exchange.queue.size + this.#settled.length === 0) return null;
    return this.#state === 'joining' || this.#membership.isBusy ? this.#membership.wait : null;
  }

  ask(ask: ClaimAsk): void {
    if (this.#state === 'alone') {
      this.#exchange.own.add(ask.hash);
      ask.onAnswer(null, this.#leftBehind.get(ask.hash));
      return;
    }
    this.#exchange.queue.ask([ask]);
  }

  /** Publishes answers that are in the ledger. */
  answered(hashes: readonly number[]): void {
    if (this.#state === 'alone') {
      for (const hash of hashes) {
        this.#exchange.own.delete(hash);
        this.#leftBehind.delete(hash);
      }
      return;
    }
    this.#publisher.answered(hashes.filter((hash) => this.#exchange.own.has(hash)));
  }

  /** Leaves lookups without an answer to other runs. */
  release(hashes: readonly number[]): void {
    const own = hashes.filter((hash) => this.#exchange.own.delete(hash));
    if (this.#state !== 'alone') this.#exchange.queue.leave(own);
  }

  /** Another process has written an answer. */
  arrived(hash: number): void {
    this.#exchange.arrived(hash);
  }

  room(): Promise<void> | null {
    return this.#exchange.queue.room();
  }

  /**
   * True while this run's claims hold. After a promise, ask again. @throws MillraceError 75 when another process keeps the ledger locked
   */
  mayCall(): true | Promise<void> {
    const { presence } = this.#options;
    if (presence.holds && this.#settled.length === 0) return true;
    if (this.#closed) return true;
    if (this.#settled.length === 0) {
      // The process or its event loop was paused for longer than the lease.
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

  /** Asks for nothing more and calls no listener. */
  stop(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    this.#publisher.stop();
    this.#exchange.queue.stop();
    this.#settle();
  }

  /** Releases all claims of this run. Call it when its answers are in the ledger. */
  leave(): void {
    const { presence, path } = this.#options;
    try {
      this.#membership.leave();
    } finally {
      presence.removeGone();
      presence.leave(() => ClaimsFile.remove(path));
    }
  }

  #poll(): void {
    const { presence } = this.#options;
    this.#renew();
    const changed = presence.look();
    if (this.#state === 'alone') {
      if (presence.others.size > 0) this.#join();
      return;
    }
    const check = this.#polls++ % POLLS_BETWEEN_CHECKS === 0;
    const gone = check ? presence.removeGone() : [];
    for (const id of gone) this.#membership.forget(id);
    if (this.#state === 'joining') this.#joinStep();
    if (presence.others.size === 0 && this.#goAlone()) return;
    if (this.#state !== 'shared') return;
    this.#exchange.settleArrived();
    if (changed || gone.length > 0) this.#exchange.claimAgain(Infinity);
    else if (check) this.#exchange.claimAgain(CLAIMED_AGAIN_AT_ONCE);
  }

  /** A failed renewal is tried again at the next poll. It matters only to calls that need the renewed row. */
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
    this.#joinStep();
  }

  /** One more step towards sharing. While another process writes, the next poll tries again. */
  #joinStep(): void {
    const { publish, shared } = this.#options;
    // Answers must be visible before other runs could miss their claims.
    if (!publish() || !this.#membership.join(this.#exchange.own, this.#leftBehind)) return;
    this.#leftBehind.clear();
    this.#state = 'shared';
    shared();
    this.#settle();
    this.#exchange.queue.soon();
  }

  #goAlone(): boolean {
    const { presence, path } = this.#options;
    const isAlone = presence.whenAlone(() => {
      this.#leftBehind = new Map(this.#membership.leftBehind());
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
      this.#exchange.own.delete(hash);
      this.#leftBehind.delete(hash);
    }
    for (const [ask, answer] of this.#exchange.takeAll()) {
      if (answer === null) this.ask(ask);
      else ask.onAnswer(answer);
    }
    this.#settle();
    this.#exchange.queue.makeRoom();
    this.#options.moved();
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
