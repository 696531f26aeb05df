/**
 * Calls of the last minute in a bounded number of slots, as they pass from one run to the next. A slot counts until all of it has left the
 * minute. Pure: time is passed in.
 */

/** Slots of a period. A slot may delay the calls after it by this part of the period at most. */
export const SLOTS = 240;

/** `[end, calls]` for each slot, oldest first. `end` is monotonic milliseconds. */
export type RecentSlots = readonly (readonly [endMs: number, calls: number])[];
/** The same with `end` in epoch milliseconds. */
export type SavedSlots = RecentSlots;

/** Slots of at most `SLOTS` a period, from slots in the order of their ends. */
export function joinRecent(slots: RecentSlots, periodMs: number): RecentSlots {
  const joined: { readonly fromMs: number; endMs: number; calls: number }[] = [];
  for (const [endMs, calls] of slots) {
    const last = joined.at(-1);
    if (last === undefined || endMs - last.fromMs >= periodMs / SLOTS) joined.push({ fromMs: endMs, endMs, calls });
    else [last.endMs, last.calls] = [endMs, last.calls + calls];
  }
  return joined.map(({ endMs, calls }) => [endMs, calls]);
}

/** The calls after `fromMs`, and only the newest of them when there are more than `most`. */
export function newestCalls(slots: RecentSlots, fromMs: number, most: number): RecentSlots {
  let left = most;
  return slots
    .filter(([endMs]) => endMs > fromMs)
    .toReversed()
    .map(([endMs, calls]) => {
      const taken = Math.min(calls, left);
      left -= taken;
      return [endMs, taken] as const;
    })
    .toReversed();
}

/** One of `of` equal parts of the calls. Together the parts hold all of them, and fewer than `of` more. */
export function partOfCalls(slots: RecentSlots, of: number): RecentSlots {
  let later = 0;
  return slots
    .toReversed()
    .map(([endMs, calls]) => {
      const before = Math.ceil(later / of);
      later += calls;
      return [endMs, Math.ceil(later / of) - before] as const;
    })
    .toReversed();
}

/** @param wallMs wall clock of `nowMs` */
export function saveSlots(slots: RecentSlots, nowMs: number, wallMs: number): SavedSlots {
  return slots.map(([endMs, calls]) => [Math.ceil(endMs - nowMs + wallMs), calls]);
}

/** A clock that was set back does not move calls into the future. */
export function restoreSlots(saved: SavedSlots, nowMs: number, wallMs: number): RecentSlots {
  return saved.map(([endMs, calls]) => [nowMs - Math.max(0, wallMs - endMs), calls]);
}
