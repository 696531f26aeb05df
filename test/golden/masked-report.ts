/** A report without what differs from run to run. Pure. */

const VOLATILE = new Set(['startedAt', 'finishedAt', 'endedAt', 'goesOnAt', 'at', 'ms', 'activeMs', 'waitedMs', 'usedShare', 'permitted']);

/** Null in a short run, on a fast machine. */
const MEASURED = new Set(['latencyMs', 'recordsPerSecond']);

/** Keys that reports have had only since the files were recorded. */
const LATER = new Set(['people', 'companies', 'creditsAtLeast']);

/** Lists whose entries depend on the machine's speed: only the keys of an entry are compared. */
const BY_SPEED = new Set(['slots', 'slowest', 'mostRetried']);

/** Volatile values are replaced by their kind, so that the keys stay compared. */
export function maskedReport(report: unknown): string {
  return `${JSON.stringify(masked(report), null, 1)}\n`;
}

function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).flatMap(([key, inner]) => (LATER.has(key) ? [] : [[key, maskedAt(key, inner)]])));
}

function maskedAt(key: string, value: unknown): unknown {
  if (MEASURED.has(key)) return 'measured';
  if (VOLATILE.has(key) && value !== null) return `a ${typeof value}`;
  if (BY_SPEED.has(key) && Array.isArray(value)) return Object.keys((value[0] as object | undefined) ?? {});
  return masked(value);
}
