/**
 * Bit-sliced index: a number is stored as one posting list for each binary digit that is 1, and one that says the number exists. A range
 * is then a few operations on bitmaps. Pure.
 */

/** Binary digits of each field; a larger number is stored as the largest. `bias` is added first, for fields with negative numbers. */
export const SLICED_FIELDS = {
  years_experience: { bits: 7, bias: 0 },
  role_started: { bits: 16, bias: 0 },
  company_since: { bits: 16, bias: 0 },
  job_changed: { bits: 16, bias: 0 },
  updated: { bits: 16, bias: 0 },
  employees: { bits: 24, bias: 0 },
  growth_12m: { bits: 15, bias: 1_000 },
  revenue: { bits: 44, bias: 0 },
  founded: { bits: 12, bias: 0 },
  funding_total: { bits: 40, bias: 0 },
  last_funding: { bits: 40, bias: 0 },
  last_funded: { bits: 16, bias: 0 },
  open_roles: { bits: 17, bias: 0 },
  hiring_posted: { bits: 16, bias: 0 },
  department_size: { bits: 20, bias: 0 },
  signal_day: { bits: 16, bias: 0 },
} as const;
export type SlicedField = keyof typeof SLICED_FIELDS;

/** A number as it is stored. */
export function slicedValue(field: SlicedField, value: number): number {
  return Math.max(0, Math.min(GREATEST[field], Math.round(value) + SLICED_FIELDS[field].bias));
}

const GREATEST = Object.fromEntries(Object.entries(SLICED_FIELDS).map(([name, { bits }]) => [name, 2 ** bits - 1])) as Readonly<
  Record<SlicedField, number>
>;

/** V8 computes with small integers up to this many digits. */
const LOW_DIGITS = 30;
const LOW_SIZE = 2 ** LOW_DIGITS;

/** Calls `visit` with each binary digit that is 1, from the lowest. */
export function forEachSetBit(stored: number, visit: (digit: number) => void): void {
  for (let digit = 0, rest = stored < LOW_SIZE ? stored : stored % LOW_SIZE; rest !== 0; digit++, rest >>>= 1)
    if ((rest & 1) === 1) visit(digit);
  if (stored < LOW_SIZE) return;
  for (let digit = LOW_DIGITS, rest = Math.floor(stored / LOW_SIZE); rest !== 0; digit++, rest >>>= 1) if ((rest & 1) === 1) visit(digit);
}

/** The term of a slice: rows with a 1 in this digit. */
export function sliceTerm(exists: string, digit: number): string {
  return `${exists}:${digit}`;
}

/** The term of all rows with a number in this field. @param key as in `RangePredicate` */
export function existsTerm(field: SlicedField, key = ''): string {
  return `#${field}${key === '' ? '' : `.${key}`}`;
}
