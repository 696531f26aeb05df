/** Which item of a batch answers which lookup. */
import type { ProviderBatch } from '../compiled-provider.ts';
import type { LookupInput } from './lookup-text.ts';
import { evaluate, inWords, Refusal } from './refusal.ts';

/**
 * The items by the position of their lookups; a lookup that is left out has none. The first item of
 * two for one lookup counts, and items that nobody asked for are ignored.
 * @param items of the answer
 * @throws Refusal `bad_shape` when items have no ids and their number is not that of the lookups
 */
export async function matchItems(
  batch: ProviderBatch,
  items: readonly unknown[],
  lookups: readonly LookupInput[],
): Promise<ReadonlyMap<number, unknown>> {
  if (batch.itemId === null) {
    if (items.length !== lookups.length)
      throw new Refusal('bad_shape', `${batch.items.key}: expected ${lookups.length} items, one for each lookup, got ${items.length}`);
    return new Map(items.entries());
  }
  const positions = positionsOf(lookups);
  const found = new Map<number, unknown>();
  for (const item of items) {
    const id = await evaluate(batch.itemId, item);
    if (id === undefined || id === null) continue;
    if (typeof id !== 'string' && typeof id !== 'number')
      throw new Refusal('bad_shape', `${batch.itemId.key}: expected text or a number, got ${inWords(id)}`);
    const position = positions.get(keyOf(String(id)));
    if (position !== undefined && position !== null && !found.has(position)) found.set(position, item);
  }
  return found;
}

const KEYS = ['email', 'linkedin_url', 'phone', 'domain', 'name', 'company'] as const;

/** Null for a key that several lookups share: it says nothing about which of them is meant. */
function positionsOf(lookups: readonly LookupInput[]): ReadonlyMap<string, number | null> {
  const positions = new Map<string, number | null>();
  for (const [position, lookup] of lookups.entries()) {
    for (const name of KEYS) {
      const value = lookup[name];
      if (typeof value !== 'string') continue;
      const key = keyOf(value);
      const other = positions.get(key);
      positions.set(key, other === undefined || other === position ? position : null);
    }
  }
  // An id is ours, and goes before a key that looks like it.
  for (const position of lookups.keys()) positions.set(String(position), position);
  return positions;
}

function keyOf(text: string): string {
  return text.trim().toLowerCase();
}
