/** How many attempts are under way, in all, to each host and for each key: who does not answer, or has much to send, must not hold up the others. Pure. */

/** Of these hosts are tried one at a time by a key; more of them are forgotten. */
const MOST_TROUBLED = 10_000;

/** What shares slots: attempts for one key to one host. */
export interface Lane {
  readonly keyId: string;
  /** With its port. */
  readonly host: string;
}

export interface SlotsOptions {
  readonly most: number;
  readonly mostAHost: number;
}

/** A key holds no more than it leaves free, of all slots and of each host's: alone half of them, beside others as many as each of those, and who comes new always finds one before long. */
export class Slots {
  readonly #options: SlotsOptions;
  readonly #all = new Share();
  readonly #byHost = new Map<string, Share>();
  /** Lanes whose last attempt came to nothing. */
  readonly #troubled: Set<string>;

  constructor(options: SlotsOptions, troubled = new Set<string>()) {
    this.#options = options;
    this.#troubled = troubled;
  }

  /** How many more may be begun. */
  free({ keyId, host }: Lane): number {
    const { most, mostAHost } = this.#options;
    const ofHost = this.#byHost.get(host) ?? NOBODY;
    const ofLane = this.#troubled.has(nameOf({ keyId, host })) ? 1 - ofHost.heldBy(keyId) : mostAHost;
    return Math.max(0, Math.min(this.#all.freeFor(keyId, most), ofHost.freeFor(keyId, mostAHost), ofLane));
  }

  /** Whether a key may begin nothing at all. */
  isFull(keyId: string): boolean {
    return this.#all.freeFor(keyId, this.#options.most) === 0;
  }

  /** How many more in all. */
  get room(): number {
    return this.#options.most - this.#all.held;
  }

  take({ keyId, host }: Lane): void {
    this.#all.take(keyId);
    let ofHost = this.#byHost.get(host);
    if (ofHost === undefined) this.#byHost.set(host, (ofHost = new Share()));
    ofHost.take(keyId);
  }

  /** @param isWell whether there is no reason to go easy on the host */
  giveBack({ keyId, host }: Lane, isWell: boolean): void {
    this.#all.giveBack(keyId);
    const ofHost = this.#byHost.get(host);
    ofHost?.giveBack(keyId);
    if (ofHost?.held === 0) this.#byHost.delete(host);
    const name = nameOf({ keyId, host });
    if (isWell) {
      this.#troubled.delete(name);
      return;
    }
    if (this.#troubled.size >= MOST_TROUBLED) this.#troubled.clear();
    this.#troubled.add(name);
  }

  /** The same, to plan with: what is taken of it is not taken here. */
  copy(): Slots {
    const copy = new Slots(this.#options, this.#troubled);
    for (const [host, share] of this.#byHost) for (const [keyId, held] of share.holders()) for (let n = 0; n < held; n++) copy.take({ keyId, host });
    return copy;
  }
}

/** Slots by the keys that hold them. */
class Share {
  readonly #byKey = new Map<string, number>();
  held = 0;

  heldBy(keyId: string): number {
    return this.#byKey.get(keyId) ?? 0;
  }

  /** How many more a key may take of `most`: at each, it holds fewer than are free. */
  freeFor(keyId: string, most: number): number {
    return Math.max(0, Math.floor((most - this.held - this.heldBy(keyId) + 1) / 2));
  }

  take(keyId: string): void {
    this.held++;
    this.#byKey.set(keyId, this.heldBy(keyId) + 1);
  }

  giveBack(keyId: string): void {
    this.held--;
    const left = this.heldBy(keyId) - 1;
    if (left === 0) this.#byKey.delete(keyId);
    else this.#byKey.set(keyId, left);
  }

  holders(): Iterable<[string, number]> {
    return this.#byKey;
  }
}

const NOBODY = new Share();

/** A lane as one text: no host has a line end in it. */
export function nameOf({ keyId, host }: Lane): string {
  return `${host}\n${keyId}`;
}
