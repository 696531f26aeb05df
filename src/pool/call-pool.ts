import type { PendingAnswer } from '../client/provider-client.ts';
import type { CallResult, Denied, Retryable } from '../client/types.ts';
import type { MillraceError } from '../util/errors.ts';
import type { CallNumber } from '../limiter/limiter.ts';
import { AdaptiveConcurrency, boundsWithin } from './adaptive-concurrency.ts';
import { wasNeverMade } from './circuit.ts';
import type { CallPoolOptions } from './call-pool-options.ts';
import { failedCall, newTask, observed, sentCall, sizeOf, STILL_PENDING, settledCall } from './call.ts';
import type { CallAnswer, PoolCall, Task } from './call.ts';
import { outageError, waitError, wrongAddressError } from './fatal-errors.ts';
import { FirstContact } from './first-contact.ts';
import { PendingAnswers } from './pending-answers.ts';
import { PromisedCalls } from './promised-calls.ts';
import { Outage } from './outage.ts';
import { PoolLimiters } from './pool-limiters.ts';
import { WaitBudget } from './wait-budget.ts';
import { RefusedKeys } from './refused-keys.ts';
import { RetryQueue } from './retry-queue.ts';
import { MAX_UNFIT, retryDelayMs } from './retry-policy.ts';
import { CallSlots } from './slots.ts';
import { Timers } from './timers.ts';

export type { CallPoolOptions, PoolEvents } from './call-pool-options.ts';
export type { PoolCall, SettledCall } from './call.ts';

/**
 * Decides how many calls run at once, and retries failed ones: the one place that retries.
 *
 * A call goes: waiting -> (a slot) -> (a permit of the limiter) -> sent -> settled, or back to waiting.
 * The permit is taken last, so that a call leaves at the moment for which its permit is valid. A call whose answer is pending gives its
 * slot back, and goes the same way again later.
 */
export class CallPool {
  readonly #options: CallPoolOptions;
  readonly #auto: AdaptiveConcurrency | null;
  readonly #slots: CallSlots;
  readonly #timers = new Timers();
  readonly #outage: Outage;
  readonly #retries: RetryQueue;
  readonly #pending: PendingAnswers;
  readonly #promised: PromisedCalls;
  readonly #limiters: PoolLimiters;
  readonly #waitBudget: WaitBudget;
  readonly #firstContact: FirstContact;
  readonly #refusedKeys: RefusedKeys;
  #stopped = false;
  /** Calls that hold a slot and wait for a permit. */
  #waitingForPermit = 0;
  /** Calls that were sent and are not answered. */
  #inFlight = 0;
  /** Resolved by the next answer. */
  #answered: PromiseWithResolvers<void> | null = null;

  constructor(options: CallPoolOptions) {
    const { concurrency, maxConnections: mostAtOnce, rpm, maxWaitMs, maxOutageMs, monotonicNow } = options;
    this.#options = options;
    this.#auto = concurrency === 'auto' ? new AdaptiveConcurrency({ rpm, bounds: boundsWithin(mostAtOnce) }) : null;
    this.#slots = new CallSlots(this.#auto?.limit ?? Math.min(Number(concurrency), mostAtOnce));
    this.#firstContact = new FirstContact({ reached: options.hasAnswered, monotonicNow, maxOutageMs });
    this.#refusedKeys = new RefusedKeys({ timers: this.#timers, renewKey: options.renewKey, isKnown: () => this.#firstContact.reached });
    this.#outage = new Outage({
      slots: this.#slots,
      timers: this.#timers,
      monotonicNow,
      maxOutageMs,
      isKnown: () => this.#firstContact.reached,
      isDoubted: () => this.#firstContact.doubted,
      isRetryRun: options.isRetryRun,
      unfitIsAnswer: options.unfitIsAnswer,
      probe: (task) => this.#enqueue(task),
    });
    const isFree = (): boolean => this.#outage.open;
    this.#retries = new RetryQueue({ timers: this.#timers, monotonicNow, isFree, start: (task) => this.#retry(task) });
    this.#pending = new PendingAnswers({ ...options, timers: this.#timers, askAgain: (task) => this.#enqueue(task, 'first') });
    const startFirst = (task: Task): void => this.#enqueue(task, 'first');
    this.#promised = new PromisedCalls({ ...options, start: startFirst, onParked: () => this.#outage.unsent() });
    this.#limiters = new PoolLimiters(options);
    this.#waitBudget = new WaitBudget(maxWaitMs);
  }

  /** The current outage; null without one. `probeInMs`: 0 while a probe is out. `lastLookups`: see `Outage`. */
  get outage(): { readonly forMs: number; readonly probeInMs: number; readonly lastLookups: string | null } | null {
    const { open, forMs, probeInMs, lastLookups } = this.#outage;
    return open ? { forMs, probeInMs, lastLookups } : null;
  }

  /** Whether the service has answered this job, in this run or an earlier one. */
  get hasAnswered(): boolean {
    return this.#firstContact.reached;
  }

  /** How many calls may be in flight at once. */
  get concurrency(): number {
    return this.#slots.most;
  }

  /** Calls that wait for a slot, in one for a permit, or for credits. */
  get waiting(): number {
    return this.#slots.waiting + this.#waitingForPermit + this.#promised.parked;
  }

  /** Retries that wait for their time or for the retry budget. */
  get retriesWaiting(): number {
    return this.#retries.waiting;
  }

  /** Calls that the provider answers later, and that wait until they are asked again. */
  get pendingAnswers(): number {
    return this.#pending.waiting;
  }

  /** Calls that were sent and are not answered. */
  get inFlight(): number {
    return this.#inFlight;
  }

  submit<T>(call: PoolCall<T>): void {
    const task = newTask(call);
    this.#promised.rejoin(task);
    this.#enqueue(task);
  }

  /** Back-pressure: null when more calls may be submitted, else a promise that resolves then. */
  room(): Promise<void> | null {
    return this.#stopped ? null : this.#slots.room();
  }

  /**
   * Stops sending. Resolves when every call in flight is answered, and settled if that answer is final. All other calls are never settled:
   * the next run sends them, or `giveUp` of their step settles them. May be called twice.
   */
  async drain(): Promise<void> {
    this.#stopped = true;
    this.#timers.clear();
    this.#slots.clear();
    this.#outage.clear();
    this.#retries.clear();
    this.#pending.clear();
    this.#promised.stop();
    this.#answered?.resolve();
    this.#refusedKeys.stop();
    await this.#limiters.stop();
    await this.#slots.whenDone();
  }

  #enqueue(task: Task, where?: 'first'): void {
    if (!this.#stopped) this.#slots.add(() => this.#attempt(task), where);
  }

  /** One attempt. Never rejects: an exception ends the run. */
  async #attempt(task: Task): Promise<void> {
    const [{ call }, { events }] = [task, this.#options];
    const limiter = this.#limiters.of(task);
    try {
      if (this.#stopped || this.#waitsTooLong() || this.#promised.parksFirst(task)) return;
      const taken = limiter.take();
      const callNumber = typeof taken === 'number' ? taken : await this.#awaitPermit(taken);
      if (callNumber === 0 || this.#stopped) return;
      const size = sizeOf(task);
      // Asked again after each wait, right before the sending.
      for (let may = this.#options.mayCall(size); may !== true; may = this.#options.mayCall(size)) {
        // A call in flight may turn out to cost less, or not to count.
        if (may instanceof Promise) await may;
        else if (this.#inFlight > 0) await (this.#answered ??= Promise.withResolvers()).promise;
        else if (may === 'smaller' && call.isTooDear?.() === true) {
          this.#unsent(task, callNumber, 'too_dear');
          return;
        } else if (this.#promised.parks(task, may)) {
          limiter.withdraw(callNumber);
          return;
        } else this.#fatal(this.#options.limitReached(size));
        if (this.#stopped) return;
      }
      if (++task.sent === 1) {
        this.#outage.sent(task);
        this.#retries.firstAttempt();
      }
      events.sent(size);
      this.#inFlight++;
      const answer = await call.send();
      if (wasNeverMade(answer)) {
        this.#inFlight--;
        events.answered(sentCall(task, size), answer);
        this.#unsent(task, callNumber, answer.code);
        this.#answered?.resolve();
        this.#answered = null;
        return;
      }
      const { result, end } = this.#firstContact.judge(answer);
      this.#adjustConcurrency(result);
      this.#inFlight--;
      limiter.observe(observed(callNumber, result));
      task.slowestMs = Math.max(task.slowestMs, result.meta.latencyMs);
      events.answered(sentCall(task, size), result);
      if (end === null) this.#handle(task, result);
      else this.#fatal(end);
      // It keeps its slot meanwhile: a call in its place would be refused as well.
      if (result.kind === 'denied') await this.#denied(task, result);
      this.#answered?.resolve();
      this.#answered = null;
      this.#promised.wake();
      if (this.#waitingForPermit > 0) this.#waitsTooLong();
    } catch (error) {
      this.#crash(error);
    }
  }

  /** Settles a call that was not sent: smaller ones will replace it, or no request can be made of it. It says nothing about the service. */
  #unsent(task: Task, callNumber: CallNumber, code: string): void {
    this.#limiters.of(task).withdraw(callNumber);
    this.#promised.settle(task, { kind: 'failed', rejected: false, status: 0, code, attempts: 0, requestId: null });
    this.#outage.unsent();
  }

  async #awaitPermit(taken: Promise<CallNumber>): Promise<CallNumber> {
    this.#waitingForPermit++;
    const callNumber = await taken;
    this.#waitingForPermit--;
    return callNumber;
  }

  /** A throttled call concerns the limiter alone, and a call during an outage does not show how many the service can take. */
  #adjustConcurrency({ kind, meta }: CallAnswer<unknown>): void {
    if (this.#auto === null || kind === 'throttled' || this.#outage.open) return;
    this.#slots.most = this.#auto.observe(meta.latencyMs, kind !== 'retryable', this.#inFlight);
  }

  #handle(task: Task, result: CallAnswer<unknown>): void {
    // A throttling service is up, but it has answered no lookup: a row of failures goes on.
    if (result.kind === 'throttled' ? this.#outage.open : this.#outage.isAnswer(result)) this.#serviceIsUp();
    if (this.#outage.isAnswer(result)) [this.#waitBudget, this.#outage].forEach((part) => part.answered());
    switch (result.kind) {
      case 'ok':
      case 'miss':
      case 'suppressed':
      case 'rejected':
        this.#promised.settle(task, settledCall(result, task.attempts + 1));
        return;
      case 'pending':
        this.#isPending(task, result);
        return;
      case 'denied':
        return;
      case 'wrong_address':
        this.#fatal(wrongAddressError(result.meta.status, result.detail));
        return;
      case 'throttled':
        this.#throttled(task, result);
        return;
      case 'retryable':
        // Cancelled by this run: neither answered nor failed. The next run sends it again.
        if (result.code !== 'aborted') this.#failed(task, result);
        return;
      default:
        result satisfies never;
    }
  }

  async #denied(task: Task, result: Denied): Promise<void> {
    if (this.#stopped) return;
    const end = await this.#refusedKeys.judge(task, result);
    if (end === null) this.#enqueue(task, 'first');
    else this.#fatal(end);
  }

  /** The ticket is kept even by a pool that is stopped: the next run asks with it. */
  #isPending(task: Task, answer: PendingAnswer): void {
    const mayWait = this.#pending.note(task, answer);
    if (this.#stopped) return;
    this.#promised.begin(task);
    if (mayWait) this.#pending.hold(task, answer);
    else this.#promised.settle(task, failedCall(answer.meta, STILL_PENDING, 1));
  }

  #throttled(task: Task, { meta }: CallResult<unknown> & { kind: 'throttled' }): void {
    const now = this.#options.monotonicNow();
    this.#waitBudget.throttled(task, now);
    if (this.#waitsTooLong()) return;
    // Other lookups are answered meanwhile, so the service keeps throttling this one.
    if (this.#waitBudget.isExceededFor(task, this.#limiters.of(task).pausedMs(), now)) {
      this.#promised.settle(task, failedCall(meta, `http_${meta.status}`, task.attempts + 1));
      return;
    }
    this.#enqueue(task, 'first');
  }

  #failed(task: Task, result: Retryable): void {
    // The pool was stopped: the next run sends it again.
    if (this.#stopped) return;
    const { events, maxOutageMs, maxWaitMs, random } = this.#options;
    if (this.#outage.failed(task, result)) events.wentDown(result.code, result.detail, this.#outage.lastLookups !== null);
    const { open } = this.#outage;
    const isUnfit = result.unfit === true;
    if (isUnfit) task.unfit++;
    // During an outage the service is at fault, not this lookup: its attempt does not count, unless it may be paid for.
    if (!open || isUnfit || this.#outage.costsAttempt(task, result)) task.attempts++;
    const pollLeftMs = this.#pending.pollLeftMs(task);
    const isLast = task.unfit >= MAX_UNFIT || this.#outage.isLastAttempt(task, result, pollLeftMs);
    if (isLast || task.call.givesUp?.(result) === true || this.#outage.givesUp(result)) {
      const code = pollLeftMs === null || isUnfit ? result.code : STILL_PENDING;
      this.#promised.settle(task, failedCall(result.meta, code, task.attempts, isUnfit));
      return;
    }
    const askedMs = result.retryAfterMs ?? 0;
    events.retrying(task.call.step, result.code);
    const { forMs } = this.#outage;
    if (open && forMs >= maxOutageMs) this.#fatal(this.#firstContact.endOfPages(forMs) ?? outageError(forMs, result.code, result.detail));
    else if (askedMs > maxWaitMs) this.#fatal(waitError(askedMs, 0, maxWaitMs));
    else if (!open) this.#retries.addLater(task, retryDelayMs(task.attempts, askedMs, random(), pollLeftMs));
    else if (askedMs > 0) this.#retries.addLater(task, Math.min(askedMs, this.#outage.leftMs));
    else this.#outage.park(task);
  }

  /** A retry that is due and within the budget. */
  #retry(task: Task): void {
    if (this.#outage.open) this.#outage.park(task);
    else this.#enqueue(task, 'first');
  }

  #serviceIsUp(): void {
    if (this.#auto !== null && this.#outage.open) {
      // Before all calls go again: a service that has just come back does not get as many at once as before.
      this.#auto.restart();
      this.#slots.most = this.#auto.limit;
    }
    const over = this.#outage.end();
    if (over === null) return;
    this.#options.events.cameBack(over.afterMs);
    this.#retries.add(over.parked);
  }

  /** Whether the service asks to wait longer than the job may wait; ends the run then. */
  #waitsTooLong(): boolean {
    const error = this.#limiters.tooLong(this.#waitBudget, this.#options.monotonicNow());
    if (error !== null) this.#fatal(error);
    return error !== null;
  }

  #fatal(error: MillraceError): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#options.onFatal(error);
  }

  /** An exception: a result could not be stored, or the program has a fault. May happen while draining. */
  #crash(error: unknown): void {
    this.#stopped = true;
    this.#options.onFatal(error);
  }
}
