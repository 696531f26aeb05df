import PQueue from 'p-queue';
import type { CallResult } from '../client/types.ts';
import { EXIT, MillraceError } from '../errors.ts';
import type { Limiter, Ticket } from '../limiter/limiter.ts';
import type { Step } from '../job/types.ts';
import { AdaptiveConcurrency } from './adaptive-concurrency.ts';
import { Circuit } from './circuit.ts';
import { deniedError, outageError, waitError, wrongAddressError } from './fatal-errors.ts';
import { MAX_ATTEMPTS, retryDelayMs } from './retry-policy.ts';

/** What a call came to once nothing more will be tried. */
export type Settled<T> =
  | { readonly kind: 'ok'; readonly value: T; readonly attempts: number; readonly requestId: string | null }
  | { readonly kind: 'miss' | 'suppressed'; readonly status: number; readonly attempts: number; readonly requestId: string | null }
  /** `rejected`: the service refused this request itself (4xx); otherwise all attempts were used up. */
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

interface Task { readonly call: Call<unknown>; attempts: number }

/** Calls kept waiting behind each that may run, so that a free slot never waits for the reader. */
const BACKLOG_PER_SLOT = 1;
/** What was sent back to wait goes before what never left. */
const AGAIN = { priority: 1 } as const;

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
  readonly #timers = new Set<NodeJS.Timeout>();
  #stopped = false;
  /** Calls that hold a slot and wait for a permit. */
  #atGate = 0;
  /** Since when the service has said nothing but "later"; null: it has not, or something else since. */
  #throttledSince: number | null = null;

  constructor(options: CallPoolOptions) {
    this.#options = options;
    this.#auto = options.concurrency === 'auto' ? new AdaptiveConcurrency() : null;
    this.#queue = new PQueue({ concurrency: this.#concurrency });
  }

  get circuitOpen(): boolean {
    return this.#circuit.open;
  }

  submit<T>(call: Call<T>): void {
    this.#enqueue({ call, attempts: 0 });
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
      work();
    }, ms);
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
    if (result.kind !== 'throttled' && result.kind !== 'retryable') this.#throttledSince = null;
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
        this.#throttledSince ??= this.#options.monotonicNow();
        this.#waitsTooLong();
        this.#enqueue(task, AGAIN);
        return;
      case 'retryable':
        // Cancelled from this side: it is neither answered nor failed, and the next run asks again.
        if (result.code !== 'aborted') this.#failed(task, result);
        return;
      default:
        result satisfies never;
    }
  }

  #failed(task: Task, result: CallResult<unknown> & { kind: 'retryable' }): void {
    // Whoever stopped the pool leaves it to the next run to ask again.
    if (this.#stopped) return;
    const now = this.#options.monotonicNow();
    // Only a first failure tells something new: many lookups that the service cannot digest may be left over at the end.
    const opened = this.#circuit.failed(task.attempts === 0 ? task.call : null, now);
    if (opened) this.#options.events.circuit(true);
    if (this.#circuit.open) {
      // The service is down, not this lookup: its attempt is not held against it. The next probe is another lookup.
      this.#options.events.retrying(task.call.step, result.code);
      if (this.#circuit.outageMs(now) > this.#options.maxOutageMs) this.#fatal(outageError(this.#circuit.outageMs(now), result.code, result.detail));
      else this.#probeLater();
      this.#enqueue(task);
      return;
    }
    task.attempts++;
    if (task.attempts >= MAX_ATTEMPTS) {
      task.call.settle({ kind: 'failed', rejected: false, status: result.meta.status, code: result.code, attempts: task.attempts, requestId: result.meta.requestId });
      return;
    }
    this.#options.events.retrying(task.call.step, result.code);
    this.#later(retryDelayMs(task.attempts, result.retryAfterMs, this.#options.random()), () => this.#enqueue(task, AGAIN));
  }

  /** While the circuit is open the queue stands still, but for one call at a time when a probe is due. */
  #probeLater(): void {
    if (this.#queue.isPaused) return;
    this.#queue.pause();
    this.#queue.concurrency = 1;
    this.#later(this.#circuit.waitMs(this.#options.monotonicNow()), () => this.#queue.start());
  }

  #closeCircuit(): void {
    if (!this.#circuit.answered()) return;
    this.#options.events.circuit(false);
    this.#queue.concurrency = this.#concurrency;
    this.#queue.start();
  }

  /** Whether the service asks to wait longer, from its first "later" on, than the job may; ends the run then. */
  #waitsTooLong(): boolean {
    const pausedMs = this.#options.limiter.pausedMs();
    if (pausedMs === 0) return false;
    const waitMs = pausedMs + (this.#throttledSince === null ? 0 : this.#options.monotonicNow() - this.#throttledSince);
    if (waitMs <= this.#options.maxWaitMs) return false;
    this.#fatal(waitError(waitMs));
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
