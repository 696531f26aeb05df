/** How many deliveries are under way, in all and to each host: one that does not answer must not hold up the others. Pure. */

const MOST = 64;
const MOST_A_HOST = 8;
/** Hosts whose last attempt came to nothing are tried one at a time; more of them than this are forgotten. */
const MOST_TROUBLED = 10_000;

export class Slots {
  #taken = 0;
  readonly #byHost = new Map<string, number>();
  readonly #troubled = new Set<string>();

  /** How many more may be begun to a host. */
  free(host: string): number {
    const most = this.#troubled.has(host) ? 1 : MOST_A_HOST;
    return Math.max(0, Math.min(this.room, most - (this.#byHost.get(host) ?? 0)));
  }

  /** How many more in all. */
  get room(): number {
    return MOST - this.#taken;
  }

  take(host: string): void {
    this.#taken++;
    this.#byHost.set(host, (this.#byHost.get(host) ?? 0) + 1);
  }

  /** @param answered whether the host said anything at all */
  giveBack(host: string, answered: boolean): void {
    this.#taken--;
    const left = (this.#byHost.get(host) ?? 1) - 1;
    if (left === 0) this.#byHost.delete(host);
    else this.#byHost.set(host, left);
    if (answered) {
      this.#troubled.delete(host);
      return;
    }
    if (this.#troubled.size >= MOST_TROUBLED) this.#troubled.clear();
    this.#troubled.add(host);
  }
}
