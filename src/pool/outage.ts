import type { Retryable } from '../client/types.ts';
import type { Task } from './call.ts';
import { Circuit, isFromService, probeAgainMs, wasNeverSent } from './circuit.ts';
import { MAX_ATTEMPTS } from './retry-policy.ts';
import type { Slots } from './slots.ts';
import type { Timers } from './timers.ts';

/** The part of the longest outage after which the last lookups of a service that answers, but only with failures, are given up. */
const FEW_SHARE = 0.2;

export interface OutageOptions {
  readonly slots: Slots;
  readonly timers: Timers;
  readonly monotonicNow: () => number;
  readonly maxOutageMs: number;
  /** Whether the service has ever answered this job. */
  readonly isKnown: () => boolean;
  /** Whether the address may be wrong. */
  readonly isDoubted: () => boolean;
  /** Every lookup has failed in an earlier run, beside others that were answered: it may be these that break the service. */
  readonly asksAgain: boolean;
  /** Takes a lookup that is to be asked as a probe. */
  readonly probe: (task: Task) => void;
}

/**
 * What the pool does while the circuit is open: everything stands still, and one call at a time goes out as a probe.
 * Lookups that failed meanwhile are parked here.
 */
export class Outage {
  readonly #options: OutageOptions;
  readonly #circuit: Circuit;
  /** Failed while the circuit was open: probed again when there is nothing else to probe. */
  #parked: Task[] = [];
  /** The circuit opened because the last lookups failed, and not because many in a row did. */
  #few = false;
  /** The code of the last failure; '' where the service is certainly at fault, and not the lookup. */
  #doubtfulCode = '';
  /** The most that were parked since the circuit opened. */
  #mostParked = 0;
  /** Calls that the service has answered, whatever it said but "later" and "failed". */
  #answers = 0;

  constructor(options: OutageOptions) {
    this.#options = options;
    this.#circuit = new Circuit(options.maxOutageMs);
  }

  get open(): boolean {
    return this.#circuit.open;
  }

  /** How long until the next probe; 0 while one is out. */
  get probeInMs(): number {
    return this.#circuit.waitMs(this.#options.monotonicNow());
  }

  /** How long the service has been down. */
  get forMs(): number {
    return this.#circuit.outageMs(this.#options.monotonicNow());
  }

  /** How long it may still be down; 0: the run ends with the next failure. */
  get leftMs(): number {
    return this.#circuit.leftMs(this.#options.monotonicNow());
  }

  /**
   * What the lookups fail with, where nobody can tell whether the service is down or fails for these alone: none but they are left, and it
   * has answered others. Null: it is down, or nothing is wrong.
   */
  get lastLookups(): string | null {
    return this.open && this.#few && this.#options.isKnown() && this.#doubtfulCode !== '' ? this.#doubtfulCode : null;
  }

  /** A lookup was answered, and not with "later" or a failure. */
  answered(): void {
    this.#answers++;
  }

  /** The service is there. When this ends an outage: how long that was, and who was parked; else null. */
  over(): { readonly afterMs: number; readonly parked: Task[] } | null {
    const afterMs = this.forMs;
    if (!this.#circuit.answered()) return null;
    const { slots } = this.#options;
    slots.letAllGo();
    const parked = this.#parked;
    this.clear();
    return { afterMs, parked };
  }

  /** A lookup goes out for the first time. */
  sent(task: Task): void {
    task.answersWhenSent = this.#answers;
  }

  /** A lookup failed. Returns whether the service now counts as down, and did not before. */
  failed(task: Task, result: Retryable): boolean {
    const first = task.attempts === 0;
    // Only a first failure tells something new: many lookups that the service cannot digest may be left over at the end.
    if (first) task.answersBefore = this.#answers;
    const alone = task.attempts + 1 >= MAX_ATTEMPTS && this.#isAlone(task, result);
    const againMs = isFromService(result) && !this.#waitsForFew() ? this.#probeAgainMs() : null;
    const opened = this.#circuit.failed(first ? task.call : null, this.#options.monotonicNow(), { againMs, alone, soon: this.#options.isDoubted() });
    if (opened) this.#few = alone;
    this.#doubtfulCode = wasNeverSent(result) ? '' : result.code;
    if (this.open) this.#probeLater();
    return opened;
  }

  /**
   * Whether nothing shows that the service is up and that it is this lookup that fails. A failure of the service itself is
   * judged by all answers since the lookup was sent: those beside its first attempt count. What a gateway or the network
   * says is judged by those since its first failure alone: an outage may begin between two answers.
   */
  #isAlone({ call, answersWhenSent, answersBefore }: Task, result: Retryable): boolean {
    const fromService = isFromService(result);
    if (fromService && call.divisible === true) return false;
    return this.#answers === (fromService ? answersWhenSent : answersBefore);
  }

  /** Whether a failure while the service counts as down costs the lookup an attempt. */
  costsAttempt({ call }: Task, result: Retryable): boolean {
    if (isFromService(result)) return call.divisible === true || (this.#options.isKnown() && !this.#waitsForFew());
    // Its parts tell whether one of them breaks what stands in front of the service.
    return call.divisible === true && this.#few && !this.#waitsForFew() && !wasNeverSent(result);
  }

  /** Whether a lookup is given up now that the outage has lasted too long, instead of ending the run: it stays as failed as it was. */
  givesUp(result: Retryable): boolean {
    const { asksAgain, isKnown, maxOutageMs } = this.#options;
    return asksAgain && this.#few && isKnown() && !wasNeverSent(result) && this.forMs >= maxOutageMs;
  }

  /** Too few lookups are left to tell, and it is too early to give them up. */
  #waitsForFew(): boolean {
    return this.#few && this.forMs < this.#options.maxOutageMs * FEW_SHARE;
  }

  park(task: Task): void {
    this.#parked.push(task);
    this.#mostParked = Math.max(this.#mostParked, this.#parked.length);
    if (!this.#options.slots.standingStill) this.#probeParked();
  }

  clear(): void {
    this.#parked = [];
    this.#mostParked = 0;
    this.#few = false;
  }

  /** A probe is due: lookups that were not asked yet go first, and when they thin out, the reader brings others. */
  #probeParked(): void {
    if (!this.#options.slots.idle) return;
    const task = this.#parked.shift();
    if (task !== undefined) this.#options.probe(task);
  }

  #probeAgainMs(): number {
    return probeAgainMs(this.#options.slots.waiting > 0 ? 0 : Math.max(1, this.#mostParked), this.#options.maxOutageMs);
  }

  /** While the circuit is open everything stands still, but for one call at a time when a probe is due. */
  #probeLater(): void {
    const { slots, timers, monotonicNow } = this.#options;
    if (slots.standingStill) return;
    slots.standStill();
    timers.after(this.#circuit.waitMs(monotonicNow()), () => {
      slots.letOneGo();
      this.#probeParked();
    });
  }
}
