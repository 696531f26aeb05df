/** Calls over time in a bounded number of slots. When the slots become too many, their width doubles. Pure. */

/** One slot of time in which the job ran. */
export interface CallSlot {
  /** Start of the slot, in slot widths since 1970, by the wall clock. */
  readonly number: number;
  /** Requests sent. */
  readonly calls: number;
  /** Requests that the plan permitted in this time. 0 when the plan is unlimited. */
  readonly permitted: number;
  /** Milliseconds without requests because the service asked to wait. */
  readonly throttledMs: number;
  /** Milliseconds without requests because the service was down. */
  readonly downMs: number;
}

export interface CallTimeline {
  /** Milliseconds of each slot. */
  readonly widthMs: number;
  /** In order. Slots in which nothing ran are left out. */
  readonly slots: readonly CallSlot[];
}

/**
 * The stored form. Each slot is `[after, calls, permitted, throttledMs, downMs]`; `after` counts the slots since the beginning of the slot
 * before.
 */
export interface StoredSlots {
  readonly widthMs: number;
  readonly slots: readonly (readonly number[])[];
}

/** Milliseconds of the narrowest slot. Every other width is a power of two times this, so that any two series fit together. */
export const NARROWEST_MS = 1_000;

/** Adds series into one of at most `most` slots (two or more), with the narrowest width that fits. Sums are unchanged. */
export function joinSlots(all: readonly CallTimeline[], most: number): CallTimeline {
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

/** The stored form: whole milliseconds, and hundredths of permits. */
export function storeSlots({ widthMs, slots }: CallTimeline): StoredSlots {
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

/** @param kept undefined for a checkpoint without a series */
export function readSlots(kept: StoredSlots | undefined): CallTimeline {
  let number = 0;
  const slots = (kept?.slots ?? []).map(([after = 0, calls = 0, permitted = 0, throttledMs = 0, downMs = 0]) => {
    number += after;
    return { number, calls, permitted, throttledMs, downMs };
  });
  return { widthMs: kept?.widthMs ?? NARROWEST_MS, slots };
}
