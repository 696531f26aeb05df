/** Ranges of numbers as people write them: `11-50`, `10,000+`, `$1M-$5M`, `under 10`. Pure. */
import { numberOf } from './field-types.ts';
import { parseUsd } from './money.ts';

/** Both ends included. */
export interface Span {
  readonly least: number;
  readonly most: number;
}

const MAX_LENGTH = 60;
const FROM_TO = /^([^-–—]+?)\s*(?:-|–|—|\bto\b)\s*([^-–—]+)$/i;
const OR_MORE = /^(?:>=?\s*|over\s+|more than\s+)?(.+?)\s*(?:\+|or more)?$/i;
const OR_LESS = /^(?:<=?|up to|under|less than)\s*(.+)$/i;
/** In `1-5M` it is of both. */
const UNIT = /[a-z]+$/i;
/** `$12M` may stand for as much as half a million more or less. */
const ROUNDING = 0.05;

/** Of a number of people, or a range of them; null: it is none. */
export function sizeRange(value: unknown): Span | null {
  return spanOf(value, (text) => numberOf(text) ?? null, 0);
}

/** US dollars; null: it is none, or of another currency. */
export function usdRange(value: unknown): Span | null {
  return spanOf(value, parseUsd, ROUNDING);
}

/** @param rounding by how much of itself a single number may be off as a text */
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
