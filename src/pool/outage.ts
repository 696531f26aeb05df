import type { CallResult } from '../client/types.ts';
import type { Task } from './call.ts';
import { Circuit, isFromService, isUnreachable, probeAgainMs } from './circuit.ts';
import { MAX_ATTEMPTS } from './retry-policy.ts';
import type { Slots } from './slots.ts';
import type { Timers } from './timers.ts';

export interface OutageOptions {
  readonly slots: Slots;
  readonly timers: Timers;
  readonly monotonicNow: () => number;
  readonly maxOutageMs: number;
  /** Takes a lookup that is to be asked as a probe. */
  readonly probe: (task: Task) => void;
}

/**
 * What the pool does while the circuit is open: everything stands still, and one call at a time goes out as a probe.
 * Lookups that failed meanwhile are parked here.
 */
export class Outage {
  readonly #options: OutageOptions;
  readonly #circuit = new Circuit();
  /** Failed while the circuit was open: probed again when there is nothing else to probe. */
  #parked: Task[] = [];
  /** The most that were parked since the circuit opened. */
  #mostParked = 0;
  /** Calls that the service has answered, whatever it said but "later" and "failed". */
  #answers = 0;

  constructor(options: OutageOptions) {
    this.#options = options;
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

  /** A lookup failed. Returns whether the service now counts as down, and did not before. */
  failed(task: Task, result: CallResult<unknown> & { kind: 'retryable' }): boolean {
    const first = task.attempts === 0;
    // Only a first failure tells something new: many lookups that the service cannot digest may be left over at the end.
    if (first) task.answersBefore = this.#answers;
    const unreachable = isUnreachable(result) && task.attempts + 1 >= MAX_ATTEMPTS && task.answersBefore === this.#answers;
    const opened = this.#circuit.failed(first ? task.call : null, this.#options.monotonicNow(), isFromService(result) ? this.#probeAgainMs() : null, unreachable);
    if (this.open) this.#probeLater();
    return opened;
  }

  park(task: Task): void {
    this.#parked.push(task);
    this.#mostParked = Math.max(this.#mostParked, this.#parked.length);
    if (!this.#options.slots.standingStill) this.#probeParked();
  }

  clear(): void {
    this.#parked = [];
    this.#mostParked = 0;
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
