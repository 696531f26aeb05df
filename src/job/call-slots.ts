/** Calls over time in slots, few of them however long it takes: the width of all doubles when there would be more. Pure. */

/** What happened in one slot of time in which a job ran. */
export interface CallSlot {
  /** It begins so many widths after 1970, by the wall clock. */
  readonly number: number;
  /** Requests sent. */
  readonly calls: number;
  /** Requests that the plan permitted in the time that the job ran; 0: it is unlimited. */
  readonly permitted: number;
  /** Milliseconds in which nothing was sent, because the service said "later". */
  readonly throttledMs: number;
  /** The same, because the service was down. */
  readonly downMs: number;
}

export interface CallSlots {
  /** Milliseconds of each slot. */
  readonly widthMs: number;
  /** In order; between two of them there may be any time in which nothing ran. */
  readonly slots: readonly CallSlot[];
}

/** As a checkpoint keeps them: `[after, calls, permitted, throttledMs, downMs]` a slot, `after` being how many slots lie between it and the beginning of the one before. */
export interface KeptSlots {
  readonly widthMs: number;
  readonly slots: readonly (readonly number[])[];
}

/** The narrowest slot, milliseconds. All others are its doubles, so that any two series fit into each other. */
export const NARROWEST_MS = 1_000;

/** Several series as one, in slots as narrow as leave `most` (two or more) of them. What they count stays the same in sum. */
export function joinSlots(all: readonly CallSlots[], most: number): CallSlots {
  for (let widthMs = Math.max(NARROWEST_MS, ...all.map((one) => one.widthMs)); ; widthMs *= 2) {
    const sums = new Map<number, CallSlot>();
    for (const { widthMs: before, slots } of all) {
      for (const slot of slots) {
        const number = Math.floor((slot.number * before) / widthMs);
        sums.set(number, sumOf({ ...slot, number }, sums.get(number)));
      }
    }
    if (sums.size <= most) return { widthMs, slots: [...sums.values()].sort((one, other) => one.number - other.number) };
  }
}

function sumOf(slot: CallSlot, other: CallSlot | undefined): CallSlot {
  if (other === undefined) return slot;
  return {
    number: slot.number,
    calls: slot.calls + other.calls,
    permitted: slot.permitted + other.permitted,
    throttledMs: slot.throttledMs + other.throttledMs,
    downMs: slot.downMs + other.downMs,
  };
}

/** For a checkpoint: whole milliseconds, and hundredths of permits. */
export function keepSlots({ widthMs, slots }: CallSlots): KeptSlots {
  let before = 0;
  return {
    widthMs,
    slots: slots.map(({ number, calls, permitted, throttledMs, downMs }) => {
      const after = number - before;
      before = number;
      return [after, calls, Math.round(permitted * 100) / 100, Math.round(throttledMs), Math.round(downMs)];
    }),
  };
}

/** @param kept undefined: of a checkpoint of before there were any */
export function readSlots(kept: KeptSlots | undefined): CallSlots {
  let number = 0;
  const slots = (kept?.slots ?? []).map(([after = 0, calls = 0, permitted = 0, throttledMs = 0, downMs = 0]) => {
    number += after;
    return { number, calls, permitted, throttledMs, downMs };
  });
  return { widthMs: kept?.widthMs ?? NARROWEST_MS, slots };
}
