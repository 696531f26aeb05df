import type { VerificationResult } from '../client/types.ts';
import { Timers } from '../pool/timers.ts';
import type { PendingGroup } from './pending.ts';
import { RejoinedGroups } from './rejoined-groups.ts';
import type { Answered } from './result.ts';

/** By address, in the order of the request. */
export type Members = ReadonlyMap<string, Answered<VerificationResult>>;

/** Groups of addresses that wait to be asked about again. Those of a run before are put together again as its records come by. */
export class PendingGroups {
  readonly #timers = new Timers();
  readonly #patienceMs: number;
  readonly #due: (group: PendingGroup, members: Members) => void;
  readonly #onHold: (addresses: number, waitMs: number) => void;
  /** When each group that is held is due (monotonic milliseconds), and how many addresses it has. */
  readonly #held = new Map<PendingGroup, { readonly addresses: number; readonly untilMs: number }>();
  readonly #rejoined = new RejoinedGroups<PendingGroup, Answered<VerificationResult>>();

  /** @param due called when a group's time has come. @param onHold told who waits, and how long */
  constructor(patienceMs: number, due: (group: PendingGroup, members: Members) => void, onHold: (addresses: number, waitMs: number) => void) {
    this.#patienceMs = patienceMs;
    this.#due = due;
    this.#onHold = onHold;
  }

  /** Groups of a run before of which members are missing. */
  get incomplete(): number {
    return this.#rejoined.incomplete;
  }

  /** Addresses that are held, and when the first of them are asked for again (monotonic milliseconds); null: there are none. */
  get waiting(): { readonly addresses: number; readonly untilMs: number } | null {
    if (this.#held.size === 0) return null;
    let [addresses, untilMs] = [0, Infinity];
    for (const held of this.#held.values()) {
      addresses += held.addresses;
      untilMs = Math.min(untilMs, held.untilMs);
    }
    return { addresses, untilMs };
  }

  hold(group: PendingGroup, members: Members): void {
    // A clock that was set back must not make the wait longer than patience.
    const waitMs = Math.max(0, Math.min(group.dueMs - Date.now(), this.#patienceMs));
    this.#onHold(members.size, waitMs);
    this.#held.set(group, { addresses: members.size, untilMs: performance.now() + waitMs });
    this.#timers.after(waitMs, () => {
      this.#held.delete(group);
      this.#due(group, members);
    });
  }

  /** An address that the run before was waiting for. */
  rejoin(email: string, answer: Answered<VerificationResult>, group: PendingGroup): void {
    const members = this.#rejoined.add(group, email, answer);
    if (members !== null) this.hold(group, members);
  }

  /** Nobody else is coming: each group goes as it is. */
  goAsTheyAre(): void {
    for (const { group, members } of this.#rejoined.takeAll()) this.hold(group, members);
  }

  /** Nobody is asked about again. */
  stop(): void {
    this.#timers.clear();
    this.#held.clear();
  }
}
