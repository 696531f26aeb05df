/** From the texts that state a window's quota to numbers: of the usual headers and of those that a definition declares. Pure. */
import { PERIODS_MS } from '../../util/periods.ts';
import type { PlanWindow, QuotaReading, WindowReading } from './quota-reading.ts';
import type { StatedReset } from './stated-reset.ts';

/** The texts that state one window. */
export interface WindowTexts {
  limit?: string;
  remaining?: string;
  used?: string;
  reset?: string;
}

/** Windows by their period, milliseconds. */
export type WindowsByPeriod = Map<number, WindowTexts>;

/** The windows that have numbers. @param readReset null for a text that it cannot read */
export function readWindows(
  windows: ReadonlyMap<number, WindowTexts>,
  readReset: (text: string) => StatedReset | null,
): Pick<QuotaReading, 'plan' | 'windows'> {
  let plan: PlanWindow | null = null;
  const others: WindowReading[] = [];
  for (const [periodMs, texts] of windows) {
    const [limit, used] = [countOf(texts.limit), countOf(texts.used)];
    const remaining = countOf(texts.remaining) ?? (limit === null || used === null ? null : Math.max(0, limit - used));
    if (remaining === null ? limit === null : limit !== null && remaining > limit) continue;
    const reset = texts.reset === undefined ? null : readReset(texts.reset);
    // A minute without a reset teaches the quota model nothing about refill. Counting the calls of the last minute is enough for it.
    if (periodMs === PERIODS_MS.minute && reset !== null) plan = { limit, remaining, reset };
    else if (remaining !== null) others.push({ periodMs, limit, remaining, resetMs: reset === null ? null : resetMsOf(reset, periodMs) });
  }
  return { plan, windows: others };
}

/** A number of requests, its fraction dropped; null for a negative one, which means unlimited or unknown. */
export function countOf(text: string | undefined): number | null {
  const number = numberOf(text);
  return number === null || number < 0 ? null : number;
}

export function isNegative(text: string | undefined): boolean {
  return (numberOf(text) ?? 0) < 0;
}

function numberOf(text: string | undefined): number | null {
  return text !== undefined && /^-?\d{1,15}(\.\d{1,9})?$/.test(text) ? Math.floor(Number(text)) : null;
}

/** Null for a reset that is later than the window's end. A delta of an unknown unit that is later in seconds is in milliseconds. */
function resetMsOf(reset: StatedReset, periodMs: number): number | null {
  let ms = reset.form === 'delta' ? reset.value * 1_000 : reset.inMs;
  if (reset.form === 'delta' && reset.unit === null && reset.value * 1_000 > 1.05 * periodMs + 1_000) ms = reset.value;
  return ms === null || ms > 1.05 * periodMs + 60_000 ? null : ms;
}
