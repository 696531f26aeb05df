import type { Wait } from '../../util/waits.ts';
import { BusyClock } from './busy-clock.ts';
import { ClaimsFile, type Claim, type GivenClaims, type LeftBehind } from './claims-file.ts';
import type { Presence } from './presence.ts';

interface MembershipOptions {
  readonly path: string;
  readonly presence: Presence;
  readonly keySeed: string;
  /** Monotonic milliseconds. */
  readonly monotonicNow: () => number;
}

/** A run's membership in the claims file. A member has its claims there, and knows which other runs do. */
export class Membership {
  readonly #options: MembershipOptions;
  readonly #busy: BusyClock;
  #file: ClaimsFile | null = null;
  #isMember = false;
  #members: ReadonlySet<number> = new Set();

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.#busy = new BusyClock(options.path, options.monotonicNow);
  }

  /**
   * One more step towards sharing. Returns whether the claims of all runs are in the file; if not, try again.
   * @param own hashes that this run asks for @param left see `ClaimsFile.join` @throws MillraceError 75
   */
  join(own: Iterable<number>, left: LeftBehind): boolean {
    const { path, presence, keySeed } = this.#options;
    this.#file ??= this.#busy.unlessBusy(ClaimsFile.open(path));
    if (this.#file === null) return false;
    this.#isMember ||= this.#busy.unlessBusy(this.#file.join(presence.id, keySeed, own, left)) !== null;
    if (!this.#isMember) return false;
    this.#members = this.#file.members();
    return this.#missing.length === 0;
  }

  /** See `ClaimsFile.exchange`. @throws 75 */
  exchange(given: GivenClaims, asked: readonly number[]): Claim[] | null {
    const { presence } = this.#options;
    if (this.#file === null) return null;
    return this.#busy.unlessBusy(this.#file.exchange(presence.id, given, asked, (id) => presence.isWaitedFor(id)));
  }

  /** The seeds of ended runs. */
  leftBehind(): LeftBehind {
    return this.#file?.leftBehind() ?? new Map();
  }

  /** When to try again, milliseconds. */
  get pauseMs(): number {
    return this.#busy.pauseMs;
  }

  /** Another process has the claims file locked. */
  get isBusy(): boolean {
    return this.#busy.untilMs !== null;
  }

  /** The reason why this run cannot claim yet. It ends with the leases of the runs it waits for, or when the run gives up. */
  get wait(): Wait {
    const untilMs = this.#busy.untilMs ?? this.#options.presence.endOf(this.#missing);
    return { reason: 'claim', what: 'another run to show what it is asking for', untilMs };
  }

  /** Releases the claims of an ended run. */
  forget(id: number): void {
    this.#file?.forget(id);
  }

  close(): void {
    this.#file?.close();
    this.#file = null;
    this.#isMember = false;
    this.#members = new Set();
  }

  /** Releases all claims of this run, and closes. */
  leave(): void {
    try {
      this.#file?.forget(this.#options.presence.id);
    } finally {
      this.close();
    }
  }

  get #missing(): number[] {
    return [...this.#options.presence.others.keys()].filter((id) => !this.#members.has(id));
  }
}
