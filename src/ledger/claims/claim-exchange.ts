import type { LedgerAnswer } from '../ledger.ts';
import { AskQueue } from './ask-queue.ts';
import type { BusyClock } from './busy-clock.ts';
import type { FileClaimsOptions } from './file-claims-options.ts';
import type { Membership } from './membership.ts';
import { WaitingAsks, type ClaimAsk } from './waiting-asks.ts';

interface ClaimExchangeOptions extends Pick<FileClaimsOptions, 'presence' | 'get' | 'readOthers' | 'moved'> {
  readonly membership: Membership;
  /** For the renewals of this run's row in the ledger. */
  readonly renewals: BusyClock;
  /** True while lookups are claimed in the claims file. */
  readonly isShared: () => boolean;
  /** Called when this run's row in the ledger was removed. */
  readonly register: () => void;
  /** Runs the work of a timer; an error ends the run. */
  readonly guard: (work: () => void) => void;
}

/** Claims lookups in the claims file, and holds those that other runs have claimed until they have an answer or are released. */
export class ClaimExchange {
  readonly #options: ClaimExchangeOptions;
  /** Claimed lookups whose answers are not published, by hash. */
  readonly own = new Set<number>();
  /** Lookups that wait for their claim, and released claims. */
  readonly queue: AskQueue;
  readonly #waiting = new WaitingAsks();
  /** Waiting lookups that another process has answered. */
  #arrived: number[] = [];

  constructor(options: ClaimExchangeOptions) {
    this.#options = options;
    this.queue = new AskQueue(() => options.guard(() => this.#exchange()));
  }

  /** Lookups that other runs are asking for. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Another process has written an answer. */
  arrived(hash: number): void {
    if (this.#waiting.has(hash)) this.#arrived.push(hash);
  }

  /** The answers of these lookups are visible to other runs. */
  published(hashes: readonly number[]): void {
    for (const hash of hashes) this.own.delete(hash);
    this.queue.release(hashes);
  }

  /** Answers the waiting lookups that other processes have answered. */
  settleArrived(): void {
    const { readOthers, get, moved } = this.#options;
    const found = readOthers(() => {
      const arrived = this.#arrived;
      this.#arrived = [];
      return arrived.flatMap((hash) => this.#waiting.take(hash)).map((ask) => [ask, get(ask)] as const);
    });
    if (found.length === 0) return;
    for (const [ask, answer] of found) if (answer !== null) ask.onAnswer(answer);
    // This run asks for what failed in the other one.
    this.queue.ask(found.flatMap(([ask, answer]) => (answer === null ? [ask] : [])));
    moved();
  }

  /** Claims waiting lookups again, since other runs may have released claims without an answer. @param most the longest waiting first */
  claimAgain(most: number): void {
    this.queue.ask(this.#waiting.takeLongest(most));
  }

  /** Takes all lookups that wait for a claim or for another run, with the answers that exist by now. */
  takeAll(): (readonly [ClaimAsk, LedgerAnswer | null])[] {
    this.#arrived = [];
    return this.#answersOf([...this.queue.clear(), ...this.#waiting.takeLongest(Infinity)]);
  }

  /** One transaction on the claims file: releases claims and claims the next lookups. */
  #exchange(): void {
    const { next } = this.queue;
    const { presence, membership, renewals, isShared, register, moved } = this.#options;
    if (!isShared() || next === null) return;
    const holds = presence.holds ? true : renewals.unlessBusy(presence.renew('at once'));
    if (holds === false) {
      register();
      return;
    }
    const { asks } = next;
    const hashes = asks.map(({ hash }) => hash);
    const claimed = holds === null ? null : membership.exchange(next, hashes);
    if (claimed === null) {
      this.queue.after((holds === null ? renewals : membership).pauseMs);
      return;
    }
    this.queue.done(next);
    // The rest waits for the next turn of the event loop.
    if (this.queue.size > 0) this.queue.after(0);
    // The run that had claimed a lookup may have published its answer and released it by now.
    for (const [i, [ask, answer]] of this.#answersOf(asks).entries()) {
      if (answer !== null) {
        if (claimed[i]?.isOwn === true) this.queue.release([ask.hash]);
        ask.onAnswer(answer);
      } else if (claimed[i]?.isOwn === true) {
        this.own.add(ask.hash);
        ask.onAnswer(null, claimed[i].seed);
      } else {
        this.#waiting.add(ask);
      }
    }
    this.queue.makeRoom();
    moved();
  }

  #answersOf(asks: readonly ClaimAsk[]): (readonly [ClaimAsk, LedgerAnswer | null])[] {
    const { readOthers, get } = this.#options;
    return readOthers(() => asks.map((ask) => [ask, get(ask)] as const));
  }
}
