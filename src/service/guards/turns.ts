/**
 * Shares the event loop between requests. Work that may take longer than a few milliseconds is cut into steps: some of them run in each
 * turn of the loop, and the rest waits for the next turns. Each API key has a queue, and the queues are served round robin.
 *
 * The time for steps within a turn is a share of the time that everything else took since the last steps. So searches leave lookups more
 * than half of the thread. While nobody else is there, the time doubles up to `MOST_MS`.
 */
import type { Steps } from '../../util/steps.ts';

/** The most and the least time for steps within a turn, milliseconds. A turn by itself costs some hundredths of a millisecond. */
const [MOST_MS, LEAST_MS] = [5, 0.25];
/** Time for steps, as a share of the time that all else took. */
const SHARE = 0.6;
/** When all else took less than this, nobody else was there, milliseconds. */
const IDLE_MS = 0.1;

/** How far steps came: to their end, to the end of their time, or to a promise. */
type Progress<T> =
  | { readonly at: 'end'; readonly value: T }
  | { readonly at: 'pause' }
  | { readonly at: 'promise'; readonly promise: Promise<unknown> };

interface Task {
  readonly steps: Steps<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const PAUSED = { at: 'pause' } as const;

export class Turns {
  readonly #clock: () => number;
  readonly #nextTurn: (run: () => void) => void;
  /** Tasks that wait, by key, in the order of their next service. */
  readonly #queues = new Map<string, Task[]>();
  /** Queues whose first task waits for a promise. */
  readonly #parked = new Map<string, Task[]>();
  #hasBegun = false;
  /** Time that was given to steps in this turn, and what is left of it. */
  #givenMs = MOST_MS;
  #leftMs = 0;
  /** When steps ended last. */
  #lastMs = -Infinity;

  /** @param clock monotonic, milliseconds @param nextTurn calls a function in the next turn of the event loop */
  constructor(clock: () => number, nextTurn: (run: () => void) => void = (run) => setImmediate(run)) {
    this.#clock = clock;
    this.#nextTurn = nextTurn;
  }

  /**
   * Does work in the queue of a key. Steps that fit into the rest of this turn are done at once; if these are all, there is no promise.
   * @throws errors of the steps
   */
  run<T>(key: string, steps: Steps<T>): T | Promise<T> {
    this.#beginTurn();
    const mayBegin = this.#queues.size === 0 && !this.#parked.has(key) && this.#leftMs > 0;
    const progress = mayBegin ? this.#advance(steps) : PAUSED;
    if (progress.at === 'end') return progress.value;
    return new Promise<T>((resolve, reject) => {
      const task: Task = { steps, resolve: resolve as Task['resolve'], reject };
      const tasks = this.#parked.get(key) ?? this.#queues.get(key) ?? [];
      tasks.push(task);
      if (progress.at === 'promise') this.#park(key, tasks, progress.promise);
      else if (!this.#parked.has(key)) this.#queues.set(key, tasks);
    });
  }

  #beginTurn(): void {
    if (this.#hasBegun) return;
    const otherMs = this.#clock() - this.#lastMs;
    this.#givenMs = otherMs < IDLE_MS ? Math.min(MOST_MS, 2 * this.#givenMs) : Math.max(LEAST_MS, Math.min(MOST_MS, SHARE * otherMs));
    this.#leftMs = this.#givenMs;
    this.#hasBegun = true;
    this.#nextTurn(() => this.#endTurn());
  }

  #endTurn(): void {
    this.#hasBegun = false;
    if (this.#queues.size === 0) return;
    this.#beginTurn();
    for (let next = this.#nextQueue(); next !== null && this.#leftMs > 0; next = this.#nextQueue()) this.#serve(...next);
  }

  #nextQueue(): [string, Task[]] | null {
    const { value } = this.#queues.entries().next();
    return value ?? null;
  }

  /** Goes on with the first task of a queue; then the queue is the last in order. */
  #serve(key: string, tasks: Task[]): void {
    this.#queues.delete(key);
    const [task] = tasks as [Task];
    let progress: Progress<unknown>;
    try {
      progress = this.#advance(task.steps);
      if (progress.at === 'end') task.resolve(progress.value);
    } catch (error) {
      progress = { at: 'end', value: undefined };
      task.reject(error);
    }
    if (progress.at === 'end') tasks.shift();
    if (progress.at === 'promise') this.#park(key, tasks, progress.promise);
    else if (tasks.length > 0) this.#queues.set(key, tasks);
  }

  #park(key: string, tasks: Task[], promise: Promise<unknown>): void {
    this.#parked.set(key, tasks);
    void promise.then(() => {
      this.#parked.delete(key);
      this.#queues.set(key, tasks);
      this.#beginTurn();
    });
  }

  /** Takes steps until their end, a promise, or the end of the time. */
  #advance<T>(steps: Steps<T>): Progress<T> {
    const startMs = this.#clock();
    let nowMs = startMs;
    try {
      for (;;) {
        const { done, value } = steps.next();
        nowMs = this.#clock();
        if (done === true) return { at: 'end', value };
        if (typeof value !== 'number') return { at: 'promise', promise: value };
        if (nowMs - startMs >= this.#leftMs) return PAUSED;
      }
    } finally {
      this.#leftMs -= nowMs - startMs;
      this.#lastMs = nowMs;
    }
  }
}
