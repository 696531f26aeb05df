/** The day of a run, as `--date` gives it. Pure. */
import { isDate, shiftDate } from './expand.ts';

/**
 * The end of a Kubernetes Job's name. It is a day, perhaps with a short word because each run needs a new name; or the minute of a
 * CronJob's schedule since 1970 (kubernetes/kubernetes, `getJobName`).
 */
const JOB_NAME = /^[a-z0-9.-]*-(?:(\d{4}-\d{2}-\d{2})(?:-[a-z0-9]{1,6})?|(\d{8,9}))$/;
const MINUTE_MS = 60_000;
/** CronJobs did not exist before this minute (2015). Eight digits below it mean something else, such as a day without dashes. */
const FIRST_MINUTE = 23_667_840;

/**
 * The day (YYYY-MM-DD, UTC) that a text names: a date itself, or the name of a Kubernetes Job. Null for other texts.
 * A pod that is retried after midnight keeps the name of its Job, so it keeps the scheduled day.
 */
export function dateNamedBy(text: string): string | null {
  if (isDate(text)) return text;
  const [, day, minute] = JOB_NAME.exec(text) ?? [];
  if (day !== undefined) return isDate(day) ? day : null;
  if (minute === undefined || Number(minute) < FIRST_MINUTE) return null;
  return new Date(Number(minute) * MINUTE_MS).toISOString().slice(0, 10);
}

const WORDS: Readonly<Record<string, number>> = { today: 0, yesterday: -1, tomorrow: 1 };

/** The day probably meant by `2026-3-1`, `2026/03/01`, `20260301`, `2026-02-30` or `yesterday`. Null without a guess. */
export function nearestDate(text: string, today: string): string | null {
  const word = text.trim().toLowerCase();
  const shift = Object.hasOwn(WORDS, word) ? WORDS[word] : undefined;
  if (shift !== undefined) return shiftDate(today, shift);
  const [, year, month, day] = /^(\d{4})[-/. ]?(\d{1,2})[-/. ]?(\d{1,2})(?:$|[t ])/.exec(word)?.map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined || month < 1 || month > 12 || day < 1 || day > 31) return null;
  // A day after the end of its month becomes the month's last day.
  const last = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const meant = `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-${String(Math.min(day, last)).padStart(2, '0')}`;
  return meant !== text && isDate(meant) ? meant : null;
}
