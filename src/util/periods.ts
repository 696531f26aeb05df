/** Lengths of the periods of a quota, in milliseconds. A month counts 30 days. */
export const PERIODS_MS = { second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000, month: 30 * 86_400_000 } as const;
