import type { Retryable } from '../client/types.ts';
import type { CallAnswer, Task } from './call.ts';
import { Circuit, isFromService, nextProbeMs, wasNeverSent } from './circuit.ts';
import { MAX_ATTEMPTS } from './retry-policy.ts';
import type { CallSlots } from './slots.ts';
import type { Timers } from './timers.ts';

/** The part of the longest outage after which the last lookups are given up, if the service answers them with failures only. */
const FEW_LEFT_SHARE = 0.2;

interface OutageOptions {
  readonly slots: CallSlots;
  readonly timers: Timers;
  readonly monotonicNow: () => number;
  readonly maxOutageMs: number;
  /** Whether the service has ever answered this job. */
  readonly isKnown: () => boolean;
  /** Whether the address may be wrong. */
  readonly isDoubted: () => boolean;
  /**
   * Whether this is a retry: every lookup has failed in an earlier run, beside others that were answered. These may be what breaks the
   * service.
   */
  readonly isRetryRun: boolean;
  /** See `CallPoolOptions`. */
  readonly unfitIsAnswer: boolean;
  /** Sends a lookup as a probe. */
  readonly probe: (task: Task) => void;
}

/** The pool while the circuit is open: calls stand still, one probe goes out at a time, and failed lookups are parked here. */
export class Outage {
  readonly #options: OutageOptions;
  readonly #circuit: Circuit;
  /** Lookups that failed while the circuit was open. They are probed again when there is nothing else to probe. */
  #parked: Task[] = [];
  /** The circuit opened because the last lookups failed, not because many in a row did. */
  #hasFewLeft = false;
  /** The code of the last failure; '' when the service is certainly at fault, and not the lookup. */
  #doubtfulCode = '';
  /** The most lookups parked since the circuit opened. */
  #mostParked = 0;
  /** Calls that the service has answered, throttled and failed ones excluded. */
  #answers = 0;

  constructor(options: OutageOptions) {
    this.#options = options;
    this.#circuit = new Circuit(options.maxOutageMs);
  }

  get open(): boolean {
    return this.#circuit.open;
  }

  /** Milliseconds until the next probe; 0 while one is out. */
  get probeInMs(): number {
    return this.#circuit.waitMs(this.#options.monotonicNow());
  }

  /** Milliseconds since the outage began. */
  get forMs(): number {
    return this.#circuit.outageMs(this.#options.monotonicNow());
  }

  /** Milliseconds that the outage may still last; at 0 the next failure ends the run. */
  get leftMs(): number {
    return this.#circuit.leftMs(this.#options.monotonicNow());
  }

  /**
   * The code with which the last lookups of the run fail, while it is undecided whether the service is down or fails for these alone.
   * null when the service is down, or when nothing fails.
   */
  get lastLookups(): string | null {
    return this.open && this.#hasFewLeft && this.#options.isKnown() && this.#doubtfulCode !== '' ? this.#doubtfulCode : null;
  }

  /** Whether a result shows that the service is up and answers lookups. */
  isAnswer(result: CallAnswer<unknown>): boolean {
    if (result.kind === 'retryable') return result.unfit === true && this.#options.unfitIsAnswer;
    return result.kind !== 'throttled';
  }

  /** A lookup was answered, neither throttled nor failed. */
  answered(): void {
    this.#answers++;
  }

  /** The service is up. Returns the length and the parked lookups of an outage that this ends, else null. */
  end(): { readonly afterMs: number; readonly parked: Task[] } | null {
    const afterMs = this.forMs;
    if (!this.#circuit.answered()) return null;
    const { slots } = this.#options;
    slots.resumeAll();
    const parked = this.#parked;
    this.clear();
    return { afterMs, parked };
  }

  /** A lookup is sent for the first time. */
  sent(task: Task): void {
    task.answersWhenSent = this.#answers;
  }

  /** A lookup failed. Returns whether this began an outage. */
  failed(task: Task, result: Retryable): boolean {
    if (this.isAnswer(result)) return false;
    const first = task.attempts === 0;
    // Only a first failure says something new: many lookups that the service cannot process may be left at the end.
    if (first) task.answersWhenFailed = this.#answers;
    const alone = task.attempts + 1 >= MAX_ATTEMPTS && this.#isAlone(task, result);
    const againMs = isFromService(result) && !this.#keepsTryingFew() ? this.#nextProbeMs() : null;
    const opened = this.#circuit.failed(first ? task.call : null, this.#options.monotonicNow(), {
      againMs,
      alone,
      soon: this.#options.isDoubted(),
    });
    if (opened) this.#hasFewLeft = alone;
    this.#doubtfulCode = wasNeverSent(result) ? '' : result.code;
    if (this.open) this.#scheduleProbe();
    return opened;
  }

  /**
   * Whether no answer shows that the service is up and that this lookup fails alone. A failure of the service itself is judged by all
   * answers since the lookup was sent. A gateway's or the network's is judged by those since its first failure, because an outage may begin
   * between two answers.
   */
  #isAlone({ call, answersWhenSent, answersWhenFailed: answersBefore }: Task, result: Retryable): boolean {
    const fromService = isFromService(result);
    if (fromService && call.divisible === true) return false;
    return this.#answers === (fromService ? answersWhenSent : answersBefore);
  }

  /** Whether a failure during an outage costs the lookup an attempt. */
  costsAttempt({ call }: Task, result: Retryable): boolean {
    if (isFromService(result)) return call.divisible === true || (this.#options.isKnown() && !this.#keepsTryingFew());
    // Its parts show whether one of them breaks the gateway in front of the service.
    return call.divisible === true && this.#hasFewLeft && !this.#keepsTryingFew() && !wasNeverSent(result);
  }

  /** Whether a lookup is given up because the outage lasts too long, instead of ending the run. It stays failed. */
  givesUp(result: Retryable): boolean {
    const { isRetryRun: asksAgain, isKnown, maxOutageMs } = this.#options;
    return asksAgain && this.#hasFewLeft && isKnown() && !wasNeverSent(result) && this.forMs >= maxOutageMs;
  }

  /**
   * Whether a failed attempt is the last. A promised answer is paid for: it is polled for as long as it may take, unless the service itself
   * fails for the last lookups of the run.
   * @param pollLeftMs milliseconds that it may still take; null for a call without a promise
   */
  isLastAttempt({ attempts }: Task, result: Retryable, pollLeftMs: number | null): boolean {
    const isUsedUp = attempts >= MAX_ATTEMPTS;
    if (pollLeftMs === null) return isUsedUp;
    if (pollLeftMs <= 0) return isUsedUp || (this.open && isFromService(result));
    return isUsedUp && this.open && this.#hasFewLeft && !this.#keepsTryingFew() && isFromService(result);
  }

  /** Whether few lookups are left to decide by, and it is too early to give them up. */
  #keepsTryingFew(): boolean {
    return this.#hasFewLeft && this.forMs < this.#options.maxOutageMs * FEW_LEFT_SHARE;
  }

  park(task: Task): void {
    this.#parked.push(task);
    this.#mostParked = Math.max(this.#mostParked, this.#parked.length);
    if (!this.#options.slots.isPaused) this.#probeParked();
  }

  /** A call was not sent. If it was the probe, the next one is. Call it while the call still has its slot. */
  unsent(): void {
    const { slots } = this.#options;
    if (this.open && !slots.isPaused && slots.waiting === 0) this.#probeOne();
  }

  clear(): void {
    this.#parked = [];
    this.#mostParked = 0;
    this.#hasFewLeft = false;
  }

  /** A probe is due. New lookups go first; when few are left, the reader brings others. */
  #probeParked(): void {
    if (this.#options.slots.idle) this.#probeOne();
  }

  #probeOne(): void {
    const task = this.#parked.shift();
    if (task !== undefined) this.#options.probe(task);
  }

  #nextProbeMs(): number {
    return nextProbeMs(this.#options.slots.waiting > 0 ? 0 : Math.max(1, this.#mostParked), this.#options.maxOutageMs);
  }

  /** While the circuit is open, calls stand still except for the probe that is due. */
  #scheduleProbe(): void {
    const { slots, timers, monotonicNow } = this.#options;
    if (slots.isPaused) return;
    slots.pause();
    timers.after(this.#circuit.waitMs(monotonicNow()), () => {
      slots.resumeOne();
      this.#probeParked();
    });
  }
}
