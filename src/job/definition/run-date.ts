/** The day of a run, as `--date` gives it. Pure. */
import { isDate } from './expand.ts';

/** The end of a Job's name: a day, or the minute for which a CronJob scheduled it, counted from 1970 (kubernetes/kubernetes, `getJobName`). */
const JOB_NAME = /^[a-z0-9.-]*-(?:(\d{4}-\d{2}-\d{2})|(\d{8,9}))$/;
const MINUTE_MS = 60_000;
/** Before this minute (2015) no CronJob ran: eight digits below it are a day without dashes, or anything else. */
const FIRST_MINUTE = 23_667_840;

/**
 * The day, YYYY-MM-DD in UTC, that a text names: itself, or as the name of a Kubernetes Job. A pod that is retried after
 * midnight has the name of its Job still, so it goes on with the scheduled day. Null: it names none.
 */
export function dateNamedBy(text: string): string | null {
  if (isDate(text)) return text;
  const [, day, minute] = JOB_NAME.exec(text) ?? [];
  if (day !== undefined) return isDate(day) ? day : null;
  if (minute === undefined || Number(minute) < FIRST_MINUTE) return null;
  return new Date(Number(minute) * MINUTE_MS).toISOString().slice(0, 10);
}
