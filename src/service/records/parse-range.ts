/** Parses ranges as people write them: `11-50`, `10,000+`, `$1M-$5M`, `under 10`. Pure. */
import { numberOf } from './field-types.ts';
import { namesUsd, parseUsd } from './money.ts';

/** Both ends inclusive. */
export interface Span {
  readonly least: number;
  readonly most: number;
}

const MAX_LENGTH = 60;
const FROM_TO = /^([^-–—]+?)\s*(?:-|–|—|\bto\b)\s*([^-–—]+)$/i;
const OR_MORE = /^(?:>=?\s*|over\s+|more than\s+)?(.+?)\s*(?:\+|or more)?$/i;
const OR_LESS = /^(?:<=?|up to|under|less than)\s*(.+)$/i;
/** The unit of `1-5M` belongs to both ends. */
const UNIT = /[a-z]+$/i;
/** A rounded amount such as `$12M` may be off by this share. */
const ROUNDING = 0.05;

/** The range of a headcount; null when the text is not one. */
export function sizeRange(value: unknown): Span | null {
  return spanOf(value, (text) => numberOf(text) ?? null, 0);
}

/** The range in US dollars; null when the text is not one, or names no currency or another one. */
export function usdRange(value: unknown): Span | null {
  // The sign of `$1-5M` belongs to both ends.
  const isUsd = typeof value === 'string' && namesUsd(value);
  return spanOf(value, (text) => parseUsd(text) ?? (isUsd ? parseUsd(`$${text}`) : null), ROUNDING);
}

/** @param rounding the share by which a single number given as text may be off */
function spanOf(value: unknown, read: (text: string) => number | null, rounding: number): Span | null {
  if (typeof value === 'number') return { least: value, most: value };
  if (typeof value !== 'string' || value.length > MAX_LENGTH) return null;
  const text = value.trim();
  const [, from, to] = FROM_TO.exec(text) ?? [];
  if (from !== undefined && to !== undefined) {
    const most = read(to);
    const [unit = ''] = UNIT.test(from) ? [] : (UNIT.exec(to) ?? []);
    const least = [`${from}${unit}`, from].map(read).find((one) => one !== null && most !== null && one <= most) ?? null;
    return least === null || most === null ? null : { least, most };
  }
  const [, atMost] = OR_LESS.exec(text) ?? [];
  if (atMost !== undefined) {
    const most = read(atMost);
    return most === null ? null : { least: 0, most };
  }
  const [, number = ''] = OR_MORE.exec(text) ?? [];
  const found = read(number);
  if (found === null) return null;
  return number === text ? { least: found * (1 - rounding), most: found * (1 + rounding) } : { least: found, most: Infinity };
}
