/** Parses values of search filters. Pure. */
import type { Schema } from '../http/body-schema.ts';
import { dayOf } from './parse-date.ts';

/** A bad value; its message follows the value, as in `is no range`. */
export class BadValue extends Error {
  override readonly name = 'BadValue';
  readonly code: string;

  constructor(code: string, detail: string) {
    super(detail);
    this.code = code;
  }
}

export interface Range {
  readonly min: number | null;
  readonly max: number | null;
}

const NUMBER = String.raw`-?\d{1,15}(?:\.\d{1,6})?[kmbKMB]?`;
const RANGE = `(?:(${NUMBER})-(${NUMBER})?|-(${NUMBER}))`;
const WHOLE_RANGE = new RegExp(`^${RANGE}$`);
const COORDINATE = String.raw`\s*-?\d{1,5}(?:\.\d{1,8})?\s*`;
const WHOLE_COORDINATE = new RegExp(`^${COORDINATE}$`);
/** Digits of an industry code in a filter: fewer match too much, and stored codes have no more. */
export const CODE_DIGITS = { least: 2, most: 8 } as const;
const CODE_PATTERN = String.raw`^\d{${CODE_DIGITS.least},${CODE_DIGITS.most}}$`;
const WHOLE_CODE = new RegExp(CODE_PATTERN);
const FACTORS: Readonly<Record<string, number>> = { k: 1e3, m: 1e6, b: 1e9 };

/** `min-max`, `min-` or `-max`, both ends inclusive; K, M and B are thousands, millions and billions. @throws BadValue */
export function rangeOf(value: string): Range {
  const [, low, upTo, only] = WHOLE_RANGE.exec(value) ?? [];
  const high = upTo ?? only;
  if (low === undefined && high === undefined) throw new BadValue('range', 'is no range: write min-max, min- or -max');
  const min = numberOf(low);
  const max = numberOf(high);
  if (min !== null && max !== null && min > max) throw new BadValue('range', 'is a range that ends before it begins');
  return { min, max };
}

function numberOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const factor = FACTORS[text.slice(-1).toLowerCase()];
  return factor === undefined ? Number(text) : Number(text.slice(0, -1)) * factor;
}

/** Days since 1970 of `YYYY-MM-DD`. @throws BadValue */
export function dateOf(value: string): number {
  const day = /^\d{4}-\d{2}-\d{2}$/.test(value) ? dayOf(value) : null;
  if (day !== null && new Date(Date.parse(value)).toISOString().startsWith(value)) return day;
  throw new BadValue('date', 'is no date: write YYYY-MM-DD');
}

/** @throws BadValue */
export function flagOf(value: string): boolean {
  if (value === 'true' || value === 'false') return value === 'true';
  throw new BadValue('type', 'must be true or false');
}

/** Degrees, and a radius in kilometres. */
export interface Circle {
  readonly lat: number;
  readonly lng: number;
  readonly km: number;
}

/** An industry code, or its first digits. @throws BadValue */
export function codeOf(value: string): string {
  if (!WHOLE_CODE.test(value))
    throw new BadValue('format', `is no code: write ${CODE_DIGITS.least} to ${CODE_DIGITS.most} digits, such as 5415`);
  return value;
}

/** `lat,lng,km`. @throws BadValue */
export function circleOf(value: string): Circle {
  const [lat, lng, km, ...more] = value.split(',').map((part) => (WHOLE_COORDINATE.test(part) ? Number(part) : NaN));
  if (lat === undefined || lng === undefined || km === undefined || more.length > 0 || [lat, lng, km].some(Number.isNaN))
    throw new BadValue('format', 'is no circle: write lat,lng,km such as 52.52,13.40,25');
  if (Math.abs(lat) > 90 || Math.abs(lng) > 180 || km < 0 || km > 20_100)
    throw new BadValue('range', 'is a circle that is not on the Earth');
  return { lat, lng, km };
}

/** Schemas of values, for the API reference. */
export const MAX_VALUE_LENGTH = 2_048;
export const TEXT: Schema = { type: 'string', minLength: 1, maxLength: MAX_VALUE_LENGTH };
export const RANGE_VALUE: Schema = { type: 'string', pattern: `^${RANGE}$` };
export const DEPARTMENT_RANGE: Schema = { type: 'string', pattern: `^.+:${RANGE}$` };
export const DATE_VALUE: Schema = { type: 'string', format: 'date' };
export const FLAG: Schema = { type: 'boolean' };
export const COUNTRY: Schema = { type: 'string', pattern: '^[A-Za-z]{2}$' };
export const CODE: Schema = { type: 'string', pattern: CODE_PATTERN };
export const CIRCLE: Schema = { type: 'string', pattern: `^${COORDINATE},${COORDINATE},${COORDINATE}$` };
