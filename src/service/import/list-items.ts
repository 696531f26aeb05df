/** What a row says more than once of somebody, as items of a list: another address, another number. Pure. */
import { normaliseEmail } from '../../verification/address.ts';
import { MAX_ITEMS, phoneOf, splitList } from '../field-types.ts';
import { NO_VALUE } from '../values.ts';
import type { ListItem, Target } from './names.ts';

/** What one text may join; more of them in one cell are something else. */
const JOINED = /[;|,\n<]|^mailto:/i;
const MAX_JOINED = 50;
const MAIN: readonly (readonly [Target, ListItem])[] = [['email', { list: 'emails', type: null }], ['mobile', { list: 'phones', type: null }]];

/** Addresses, and numbers, that came as one text (`ann@acme.example; ann@home.example`, `Ann Poe <ann@acme.example>`): the first good one is the main one, the others go to their lists. @param values they are changed */
export function takeApart(values: Record<Target, unknown>): void {
  for (const [target, further] of MAIN) {
    const value = values[target];
    if (typeof value !== 'string' || !JOINED.test(value)) continue;
    const [first, ...others] = partsOf(value, readerOf(further));
    values[target] = first;
    for (const one of others) addItem(values, target, further, one);
  }
}

/** The good ones in a text; the text itself where it is one, or none is. */
function partsOf(text: string, read: (value: unknown) => string | undefined): readonly string[] {
  const parts = text.split(/[;|,\n]/, MAX_JOINED + 1).map((part) => (/<([^<>]*)>\s*$/.exec(part)?.[1] ?? part).trim().replace(/^mailto:/i, ''));
  const good = parts.length > MAX_JOINED || read(text) !== undefined ? [] : parts.filter((part) => read(part) !== undefined);
  return good.length === 0 ? [text] : good;
}

function readerOf({ list }: ListItem): (value: unknown) => string | undefined {
  return list === 'phones' ? phoneOf : emailOf;
}

/** Puts a value into a list, unless the main one (`target`) or another there is the same; one that is no address or number makes the list none, where nothing else is in it. @param values they are changed */
export function addItem(values: Record<Target, unknown>, target: Target, item: ListItem, value: unknown): void {
  const { list, type } = item;
  const before = values[list];
  // It will not be kept, and to look through it for each value of a row would take seconds.
  if (Array.isArray(before) && before.length > MAX_ITEMS) return;
  const read = readerOf(item);
  const parts = typeof value === 'string' && JOINED.test(value) ? partsOf(value, read) : [];
  if (parts.length > 1) {
    for (const one of parts) addItem(values, target, item, one);
    return;
  }
  const found = read(parts[0] ?? value);
  if (found === undefined) {
    values[list] ??= NO_VALUE;
    return;
  }
  const itemOf = (one: string, of: string | null): unknown => (list === 'personal_emails' ? one : list === 'phones' ? { number: one, type: of } : { email: one, type: of });
  const others: readonly unknown[] = Array.isArray(before) ? (before as readonly unknown[]) : typeof before === 'string' ? splitList(before).flatMap((one) => read(one) ?? []).map((one) => itemOf(one, null)) : [];
  if ([values[target], ...others.map((item) => valueOf(item))].some((one) => read(one) === found)) return;
  values[list] = [...others, itemOf(found, type)];
}

function emailOf(value: unknown): string | undefined {
  return typeof value === 'string' ? (normaliseEmail(value) ?? undefined) : undefined;
}

function valueOf(item: unknown): unknown {
  return typeof item === 'object' && item !== null ? ((item as { number?: unknown }).number ?? (item as { email?: unknown }).email) : item;
}
