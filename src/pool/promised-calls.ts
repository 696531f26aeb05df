import { sizeOf, type SettledCall, type Task } from './call.ts';
import type { CallPoolOptions, MayCall } from './call-pool-options.ts';
import type { Step } from '../steps/registry.ts';
import { OpenPromises } from './open-promises.ts';

interface PromisedCallsOptions extends Pick<CallPoolOptions, 'mayCall' | 'events' | 'maxOpenOf' | 'promises'> {
  /** Lets a parked call begin again. */
  readonly start: (task: Task) => void;
  /** A call was parked, and still has its slot. */
  readonly onParked: () => void;
}

/**
 * The calls of a pool whose answers a provider has promised, and the calls that are parked. A parked call has neither a slot nor a permit:
 * it waits for credits that are reserved for promised answers, or until fewer promises are open. Parked calls wake one after another: each
 * that may go wakes the next, so that an answer costs one look at the limits.
 */
export class PromisedCalls {
  readonly #options: PromisedCallsOptions;
  /** Shared by all pools of the run. */
  readonly #promises: OpenPromises;
  /** Promises that calls of this pool ask for. */
  #own = 0;
  /** By step, where it has a limit: calls that have a promise, or may get one. */
  readonly #mayOpen = new Map<Step, Set<Task>>();
  #parked: Task[] = [];
  /** The parked call that is on its way to be looked at again. */
  #woken: Task | null = null;
  #isStopped = false;

  constructor(options: PromisedCallsOptions) {
    this.#options = options;
    this.#promises = options.promises ?? new OpenPromises();
    this.#promises.onEnded(() => this.wake());
  }

  /** Calls that are parked. */
  get parked(): number {
    return this.#parked.length;
  }

  /** A call asks for what was promised to an earlier run, if anything was. */
  rejoin(task: Task): void {
    const { promise } = task.call;
    if (promise === undefined) return;
    this.begin(task);
    this.#options.events.rejoined(sizeOf(task), promise.charged);
  }

  /** The provider has promised the answer. */
  begin(task: Task): void {
    if (task.isPromised) return;
    task.isPromised = true;
    this.#limited(task)?.add(task);
    this.#own++;
    this.#promises.began();
  }

  /** Settles a call; its promise, if it has one, is no longer asked for. */
  settle(task: Task, settled: SettledCall<unknown>): void {
    task.call.settle(settled);
    const wasCounted = this.#limited(task)?.delete(task) === true;
    if (!task.isPromised && wasCounted) this.wake();
    if (!task.isPromised || this.#isStopped) return;
    task.isPromised = false;
    this.#own--;
    this.#promises.ended(1);
  }

  /** Parks a call before it takes a permit, which would be lost. @returns whether it is parked */
  parksFirst(task: Task): boolean {
    if (this.#isFull(task)) {
      this.#park(task);
      return true;
    }
    if (this.#mayFree(task) && this.parks(task, this.#options.mayCall(sizeOf(task)))) return true;
    this.#limited(task)?.add(task);
    if (task !== this.#woken) return false;
    this.#woken = null;
    this.wake();
    return false;
  }

  /** The same by what the limits say. A call that can be divided is divided first. */
  parks(task: Task, may: MayCall): boolean {
    if (!this.#mayFree(task) || !(may === 'spent' || (may === 'smaller' && task.call.divisible !== true))) return false;
    this.#limited(task)?.delete(task);
    this.#park(task);
    return true;
  }

  #park(task: Task): void {
    if (task === this.#woken) {
      this.#woken = null;
      this.#parked.unshift(task);
    } else this.#parked.push(task);
    this.#options.onParked();
  }

  /** Credits may have become free. */
  wake(): void {
    if (this.#woken !== null || this.#isStopped) return;
    const first = this.#parked.shift();
    if (first === undefined) return;
    this.#woken = first;
    this.#options.start(first);
  }

  /** No call goes out any more: parked calls and promises are left to the next run. */
  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#parked = [];
    this.#promises.ended(this.#own);
  }

  /** The calls that count against the limit of a step; null without one. */
  #limited({ call: { step } }: Task): Set<Task> | null {
    if ((this.#options.maxOpenOf?.(step) ?? null) === null) return null;
    const known = this.#mayOpen.get(step) ?? new Set();
    this.#mayOpen.set(step, known);
    return known;
  }

  /** Whether another promise would be one too many. */
  #isFull(task: Task): boolean {
    const open = this.#limited(task);
    return open !== null && !open.has(task) && open.size >= (this.#options.maxOpenOf?.(task.call.step) ?? Infinity);
  }

  #mayFree({ isPromised }: Task): boolean {
    return !isPromised && this.#promises.open > 0;
  }
}
