/** What a row says more than once of somebody, as items of a list: another address, another number. Pure. */
import { normaliseEmail } from '../../verification/address.ts';
import { phoneOf, splitList } from '../field-types.ts';
import { NO_VALUE } from '../values.ts';
import type { ListItem, Target } from './names.ts';

/** Puts a value into a list, unless the main one (`target`) or another there is the same; one that is no address or number makes the list none, where nothing else is in it. @param values they are changed */
export function addItem(values: Record<Target, unknown>, target: Target, { list, type }: ListItem, value: unknown): void {
  const read = list === 'phones' ? phoneOf : emailOf;
  const found = read(value);
  const before = values[list];
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
