/**
 * Further addresses and phone numbers of a row, as items of a list. National numbers wait until the country of the row is known
 * (`row-phones.ts`). Pure.
 */
import { normaliseEmail } from '../../../verification/address.ts';
import { MAX_ITEMS, phoneOf, splitList } from '../../records/field-types.ts';
import { NO_VALUE } from '../../http/values.ts';
import type { ListItem, Target } from './column-names.ts';

/** Separators of joined values. A cell with more than `MAX_JOINED` parts is another kind of text. */
const JOINED = /[;|,\n<]|^mailto:/i;
const MAX_JOINED = 50;
const MAIN: readonly (readonly [Target, ListItem])[] = [
  ['email', { list: 'emails', type: null }],
  ['mobile', { list: 'phones', type: null }],
];

/** The target of numbers that may be national ones. It is no field of the record. */
export const NATIONAL = 'phones.national';

/** A further number as it is written, until the country of its row is known. */
export interface NationalNumber {
  readonly target: Target;
  readonly item: ListItem;
  readonly value: unknown;
}

/**
 * Splits addresses and numbers in one text (`ann@acme.example; ann@home.example`, `Ann Poe <ann@acme.example>`). The first valid one is the
 * main one; the others go to their lists.
 * @param values is changed in place
 * @param country of the row: two letters, or null
 */
export function splitJoined(values: Record<Target, unknown>, country: string | null = null): void {
  for (const [target, further] of MAIN) {
    const value = values[target];
    if (typeof value !== 'string' || !JOINED.test(value)) continue;
    const [first, ...others] = partsOf(value, readerOf(further, country));
    values[target] = first;
    for (const one of others) addItem(values, target, further, one, country);
  }
}

/** The valid values in a text. Returns the text itself when it is one value, or has no valid value. */
function partsOf(text: string, read: (value: unknown) => string | undefined): readonly string[] {
  const parts = text
    .split(/[;|,\n]/, MAX_JOINED + 1)
    .map((part) => (/<([^<>]*)>\s*$/.exec(part)?.[1] ?? part).trim().replace(/^mailto:/i, ''));
  const good = parts.length > MAX_JOINED || read(text) !== undefined ? [] : parts.filter((part) => read(part) !== undefined);
  return good.length === 0 ? [text] : good;
}

function readerOf({ list }: ListItem, country: string | null): (value: unknown) => string | undefined {
  return list === 'phones' ? (value) => phoneOf(value, country) : emailOf;
}

/**
 * Adds a value to a list, unless the main value (`target`) or another item equals it. A list with only an invalid value becomes `NO_VALUE`.
 * @param values is changed in place
 * @param country of the row: two letters, null when it is unknown, and undefined before it is looked for
 */
export function addItem(values: Record<Target, unknown>, target: Target, item: ListItem, value: unknown, country?: string | null): void {
  const { list, type } = item;
  const before = values[list];
  // Such a list is dropped later. Searching it for each value of a row would take seconds.
  if (Array.isArray(before) && before.length > MAX_ITEMS) return;
  const read = readerOf(item, country ?? null);
  const parts = typeof value === 'string' && JOINED.test(value) ? partsOf(value, read) : [];
  if (parts.length > 1) {
    for (const one of parts) addItem(values, target, item, one, country);
    return;
  }
  const found = read(parts[0] ?? value);
  // A number behind a waiting one waits too, so that the order of the columns stays.
  if (list === 'phones' && country === undefined && (found === undefined || values[NATIONAL] !== undefined)) {
    const waiting = (values[NATIONAL] ??= []) as NationalNumber[];
    if (waiting.length <= MAX_ITEMS) waiting.push({ target, item, value });
    return;
  }
  if (found === undefined) {
    values[list] ??= NO_VALUE;
    return;
  }
  const itemOf = (one: string, of: string | null): unknown =>
    list === 'personal_emails' ? one : list === 'phones' ? { number: one, type: of } : { email: one, type: of };
  const others: readonly unknown[] = Array.isArray(before)
    ? (before as readonly unknown[])
    : typeof before === 'string'
      ? splitList(before)
          .flatMap((one) => read(one) ?? [])
          .map((one) => itemOf(one, null))
      : [];
  if ([values[target], ...others.map((item) => valueOf(item))].some((one) => read(one) === found)) return;
  values[list] = [...others, itemOf(found, type)];
}

function emailOf(value: unknown): string | undefined {
  return typeof value === 'string' ? (normaliseEmail(value) ?? undefined) : undefined;
}

function valueOf(item: unknown): unknown {
  return typeof item === 'object' && item !== null ? ((item as { number?: unknown }).number ?? (item as { email?: unknown }).email) : item;
}
