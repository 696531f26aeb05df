import PQueue from 'p-queue';
import type { CallResult } from '../client/types.ts';
import { EXIT, MillraceError } from '../errors.ts';
import type { Limiter, Ticket } from '../limiter/limiter.ts';
import type { Step } from '../job/types.ts';
import { AdaptiveConcurrency } from './adaptive-concurrency.ts';
import { Circuit, isFromService, isUnreachable, probeAgainMs } from './circuit.ts';
import { deniedError, outageError, waitError, wrongAddressError } from './fatal-errors.ts';
import { RetryBudget } from './retry-budget.ts';
import { MAX_ATTEMPTS, retryDelayMs } from './retry-policy.ts';

/** What a call came to once nothing more will be tried. */
export type Settled<T> =
  | { readonly kind: 'ok'; readonly value: T; readonly attempts: number; readonly requestId: string | null }
  | { readonly kind: 'miss' | 'suppressed'; readonly status: number; readonly attempts: number; readonly requestId: string | null }
  /** `rejected`: the service refused this request itself (4xx); otherwise all attempts were used up, or it said "later" for too long. */
  | { readonly kind: 'failed'; readonly rejected: boolean; readonly status: number; readonly code: string; readonly attempts: number; readonly requestId: string | null };

export interface Call<T> {
  readonly step: Step;
  /** One attempt; never throws. */
  send(): Promise<CallResult<T>>;
  /** Called once, unless the pool was stopped first. */
  settle(settled: Settled<T>): void;
}

/** What the pool tells the counters and the log. */
export interface PoolEvents {
  sent(step: Step): void;
  answered(step: Step, result: CallResult<unknown>): void;
  retrying(step: Step, code: string): void;
  circuit(open: boolean): void;
}

export interface CallPoolOptions {
  readonly limiter: Limiter;
  readonly concurrency: number | 'auto';
  /** Requests that may still be sent; asked before each. False ends the job with 77. */
  readonly mayCall: () => boolean;
  readonly maxWaitMs: number;
  readonly maxOutageMs: number;
  readonly events: PoolEvents;
  /** Ends the run: an answer that no other call will improve on, or a failure while a result was kept. */
  readonly onFatal: (error: unknown) => void;
  readonly monotonicNow: () => number;
  readonly random: () => number;
}

interface Task {
  readonly call: Call<unknown>;
  /** Attempts that failed and count. */
  attempts: number;
  /** Whether it was ever sent. */
  sent: boolean;
  /** When the service first said "later" to it; null: never. */
  throttledSince: number | null;
  /** Calls that had been answered when it first failed. */
  answersBefore: number;
}

/** Calls kept waiting behind each that may run, so that a free slot never waits for the reader. */
const BACKLOG_PER_SLOT = 1;
/** What was sent back to wait goes before what never left. */
const AGAIN = { priority: 1 } as const;
/** The longest delay a timer takes (a longer one would fire at once); a longer wait is waited for in parts. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * How many calls at once, and what happens when one fails: the one place that retries.
 *
 * A call goes: waiting -> (a slot of p-queue) -> (a permit of the limiter) -> sent -> settled, or back to waiting.
 * The permit is taken last, in the slot, so that a call leaves at the moment its permit is valid for.
 */
export class CallPool {
  readonly #options: CallPoolOptions;
  readonly #queue: PQueue;
  readonly #auto: AdaptiveConcurrency | null;
  readonly #circuit = new Circuit();
  readonly #budget = new RetryBudget();
  readonly #timers = new Set<NodeJS.Timeout>();
  #stopped = false;
  /** Calls that the service has answered, whatever it said but "later" and "failed". */
  #answers = 0;
  /** Calls that hold a slot and wait for a permit. */
  #atGate = 0;
  /** Since when the service has said nothing but "later"; null: it has not, or something else since. */
  #throttledSince: number | null = null;
  /** Failed while the circuit was open: probed again when there is nothing else to probe. */
  #parked: Task[] = [];
  /** The most that were parked since the circuit opened. */
  #mostParked = 0;
  /** Retries whose time has come, and which wait for the budget. */
  #overBudget: Task[] = [];
  #budgetTimer = false;

  constructor(options: CallPoolOptions) {
    this.#options = options;
    this.#auto = options.concurrency === 'auto' ? new AdaptiveConcurrency() : null;
    this.#queue = new PQueue({ concurrency: this.#concurrency });
  }

  get circuitOpen(): boolean {
    return this.#circuit.open;
  }

  submit<T>(call: Call<T>): void {
    this.#enqueue({ call, attempts: 0, sent: false, throttledSince: null, answersBefore: 0 });
  }

  /** Back-pressure: null when more calls are welcome, else a promise of that. */
  room(): Promise<void> | null {
    const most = this.#concurrency * BACKLOG_PER_SLOT;
    // Half of the backlog goes before the reader is woken: waking it for each call costs more than the call's own queueing.
    return this.#stopped || this.#queue.size < most ? null : this.#queue.onSizeLessThan(Math.ceil(most / 2));
  }

  /** Sends nothing more. Resolves when everything that was sent has been answered. */
  async drain(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#queue.clear();
    this.#parked = [];
    this.#overBudget = [];
    await this.#options.limiter.stop();
    await this.#queue.onPendingZero();
  }

  get #concurrency(): number {
    return this.#auto?.limit ?? (this.#options.concurrency as number);
  }

  #enqueue(task: Task, options?: typeof AGAIN): void {
    if (this.#stopped) return;
    void this.#queue.add(() => this.#attempt(task), options);
  }

  #later(ms: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (ms > LONGEST_TIMER_MS) this.#later(ms - LONGEST_TIMER_MS, work);
      else work();
    }, Math.min(ms, LONGEST_TIMER_MS));
    this.#timers.add(timer);
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
      if (!this.#options.mayCall()) {
        this.#fatal(new MillraceError(EXIT.refused, 'max_calls', 'limits.maxCalls is reached: the job stopped before sending another request', { hint: 'Raise --max-calls and run the same command: the job resumes.' }));
        return;
      }
      if (!task.sent) this.#firstAttempt(task);
      events.sent(call.step);
      const result = await call.send();
      limiter.observe({ ticket, headers: result.meta.headers, throttled: result.kind === 'throttled', retryAfterMs: 'retryAfterMs' in result ? result.retryAfterMs : null });
      events.answered(call.step, result);
      this.#act(task, result);
      if (this.#atGate > 0) this.#waitsTooLong();
    } catch (error) {
      this.#broken(error);
    }
  }

  async #atTheGate(taken: Promise<Ticket>): Promise<Ticket> {
    this.#atGate++;
    const ticket = await taken;
    this.#atGate--;
    return ticket;
  }

  #act(task: Task, result: CallResult<unknown>): void {
    const { call } = task;
    const { requestId } = result.meta;
    // A service that says "later" is up, but it has answered nobody: a row of failures goes on.
    if (result.kind === 'throttled' ? this.#circuit.open : result.kind !== 'retryable') this.#closeCircuit();
    if (result.kind !== 'throttled' && result.kind !== 'retryable') {
      this.#throttledSince = null;
      this.#answers++;
    }
    if (this.#auto !== null && result.kind !== 'throttled') {
      this.#auto.observe(result.meta.latencyMs, result.kind !== 'retryable');
      if (!this.#circuit.open && this.#queue.concurrency !== this.#auto.limit) this.#queue.concurrency = this.#auto.limit;
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
        this.#fatal(deniedError(result.meta.status, result.code, result.detail));
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

  #throttled(task: Task, { meta }: CallResult<unknown> & { kind: 'throttled' }): void {
    const now = this.#options.monotonicNow();
    this.#throttledSince ??= now;
    task.throttledSince ??= now;
    if (this.#waitsTooLong()) return;
    // Others are answered meanwhile, so it is this lookup that the service keeps putting off.
    if (now - task.throttledSince + this.#options.limiter.pausedMs() > this.#options.maxWaitMs) {
      task.call.settle({ kind: 'failed', rejected: false, status: meta.status, code: `http_${meta.status}`, attempts: task.attempts + 1, requestId: meta.requestId });
      return;
    }
    this.#enqueue(task, AGAIN);
  }

  #failed(task: Task, result: CallResult<unknown> & { kind: 'retryable' }): void {
    // Whoever stopped the pool leaves it to the next run to ask again.
    if (this.#stopped) return;
    const now = this.#options.monotonicNow();
    const fromService = isFromService(result);
    // Only a first failure tells something new: many lookups that the service cannot digest may be left over at the end.
    if (task.attempts === 0) task.answersBefore = this.#answers;
    const unreachable = isUnreachable(result) && task.attempts + 1 >= MAX_ATTEMPTS && task.answersBefore === this.#answers;
    const opened = this.#circuit.failed(task.attempts === 0 ? task.call : null, now, fromService ? this.#probeAgainMs() : null, unreachable);
    if (opened) this.#options.events.circuit(true);
    const { open } = this.#circuit;
    if (open) this.#probeLater();
    // Where nothing answers it is the service that is down, not this lookup: its attempt is not held against it.
    if (!open || fromService) task.attempts++;
    if (task.attempts >= MAX_ATTEMPTS) {
      task.call.settle({ kind: 'failed', rejected: false, status: result.meta.status, code: result.code, attempts: task.attempts, requestId: result.meta.requestId });
      return;
    }
    const askedMs = result.retryAfterMs ?? 0;
    this.#options.events.retrying(task.call.step, result.code);
    if (open && this.#circuit.outageMs(now) > this.#options.maxOutageMs) this.#fatal(outageError(this.#circuit.outageMs(now), result.code, result.detail));
    else if (askedMs > this.#options.maxWaitMs) this.#fatal(waitError(askedMs, 0, this.#options.maxWaitMs));
    else if (!open) this.#later(retryDelayMs(task.attempts, askedMs, this.#options.random()), () => this.#retry(task));
    else if (askedMs > 0) this.#later(askedMs, () => this.#retry(task));
    else this.#park(task);
  }

  #firstAttempt(task: Task): void {
    task.sent = true;
    this.#budget.firstAttempt();
    if (this.#overBudget.length > 0) this.#spendBudget();
  }

  /** A retry whose time has come. */
  #retry(task: Task): void {
    this.#overBudget.push(task);
    this.#spendBudget();
  }

  /** Lets retries go, oldest first, as far as the budget allows. */
  #spendBudget(): void {
    // Probes have a pace of their own, below that of the budget.
    while (this.#overBudget.length > 0 && (this.#circuit.open || this.#budget.take(this.#options.monotonicNow()))) {
      // Off the list before it goes: its going may send a first attempt, which comes here again.
      const task = this.#overBudget.shift() as Task;
      if (this.#circuit.open) this.#park(task);
      else this.#enqueue(task, AGAIN);
    }
    if (this.#overBudget.length === 0 || this.#budgetTimer) return;
    this.#budgetTimer = true;
    this.#later(this.#budget.waitMs, () => {
      this.#budgetTimer = false;
      this.#spendBudget();
    });
  }

  #park(task: Task): void {
    this.#parked.push(task);
    this.#mostParked = Math.max(this.#mostParked, this.#parked.length);
    if (!this.#queue.isPaused) this.#probeParked();
  }

  /** A probe is due: lookups that were not asked yet go first, and when they thin out, the reader brings others. */
  #probeParked(): void {
    if (this.#queue.size > 0 || this.#queue.pending > 0) return;
    const task = this.#parked.shift();
    if (task !== undefined) this.#enqueue(task);
  }

  #probeAgainMs(): number {
    return probeAgainMs(this.#queue.size > 0 ? 0 : Math.max(1, this.#mostParked), this.#options.maxOutageMs);
  }

  /** While the circuit is open the queue stands still, but for one call at a time when a probe is due. */
  #probeLater(): void {
    if (this.#queue.isPaused) return;
    this.#queue.pause();
    this.#queue.concurrency = 1;
    this.#later(this.#circuit.waitMs(this.#options.monotonicNow()), () => {
      this.#queue.start();
      this.#probeParked();
    });
  }

  #closeCircuit(): void {
    if (!this.#circuit.answered()) return;
    this.#options.events.circuit(false);
    this.#queue.concurrency = this.#concurrency;
    this.#queue.start();
    this.#overBudget.push(...this.#parked);
    this.#parked = [];
    this.#mostParked = 0;
    this.#spendBudget();
  }

  /** Whether the service asks to wait longer, from its first "later" on, than the job may; ends the run then. */
  #waitsTooLong(): boolean {
    const pausedMs = this.#options.limiter.pausedMs();
    if (pausedMs === 0) return false;
    const waitedMs = this.#throttledSince === null ? 0 : this.#options.monotonicNow() - this.#throttledSince;
    if (pausedMs + waitedMs <= this.#options.maxWaitMs) return false;
    this.#fatal(waitError(pausedMs, waitedMs, this.#options.maxWaitMs));
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
