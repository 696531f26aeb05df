/** Dates as people and programs write them, as ISO 8601: `13/04/2025`, `Jan 5 2026`, `5. Januar 2026`, `20250405`, `2025-06`. Pure. */

/** A date in ISO 8601: a day, a day with a time, or with `isMonth` a month alone (`2025-06`). */
interface OneReading {
  readonly kind: 'one';
  readonly iso: string;
  readonly isMonth: boolean;
  /** The order of day and month that this text proves for its column; null when it proves none. */
  readonly order: DateOrder | null;
}
/** A text that is two days, such as `03/04/2025`. */
interface TwoReadings {
  readonly kind: 'two';
  readonly dayFirst: string;
  readonly monthFirst: string;
}
export type WrittenDate = OneReading | TwoReadings;
export type DateOrder = 'dayFirst' | 'monthFirst';

/** Longer texts are no date. */
const MAX_LENGTH = 80;
const YEAR_FIRST = /^(\d{4})([./-])(\d{1,2})\2(\d{1,2})(?!\d)/;
const YEAR_LAST = /^(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?!\d)/;
const COMPACT = /^(\d{4})(\d{2})(\d{2})(?:T?(\d{2})(\d{2})(\d{2})(Z|[+-]\d{2}:?\d{2})?)?$/;
const YEAR_AND_MONTH = /^(\d{4})[./-](\d{1,2})$/;
const MONTH_AND_YEAR = /^(\d{1,2})[./-](\d{4})$/;
const WEEKDAY = String.raw`(?:\p{L}{2,12}\.?,?\s+)?`;
const MONTH = String.raw`(\p{L}{3,12})\.?`;
const DAY = String.raw`(\d{1,2})(?:st|nd|rd|th|\.|er|º)?`;
const BETWEEN = String.raw`[\s\-/,]+(?:de\s+|of\s+)?`;
const NAMED_DAY_FIRST = new RegExp(`^${WEEKDAY}${DAY}${BETWEEN}${MONTH}${BETWEEN}(\\d{4})(?!\\d)`, 'u');
const NAMED_MONTH_FIRST = new RegExp(`^${WEEKDAY}${MONTH}[\\s\\-/]+${DAY}${BETWEEN}(\\d{4})(?!\\d)`, 'u');
const NAMED_YEAR_FIRST = new RegExp(`^(\\d{4})[\\s\\-/]${MONTH}[\\s\\-/]${DAY}(?!\\d)`, 'u');
const NAMED_MONTH = new RegExp(`^${MONTH}${BETWEEN}(\\d{4})$`, 'u');
const CLOCK = String.raw`(\d{1,2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?\s*(?:([ap])\.?m\.?)?`;
const ZONE = String.raw`(Z|(?:UTC|GMT)?[+-]\d{2}(?::?\d{2})?|UTC|GMT)?(?:\s+\([^()]*\))?`;
const TIME = new RegExp(`^(?:T|,?\\s+(?:at\\s+)?)${CLOCK}\\s*${ZONE}$`, 'i');

/** Languages of month names. Those of other scripts write dates in numbers. */
const LANGUAGES = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'sv', 'da', 'nb'];
let monthsByName: ReadonlyMap<string, number> | null = null;

/** The readings of a text that is not in the usual form `2026-01-31`; null when it is no date. */
export function readWrittenDate(given: string): WrittenDate | null {
  if (given.length > MAX_LENGTH || !/\d/.test(given)) return null;
  const text = given.trim();
  return readNumbers(text) ?? readCompact(text) ?? readNamed(text);
}

function readNumbers(text: string): WrittenDate | null {
  const [start, year = '', _sign, month = '', day = ''] = YEAR_FIRST.exec(text) ?? [];
  if (start !== undefined) return one(year, month, day, text.slice(start.length));
  const [all, first = '', sign, second = '', last = ''] = YEAR_LAST.exec(text) ?? [];
  if (all !== undefined) {
    const rest = text.slice(all.length);
    const dayFirst = one(last, second, first, rest, 'dayFirst');
    // Dots are between day, month and year in this order.
    const monthFirst = sign === '.' ? null : one(last, first, second, rest, 'monthFirst');
    if (dayFirst === null || monthFirst === null) return dayFirst ?? monthFirst;
    return dayFirst.iso === monthFirst.iso
      ? { ...dayFirst, order: null }
      : { kind: 'two', dayFirst: dayFirst.iso, monthFirst: monthFirst.iso };
  }
  const [, ofYear, yearsMonth] = YEAR_AND_MONTH.exec(text) ?? [];
  const [, monthOf, monthsYear] = MONTH_AND_YEAR.exec(text) ?? [];
  return monthAlone(ofYear ?? monthsYear, Number(yearsMonth ?? monthOf));
}

function readCompact(text: string): WrittenDate | null {
  const [, year = '', month = '', day = '', hour, minute, second, zone = 'Z'] = COMPACT.exec(text) ?? [];
  return one(year, month, day, hour === undefined ? '' : `T${hour}:${minute}:${second}${zone}`);
}

function readNamed(text: string): WrittenDate | null {
  for (const [form, at] of [
    [NAMED_DAY_FIRST, { day: 1, month: 2, year: 3 }],
    [NAMED_MONTH_FIRST, { month: 1, day: 2, year: 3 }],
    [NAMED_YEAR_FIRST, { year: 1, month: 2, day: 3 }],
  ] as const) {
    const found = form.exec(text);
    const month = found === null ? undefined : monthNamed(found[at.month] as string);
    if (found !== null && month !== undefined)
      return one(found[at.year] as string, String(month), found[at.day] as string, text.slice(found[0].length));
  }
  const [, name, year] = NAMED_MONTH.exec(text) ?? [];
  return name === undefined ? null : monthAlone(year, monthNamed(name) ?? 0);
}

function one(year: string, month: string, day: string, rest: string, order: DateOrder | null = null): OneReading | null {
  const time = isoTime(rest);
  if (year === '' || time === null) return null;
  const iso = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  const ms = Date.parse(`${iso}T00:00:00Z`);
  // The engine reads 30 February as 2 March.
  if (Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(iso)) return null;
  return { kind: 'one', iso: iso + time, isMonth: false, order };
}

function monthAlone(year: string | undefined, month: number): OneReading | null {
  if (year === undefined || !(month >= 1 && month <= 12)) return null;
  return { kind: 'one', iso: `${year}-${String(month).padStart(2, '0')}`, isMonth: true, order: null };
}

/** The time behind a day, in UTC unless it has an offset; empty without one, and null when it is no time. */
function isoTime(rest: string): string | null {
  if (rest === '') return '';
  const [, hour = '', minute = '', second = '00', fraction = '', half, zone = 'Z'] = TIME.exec(rest) ?? [];
  if (minute === '' || (half !== undefined && !(Number(hour) >= 1 && Number(hour) <= 12))) return null;
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (half.toLowerCase() === 'p' ? 12 : 0);
  const [, offsetHours, offsetMinutes = '00'] = /([+-]\d{2}):?(\d{2})?/.exec(zone) ?? [];
  const offset = offsetHours === undefined ? 'Z' : `${offsetHours}:${offsetMinutes}`;
  const time = `T${String(hours).padStart(2, '0')}:${minute}:${second}${fraction}${offset}`;
  return Number.isNaN(Date.parse(`2000-01-01${time}`)) ? null : time;
}

function monthNamed(name: string): number | undefined {
  monthsByName ??= allMonths();
  return monthsByName.get(plain(name));
}

/** Long and short names of months. A name of two months is left out. */
function allMonths(): ReadonlyMap<string, number> {
  const found = new Map<string, number>([['sept', 9]]);
  const several = new Set<string>();
  for (const language of LANGUAGES)
    for (const month of ['long', 'short'] as const) {
      const format = new Intl.DateTimeFormat(language, { month, day: 'numeric', timeZone: 'UTC' });
      for (let number = 1; number <= 12; number++) {
        const name = plain(format.formatToParts(Date.UTC(2024, number - 1, 5)).find(({ type }) => type === 'month')?.value ?? '');
        if ((found.get(name) ?? number) !== number) several.add(name);
        found.set(name, number);
      }
    }
  for (const name of several) found.delete(name);
  return found;
}

function plain(name: string): string {
  return name
    .normalize('NFD')
    .replaceAll(/[\p{M}.]/gu, '')
    .toLowerCase();
}
