import type { KeyRenewal } from '../client/rotating-key.ts';
import type { CallResult, Retryable } from '../client/types.ts';
import type { MillraceError } from '../errors.ts';
import type { Limiter, Ticket } from '../limiter/limiter.ts';
import type { Step } from '../job/types.ts';
import { AdaptiveConcurrency, boundsWithin } from './adaptive-concurrency.ts';
import { newTask, type Call, type Task } from './call.ts';
import { deniedError, outageError, waitError, wrongAddressError } from './fatal-errors.ts';
import { FirstContact } from './first-contact.ts';
import { Outage } from './outage.ts';
import { Patience } from './patience.ts';
import { RetryLine } from './retry-line.ts';
import { MAX_ATTEMPTS, retryDelayMs } from './retry-policy.ts';
import { Slots } from './slots.ts';
import { Timers } from './timers.ts';

export type { Call, Settled } from './call.ts';

/** What the pool tells the counters and the log. */
export interface PoolEvents {
  sent(step: Step): void;
  answered(step: Step, result: CallResult<unknown>): void;
  retrying(step: Step, code: string): void;
  /** The service does not answer: from here on it is only probed. @param lastLookups it may as well fail for the last lookups alone */
  wentDown(code: string, detail: string, lastLookups: boolean): void;
  cameBack(downMs: number): void;
}

export interface CallPoolOptions {
  readonly limiter: Limiter;
  readonly concurrency: number | 'auto';
  /** Connections that the process can have; Infinity: as many as it likes. */
  readonly mostAtOnce: number;
  /** The plan's requests a minute; null: unlimited. With the latency it says how many at once `auto` needs. */
  readonly rpm: number | null;
  /** Whether one more request may be sent; asked before each. False ends the job with `limitReached`; a promise: ask again then. */
  readonly mayCall: () => boolean | Promise<void>;
  readonly limitReached: () => MillraceError;
  /** The key that a call carried was refused: reads it again. Null, or left out: it cannot change. Never rejects. */
  readonly renewKey?: (keyVersion: number) => Promise<KeyRenewal | null>;
  /** Whether the service has answered this job in an earlier run, so that it is known to be one. */
  readonly hasAnswered: boolean;
  /** Every lookup has failed in an earlier run: a retry. */
  readonly asksAgain: boolean;
  readonly maxWaitMs: number;
  readonly maxOutageMs: number;
  readonly events: PoolEvents;
  /** Ends the run: an answer that no other call will improve on, or a failure while a result was kept. */
  readonly onFatal: (error: unknown) => void;
  readonly monotonicNow: () => number;
  readonly random: () => number;
}

/**
 * How many calls at once, and what happens when one fails: the one place that retries.
 *
 * A call goes: waiting -> (a slot) -> (a permit of the limiter) -> sent -> settled, or back to waiting.
 * The permit is taken last, in the slot, so that a call leaves at the moment its permit is valid for.
 */
export class CallPool {
  readonly #options: CallPoolOptions;
  readonly #auto: AdaptiveConcurrency | null;
  readonly #slots: Slots;
  readonly #timers = new Timers();
  readonly #outage: Outage;
  readonly #retries: RetryLine;
  readonly #patience: Patience;
  readonly #contact: FirstContact;
  #stopped = false;
  /** Calls that hold a slot and wait for a permit. */
  #atGate = 0;
  /** Calls that were sent and are not answered. */
  #inFlight = 0;
  /** For whoever waits for the next answer. */
  #answered: PromiseWithResolvers<void> | null = null;

  constructor(options: CallPoolOptions) {
    const { concurrency, mostAtOnce, rpm, maxWaitMs, maxOutageMs, monotonicNow } = options;
    this.#options = options;
    this.#auto = concurrency === 'auto' ? new AdaptiveConcurrency({ rpm, bounds: boundsWithin(mostAtOnce) }) : null;
    this.#slots = new Slots(this.#auto?.limit ?? Math.min(Number(concurrency), mostAtOnce));
    this.#contact = new FirstContact({ reached: options.hasAnswered, monotonicNow, maxOutageMs });
    this.#outage = new Outage({
      slots: this.#slots, timers: this.#timers, monotonicNow, maxOutageMs,
      isKnown: () => this.#contact.reached,
      isDoubted: () => this.#contact.doubted,
      asksAgain: options.asksAgain,
      probe: (task) => this.#enqueue(task),
    });
    this.#retries = new RetryLine({ timers: this.#timers, monotonicNow, free: () => this.#outage.open, go: (task) => this.#retry(task) });
    this.#patience = new Patience(maxWaitMs);
  }

  /** While the service is down: for how long, and when it is asked again (0: just now); else null. `lastLookups`: see `Outage.lastLookups`. */
  get outage(): { readonly forMs: number; readonly probeInMs: number; readonly lastLookups: string | null } | null {
    const { open, forMs, probeInMs, lastLookups } = this.#outage;
    return open ? { forMs, probeInMs, lastLookups } : null;
  }

  /** Whether the service has answered this job, in this run or an earlier one. */
  get hasAnswered(): boolean {
    return this.#contact.reached;
  }

  /** How many calls may be in flight at once. */
  get concurrency(): number {
    return this.#slots.most;
  }

  /** Calls that wait for a slot, or in one for a permit. */
  get waiting(): number {
    return this.#slots.waiting + this.#atGate;
  }

  /** Failed attempts that are made again, and whose time has not come. */
  get retriesWaiting(): number {
    return this.#retries.waiting;
  }

  /** Calls that were sent and are not answered. */
  get inFlight(): number {
    return this.#inFlight;
  }

  submit<T>(call: Call<T>): void {
    this.#enqueue(newTask(call));
  }

  /** Back-pressure: null when more calls are welcome, else a promise of that. */
  room(): Promise<void> | null {
    return this.#stopped ? null : this.#slots.room();
  }

  /** Sends nothing more. Resolves when everything that was sent has been answered. */
  async drain(): Promise<void> {
    this.#stopped = true;
    this.#timers.clear();
    this.#slots.clear();
    this.#outage.clear();
    this.#retries.clear();
    this.#answered?.resolve();
    await this.#options.limiter.stop();
    await this.#slots.whenDone();
  }

  #enqueue(task: Task, where?: 'first'): void {
    if (!this.#stopped) this.#slots.add(() => this.#attempt(task), where);
  }

  /** Never rejects: whatever throws here ends the run. */
  async #attempt(task: Task): Promise<void> {
    const { call } = task;
    const { limiter, events } = this.#options;
    try {
      if (this.#stopped || this.#waitsTooLong()) return;
      const taken = limiter.take();
      const ticket = typeof taken === 'number' ? taken : await this.#atTheGate(taken);
      if (ticket === 0 || this.#stopped) return;
      // Asked again each time: nothing may come between the last answer and the sending.
      for (let may = this.#options.mayCall(); may !== true; may = this.#options.mayCall()) {
        if (may === false && this.#inFlight === 0) this.#fatal(this.#options.limitReached());
        // One that is in flight may turn out to be none.
        else await (may === false ? this.#nextAnswer() : may);
        if (this.#stopped) return;
      }
      if (!task.sent) {
        task.sent = true;
        this.#outage.sent(task);
        this.#retries.firstAttempt();
      }
      events.sent(call.step);
      this.#inFlight++;
      const { result, end } = this.#contact.judge(await call.send());
      this.#dial(result);
      this.#inFlight--;
      limiter.observe({ ticket, headers: result.meta.headers, throttled: result.kind === 'throttled', failed: result.kind === 'retryable', retryAfterMs: 'retryAfterMs' in result ? result.retryAfterMs : null });
      events.answered(call.step, result);
      if (end === null) this.#act(task, result);
      else this.#fatal(end);
      // It keeps its slot meanwhile: what went out in its place would be refused as well.
      if (result.kind === 'denied') await this.#denied(task, result);
      this.#answered?.resolve();
      this.#answered = null;
      if (this.#atGate > 0) this.#waitsTooLong();
    } catch (error) {
      this.#broken(error);
    }
  }

  #nextAnswer(): Promise<void> {
    return (this.#answered ??= Promise.withResolvers()).promise;
  }

  async #atTheGate(taken: Promise<Ticket>): Promise<Ticket> {
    this.#atGate++;
    const ticket = await taken;
    this.#atGate--;
    return ticket;
  }

  /** "Later" is the limiter's business alone, and what a service that is down answers says nothing of how many it could take. */
  #dial({ kind, meta }: CallResult<unknown>): void {
    if (this.#auto === null || kind === 'throttled' || this.#outage.open) return;
    this.#slots.most = this.#auto.observe(meta.latencyMs, kind !== 'retryable', this.#inFlight);
  }

  #act(task: Task, result: CallResult<unknown>): void {
    const { call } = task;
    const { requestId } = result.meta;
    // A service that says "later" is up, but it has answered nobody: a row of failures goes on.
    if (result.kind === 'throttled' ? this.#outage.open : result.kind !== 'retryable') this.#isThere();
    if (result.kind !== 'throttled' && result.kind !== 'retryable') {
      this.#patience.answered();
      this.#outage.answered();
    }
    switch (result.kind) {
      case 'ok':
        call.settle({ kind: 'ok', value: result.value, attempts: task.attempts + 1, requestId });
        return;
      case 'miss':
      case 'suppressed':
        call.settle({ kind: result.kind, status: result.meta.status, attempts: task.attempts + 1, requestId });
        return;
      case 'rejected':
        call.settle({ kind: 'failed', rejected: true, status: result.meta.status, code: result.code, attempts: task.attempts + 1, requestId });
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
        // Cancelled from this side: it is neither answered nor failed, and the next run asks again.
        if (result.code !== 'aborted') this.#failed(task, result);
        return;
      default:
        result satisfies never;
    }
  }

  /** With another key the same lookup is asked again, at no cost in retries. */
  async #denied(task: Task, { code, detail, keyVersion, meta }: CallResult<unknown> & { kind: 'denied' }): Promise<void> {
    if (this.#stopped) return;
    const renewal = meta.status === 402 || keyVersion === undefined ? null : await this.#options.renewKey?.(keyVersion);
    if (renewal?.isNew === true) this.#enqueue(task, 'first');
    else this.#fatal(deniedError(meta.status, code, detail, renewal?.found));
  }

  #throttled(task: Task, { meta }: CallResult<unknown> & { kind: 'throttled' }): void {
    const now = this.#options.monotonicNow();
    this.#patience.putOff(task, now);
    if (this.#waitsTooLong()) return;
    // Others are answered meanwhile, so it is this lookup that the service keeps putting off.
    if (this.#patience.endsForOne(task, this.#options.limiter.pausedMs(), now)) {
      task.call.settle({ kind: 'failed', rejected: false, status: meta.status, code: `http_${meta.status}`, attempts: task.attempts + 1, requestId: meta.requestId });
      return;
    }
    this.#enqueue(task, 'first');
  }

  #failed(task: Task, result: Retryable): void {
    // Whoever stopped the pool leaves it to the next run to ask again.
    if (this.#stopped) return;
    const { events, maxOutageMs, maxWaitMs, random } = this.#options;
    if (this.#outage.failed(task, result)) events.wentDown(result.code, result.detail, this.#outage.lastLookups !== null);
    const { open } = this.#outage;
    // Where nothing answers it is the service that is down, not this lookup: its attempt is not held against it.
    if (!open || this.#outage.costsAttempt(task, result)) task.attempts++;
    if (task.attempts >= MAX_ATTEMPTS || task.call.givesUp?.(result) === true || this.#outage.givesUp(result)) {
      task.call.settle({ kind: 'failed', rejected: false, status: result.meta.status, code: result.code, attempts: task.attempts, requestId: result.meta.requestId });
      return;
    }
    const askedMs = result.retryAfterMs ?? 0;
    events.retrying(task.call.step, result.code);
    const { forMs } = this.#outage;
    if (open && forMs >= maxOutageMs) this.#fatal(this.#contact.endOfPages(forMs) ?? outageError(forMs, result.code, result.detail));
    else if (askedMs > maxWaitMs) this.#fatal(waitError(askedMs, 0, maxWaitMs));
    else if (!open) this.#retries.addLater(task, retryDelayMs(task.attempts, askedMs, random()));
    else if (askedMs > 0) this.#retries.addLater(task, Math.min(askedMs, this.#outage.leftMs));
    else this.#outage.park(task);
  }

  /** A retry whose time has come, and which is paid for. */
  #retry(task: Task): void {
    if (this.#outage.open) this.#outage.park(task);
    else this.#enqueue(task, 'first');
  }

  #isThere(): void {
    if (this.#auto !== null && this.#outage.open) {
      // Before all may go again: a service that has just come back is not met with as many as it could do before.
      this.#auto.restart();
      this.#slots.most = this.#auto.limit;
    }
    const over = this.#outage.over();
    if (over === null) return;
    this.#options.events.cameBack(over.afterMs);
    this.#retries.add(over.parked);
  }

  /** Whether the service asks to wait longer than the job may; ends the run then. */
  #waitsTooLong(): boolean {
    const pausedMs = this.#options.limiter.pausedMs();
    const now = this.#options.monotonicNow();
    if (!this.#patience.endsWith(pausedMs, now)) return false;
    const usedUp = this.#options.limiter.usedUp();
    // A pause may be longer than the window that is used up.
    const isWindow = usedUp !== null && usedUp.untilMs >= now + this.#options.limiter.throttledMs();
    this.#fatal(waitError(pausedMs, this.#patience.waitedMs(now), this.#options.maxWaitMs, isWindow ? usedUp.what : null));
    return true;
  }

  #fatal(error: MillraceError): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#options.onFatal(error);
  }

  /** Something threw: a result could not be kept, or the machine is out of order. Also while draining. */
  #broken(error: unknown): void {
    this.#stopped = true;
    this.#options.onFatal(error);
  }
}
