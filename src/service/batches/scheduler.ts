/** Shares the event loop between batch jobs and requests. Jobs run in slices, one at a time; slices are shorter while requests arrive. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunSteps, Steps } from '../../util/steps.ts';

/** The length of a slice while no requests arrive, and while requests arrive, milliseconds. */
const IDLE_SLICE_MS = 8;
const BUSY_SLICE_MS = 1;
/** The pause before a slice while requests arrive, milliseconds. */
const BUSY_PAUSE_MS = 4;

export class Scheduler {
  readonly #arrived: () => number;
  readonly #clock: () => number;
  #lastArrived = 0;
  #last: Promise<unknown> = Promise.resolve();

  /** @param arrived the number of requests so far @param clock monotonic, milliseconds */
  constructor(arrived: () => number, clock: () => number) {
    this.#arrived = arrived;
    this.#clock = clock;
  }

  /** Calls `step` in slices until it returns true. */
  async run(step: () => boolean): Promise<void> {
    while (!(await this.#slice(step)));
  }

  /** Takes steps in slices. @throws errors of the steps */
  readonly take: RunSteps = <T>(steps: Steps<T>): Promise<T> => this.#take(steps);

  async #take<T>(steps: Steps<T>): Promise<T> {
    for (;;) {
      const last = await this.#untilPromise(steps);
      if (last.done === true) return last.value;
      await last.value;
    }
  }

  /** Takes steps until their end, or until they wait. */
  async #untilPromise<T>(steps: Steps<T>): Promise<IteratorResult<number | Promise<unknown>, T>> {
    let last: IteratorResult<number | Promise<unknown>, T> = { done: false, value: 0 };
    await this.run(() => {
      last = steps.next();
      return last.done === true || typeof last.value !== 'number';
    });
    return last;
  }

  /** Runs one slice, after the earlier ones. */
  #slice(step: () => boolean): Promise<boolean> {
    const turn = this.#last.then(async () => {
      const endMs = (await this.#pause()) + this.#clock();
      while (!step()) if (this.#clock() >= endMs) return false;
      return true;
    });
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** Pauses before a slice. Resolves with the length of the slice, milliseconds. */
  async #pause(): Promise<number> {
    const arrived = this.#arrived();
    const isBusy = arrived !== this.#lastArrived;
    this.#lastArrived = arrived;
    // At least one turn of the event loop, so that waiting requests run first. The timer keeps the process alive.
    await sleep(isBusy ? BUSY_PAUSE_MS : 0);
    return isBusy ? BUSY_SLICE_MS : IDLE_SLICE_MS;
  }
}
