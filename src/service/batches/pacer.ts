/** Lets jobs have the one thread in slices, one at a time and in turn, and less of it while requests come: those wait for a slice at the most. */
import { setTimeout as sleep } from 'node:timers/promises';

/** How long a slice is when nobody else wants anything, and while requests come, milliseconds. */
const ALONE_MS = 8;
const BESIDE_MS = 1;
/** After a slice beside requests they have the thread for so long, milliseconds. */
const REST_MS = 4;

export class Pacer {
  readonly #arrived: () => number;
  readonly #clock: () => number;
  #before = 0;
  #last: Promise<unknown> = Promise.resolve();

  /** @param arrived how many requests have come so far @param clock monotonic, milliseconds */
  constructor(arrived: () => number, clock: () => number) {
    this.#arrived = arrived;
    this.#clock = clock;
  }

  /** Does `step` again and again until it says that it is done, in slices that others have their turn between. */
  async work(step: () => boolean): Promise<void> {
    while (!(await this.#slice(step)));
  }

  /** Waits for its turn. */
  #slice(step: () => boolean): Promise<boolean> {
    const turn = this.#last.then(async () => {
      const endMs = (await this.#rest()) + this.#clock();
      while (!step()) if (this.#clock() >= endMs) return false;
      return true;
    });
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** Resolves with how long a slice may be. */
  async #rest(): Promise<number> {
    const arrived = this.#arrived();
    const isBeside = arrived !== this.#before;
    this.#before = arrived;
    // A turn of the event loop at least: what has come meanwhile is served first. It keeps the process, which would else end here before it has stopped in order.
    await sleep(isBeside ? REST_MS : 0);
    return isBeside ? BESIDE_MS : ALONE_MS;
  }
}
