import { Timers } from '../pool/timers.ts';
import type { PendingGroup } from './pending.ts';
import { RejoinedGroups } from './rejoined-groups.ts';
import type { StepAnswer } from './lookup-outcome.ts';

/** By key, in the order of the request. */
export type PendingMembers<R> = ReadonlyMap<string, StepAnswer<R>>;

/** Members in parts of at most `most`, in the same order. */
export function partsOf<R>(members: PendingMembers<R>, most: number): PendingMembers<R>[] {
  const parts: PendingMembers<R>[] = [];
  for (const all = [...members]; all.length > 0;) parts.push(new Map(all.splice(0, most)));
  return parts;
}

/** Groups of lookups that are polled again later. Groups of the run before are reassembled as its records arrive. */
export class PendingGroups<R> {
  readonly #timers = new Timers();
  readonly #pollForMs: number;
  readonly #due: (group: PendingGroup, members: PendingMembers<R>) => void;
  readonly #onHold: (lookups: number, waitMs: number) => void;
  /** When each held group is due (monotonic milliseconds), and its number of lookups. */
  readonly #held = new Map<PendingGroup, { readonly lookups: number; readonly untilMs: number }>();
  readonly #rejoined = new RejoinedGroups<PendingGroup, StepAnswer<R>>();

  /** @param due called when a group is due @param onHold called with the number of waiting lookups and the wait */
  constructor(
    pollForMs: number,
    due: (group: PendingGroup, members: PendingMembers<R>) => void,
    onHold: (lookups: number, waitMs: number) => void,
  ) {
    this.#pollForMs = pollForMs;
    this.#due = due;
    this.#onHold = onHold;
  }

  /** Groups of the run before that are still incomplete. */
  get incomplete(): number {
    return this.#rejoined.incomplete;
  }

  /** Held lookups, and when the first of them are polled (monotonic milliseconds); null without any. */
  get waiting(): { readonly lookups: number; readonly untilMs: number } | null {
    if (this.#held.size === 0) return null;
    let [lookups, untilMs] = [0, Infinity];
    for (const held of this.#held.values()) {
      lookups += held.lookups;
      untilMs = Math.min(untilMs, held.untilMs);
    }
    return { lookups, untilMs };
  }

  hold(group: PendingGroup, members: PendingMembers<R>): void {
    // A clock that was set back must not make the wait longer than the polling time.
    const waitMs = Math.max(0, Math.min(group.dueMs - Date.now(), this.#pollForMs));
    this.#onHold(members.size, waitMs);
    this.#held.set(group, { lookups: members.size, untilMs: performance.now() + waitMs });
    this.#timers.after(waitMs, () => {
      this.#held.delete(group);
      this.#due(group, members);
    });
  }

  /** A lookup that the run before was polling. */
  rejoin(key: string, answer: StepAnswer<R>, group: PendingGroup): void {
    const members = this.#rejoined.add(group, key, answer);
    if (members !== null) this.hold(group, members);
  }

  /** No more members arrive: each group is polled as it is. */
  goAsTheyAre(): void {
    for (const { group, members } of this.#rejoined.takeAll()) this.hold(group, members);
  }

  /** Forgets all groups. */
  clear(): void {
    this.stop();
    this.#rejoined.takeAll();
  }

  /** Polls nothing more. */
  stop(): void {
    this.#timers.clear();
    this.#held.clear();
  }
}
