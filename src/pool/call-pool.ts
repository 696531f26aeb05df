import PQueue from 'p-queue';
import type { CallResult } from '../client/types.ts';
import { EXIT, MillraceError } from '../errors.ts';
import type { Limiter } from '../limiter/limiter.ts';
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

/**
 * How many calls at once, and what happens when one fails: the one place that retries.
 *
 * A task goes: waiting -> (a slot of p-queue) -> (a permit of the limiter) -> sent -> settled, or back to waiting.
 * The permit is taken last, in the slot, so that a call leaves at the moment its permit is valid for.
 */
export class CallPool {
  readonly #options: CallPoolOptions;
  readonly #queue: PQueue;
  readonly #auto: AdaptiveConcurrency | null;
  readonly #circuit = new Circuit();
  #fresh: Task[] = [];
  #freshHead = 0;
  #again: Task[] = [];
  readonly #backingOff = new Set<NodeJS.Timeout>();
  #pumping = false;
  #stopped = false;
  #roomWanted: (() => void)[] = [];
  #wakeProbe: (() => void) | null = null;

  constructor(options: CallPoolOptions) {
    this.#options = options;
    this.#auto = options.concurrency === 'auto' ? new AdaptiveConcurrency() : null;
    this.#queue = new PQueue({ concurrency: this.#auto?.limit ?? (options.concurrency as number) });
  }

  /** Calls that are not settled: waiting, sent, or between attempts. */
  get unsettled(): number {
    return this.#fresh.length - this.#freshHead + this.#again.length + this.#queue.size + this.#queue.pending + this.#backingOff.size;
  }

  get concurrency(): number {
    return this.#queue.concurrency;
  }

  get circuitOpen(): boolean {
    return this.#circuit.open;
  }

  submit<T>(call: Call<T>): void {
    if (this.#stopped) return;
    this.#fresh.push({ call: call as Call<unknown>, attempts: 0 });
    this.#pump();
  }

  /** Back-pressure: null when more calls are welcome, else a promise of that. */
  room(): Promise<void> | null {
    if (this.#waiting() < this.#queue.concurrency || this.#stopped) return null;
    return new Promise((resolve) => this.#roomWanted.push(resolve));
  }

  /** Sends nothing more. Resolves when everything that was sent has been answered. */
  async drain(): Promise<void> {
    this.#stopped = true;
    this.#fresh = [];
    this.#freshHead = 0;
    this.#again = [];
    for (const timer of this.#backingOff) clearTimeout(timer);
    this.#backingOff.clear();
    this.#wakeProbe?.();
    this.#releaseRoom();
    await this.#options.limiter.stop();
    await this.#queue.onIdle();
  }

  #waiting(): number {
    return this.#fresh.length - this.#freshHead + this.#again.length;
  }

  #next(): Task | undefined {
    const again = this.#again.shift();
    if (again !== undefined) return again;
    const task = this.#fresh[this.#freshHead];
    if (task === undefined) return undefined;
    if (++this.#freshHead > 1_024) {
      this.#fresh = this.#fresh.slice(this.#freshHead);
      this.#freshHead = 0;
    }
    return task;
  }

  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    void this.#pumpLoop();
  }

  async #pumpLoop(): Promise<void> {
    while (!this.#stopped && this.#waiting() > 0) {
      if (this.#circuit.open) await this.#probeTurn();
      else if (this.#queue.size > 0) await this.#queue.onSizeLessThan(1);
      const task = this.#stopped ? undefined : this.#next();
      if (task !== undefined) this.#queue.add(() => this.#attempt(task)).catch((error: unknown) => this.#options.onFatal(error));
      if (this.#roomWanted.length > 0 && this.#waiting() < this.#queue.concurrency) this.#releaseRoom();
    }
    this.#pumping = false;
  }

  /** While the circuit is open: one call at a time, when the next probe is due. */
  async #probeTurn(): Promise<void> {
    await this.#queue.onIdle();
    const waitMs = this.#circuit.waitMs(this.#options.monotonicNow());
    if (waitMs === 0 || this.#stopped) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      this.#wakeProbe = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wakeProbe = null;
  }

  async #attempt(task: Task): Promise<void> {
    const { call } = task;
    const { limiter, events } = this.#options;
    const taken = limiter.take();
    const granted = typeof taken === 'boolean' ? taken : await taken;
    if (!granted || this.#stopped) return;
    if (!this.#options.mayCall()) {
      this.#fatal(new MillraceError(EXIT.refused, 'max_calls', 'limits.maxCalls is reached: the job stopped before sending another request', { hint: 'Raise --max-calls and run the same command: the job resumes.' }));
      return;
    }
    events.sent(call.step);
    const result = await call.send();
    limiter.observe({ headers: result.meta.headers, throttled: result.kind === 'throttled', retryAfterMs: 'retryAfterMs' in result ? result.retryAfterMs : null });
    events.answered(call.step, result);
    this.#act(task, result);
  }

  #act(task: Task, result: CallResult<unknown>): void {
    const { call } = task;
    const requestId = result.meta.requestId;
    if (this.#auto !== null && result.kind !== 'throttled') this.#queue.concurrency = this.#auto.observe(result.meta.latencyMs, result.kind !== 'retryable');
    if (result.kind !== 'retryable' && this.#circuit.answered()) this.#options.events.circuit(false);
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
        if (this.#options.limiter.pausedMs() > this.#options.maxWaitMs) this.#fatal(waitError(this.#options.limiter.pausedMs()));
        this.#requeue(task);
        return;
      case 'retryable':
        this.#failed(task, result);
        return;
      default:
        result satisfies never;
    }
  }

  #failed(task: Task, result: CallResult<unknown> & { kind: 'retryable' }): void {
    const now = this.#options.monotonicNow();
    const wasOpen = this.#circuit.open;
    if (this.#circuit.failed(task.call, now)) this.#options.events.circuit(true);
    if (this.#circuit.open) {
      if (this.#circuit.outageMs(now) > this.#options.maxOutageMs) this.#fatal(outageError(this.#circuit.outageMs(now), result.code, result.detail));
      // The service is down, not this lookup: its attempt is not held against it.
      this.#options.events.retrying(task.call.step, result.code);
      if (wasOpen) this.#fresh.push(task);
      else this.#requeue(task);
      this.#pump();
      return;
    }
    task.attempts++;
    if (task.attempts >= MAX_ATTEMPTS) {
      task.call.settle({ kind: 'failed', rejected: false, status: result.meta.status, code: result.code, attempts: task.attempts, requestId: result.meta.requestId });
      return;
    }
    if (this.#stopped) return;
    this.#options.events.retrying(task.call.step, result.code);
    const timer = setTimeout(() => {
      this.#backingOff.delete(timer);
      this.#requeue(task);
    }, retryDelayMs(task.attempts, result.retryAfterMs, this.#options.random()));
    this.#backingOff.add(timer);
  }

  #requeue(task: Task): void {
    if (this.#stopped) return;
    this.#again.push(task);
    this.#pump();
  }

  #releaseRoom(): void {
    const wanted = this.#roomWanted;
    this.#roomWanted = [];
    for (const resolve of wanted) resolve();
  }

  #fatal(error: MillraceError): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#options.onFatal(error);
  }
}
