/**
 * Counts the calls of a period in a bounded number of slots. A slot counts until all of it has left the period. Pure: time is passed in.
 */

import { restoreSlots, saveSlots, SLOTS, type RecentSlots, type SavedSlots } from '../recent-slots.ts';

interface Slot {
  endMs: number;
  calls: number;
  readonly fromMs: number;
}

export class SpentSlots {
  readonly #widthMs: number;
  readonly #spanMs: number;
  /** The last call of each slot and its number of calls, oldest first. */
  #slots: Slot[] = [];

  /** @param periodMs the longest period that is asked for, without the spread of latencies */
  constructor(periodMs: number) {
    this.#widthMs = periodMs / SLOTS;
    this.#spanMs = 2 * periodMs + 60_000;
  }

  add(nowMs: number): void {
    const last = this.#slots.at(-1);
    if (last !== undefined && nowMs - last.fromMs < this.#widthMs) {
      last.endMs = Math.max(last.endMs, nowMs);
      last.calls++;
      return;
    }
    while ((this.#slots[0]?.endMs ?? Infinity) < nowMs - this.#spanMs) this.#slots.shift();
    this.#slots.push({ fromMs: nowMs, endMs: nowMs, calls: 1 });
  }

  /** Calls of the last `ms`. */
  within(nowMs: number, ms: number): number {
    let calls = 0;
    for (let i = this.#slots.length - 1; i >= 0; i--) {
      const slot = this.#slots[i] as Slot;
      if (slot.endMs <= nowMs - ms) break;
      calls += slot.calls;
    }
    return calls;
  }

  /** When fewer than `limit` calls are within `ms`. */
  freeAt(nowMs: number, ms: number, limit: number): number {
    let calls = this.within(nowMs, ms);
    for (const { endMs, calls: callsInSlot } of this.#slots) {
      if (calls < limit) break;
      if (endMs <= nowMs - ms) continue;
      calls -= callsInSlot;
      if (calls < limit) return endMs + ms;
    }
    return nowMs;
  }

  /** @param inFlight calls that may be decided on at any moment from now */
  save(nowMs: number, wallMs: number, inFlight: number): SavedSlots {
    const recent = this.#slots.filter(({ endMs }) => endMs > nowMs - this.#spanMs / 2);
    const slots = recent.map(({ endMs, calls }) => [endMs, calls] as const);
    return saveSlots(inFlight === 0 ? slots : [...slots, [nowMs, inFlight]], nowMs, wallMs);
  }

  /** Adds calls that are later than all others. */
  addEarlier(slots: RecentSlots): void {
    for (const [endMs, calls] of slots) this.#slots.push({ fromMs: endMs, endMs, calls });
  }

  restore(saved: SavedSlots, nowMs: number, wallMs: number): void {
    this.#slots = restoreSlots(saved, nowMs, wallMs).map(([endMs, calls]) => ({ fromMs: endMs, endMs, calls }));
  }
}
