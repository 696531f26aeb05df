/** Ages in flags, such as `90d`. Pure. */
import { UsageError } from '../../util/errors.ts';

const UNIT_MS = { h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 } as const;
/** A hundred years: a longer age is a typing error, and would leave the range of dates. */
const LONGEST_MS = 36_500 * UNIT_MS.d;

/** Milliseconds. @throws UsageError for anything but a whole number of hours, days or weeks */
export function parseAge(flag: string, text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,7})([hdw])$/.exec(text) ?? [];
  const ms = unit === '' ? Infinity : Number(number) * UNIT_MS[unit as keyof typeof UNIT_MS];
  if (ms <= LONGEST_MS) return ms;
  throw new UsageError(
    'bad_value',
    `--${flag} must be a number of hours, days or weeks, such as 12h, 90d ` +
      `or 8w, at most 100 years, got ${JSON.stringify(text.slice(0, 80))}`,
  );
}
