/** Which item of a batch answers which lookup. */
import { isDeepStrictEqual } from 'node:util';
import { mailboxKey } from '../../verification/address.ts';
import { profileKey } from '../../verification/profile-url.ts';
import { isObject } from '../../util/is-object.ts';
import type { ProviderBatch } from '../compiled-provider.ts';
import type { LookupInput } from './lookup-text.ts';
import { evaluate, inWords, Refusal } from './refusal.ts';

/**
 * The items by the position of their lookups; a lookup that is left out has none, and items that nobody asked for are ignored. Two
 * different items for one lookup contradict each other: `CONTRADICTION` is in their place.
 * @param items of the answer
 * @throws Refusal `bad_shape` when items have no ids, and their number is not that of the lookups or an item names another lookup
 */
export async function matchItems(
  batch: ProviderBatch,
  items: readonly unknown[],
  lookups: readonly LookupInput[],
): Promise<ReadonlyMap<number, unknown>> {
  if (batch.itemId === null) return byPosition(batch.items.key, items, lookups);
  const positions = positionsOf(lookups);
  let mailboxes: ReturnType<typeof mailboxesOf> | null = null;
  const found = new Map<number, unknown>();
  for (const item of items) {
    const id = await evaluate(batch.itemId, item);
    if (id === undefined || id === null) continue;
    if (typeof id !== 'string' && typeof id !== 'number')
      throw new Refusal('bad_shape', `${batch.itemId.key}: expected text or a number, got ${inWords(id)}`);
    const key = keyOf(String(id));
    const position = positions.has(key) ? positions.get(key) : (mailboxes ??= mailboxesOf(lookups)).get(mailboxKey(key));
    if (position === undefined || position === null) continue;
    found.set(position, found.has(position) && !isDeepStrictEqual(found.get(position), item) ? CONTRADICTION : item);
  }
  return found;
}

/** In the place of different items for one lookup. */
export const CONTRADICTION = Symbol('contradiction');

/** By the order alone one item too few, or a list in another order, would give each lookup the record of another. */
function byPosition(key: string, items: readonly unknown[], lookups: readonly LookupInput[]): ReadonlyMap<number, unknown> {
  if (items.length !== lookups.length)
    throw new Refusal('bad_shape', `${key}: expected ${lookups.length} items, one for each lookup, got ${items.length}`);
  const positions = positionsOf(lookups.map(ownKeys));
  for (const [position, item] of items.entries()) {
    const named = [...namesIn(item)].flatMap((name) => positions.get(name) ?? []);
    const [other] = named;
    if (other !== undefined && !named.includes(position))
      throw new Refusal('bad_shape', `${key}: item ${position} names the key of lookup ${other}, and not its own`);
  }
  return new Map(items.entries());
}

/**
 * Whether an item that is taken by its position alone is about another address than was asked for. A person may have changed their address
 * since; but the item may also be another lookup's, so that only a request for this lookup alone can tell.
 * @param email of the mapped record
 */
export function isAboutAnother(item: unknown, email: unknown, lookup: LookupInput): boolean {
  if (typeof lookup.email !== 'string' || typeof email !== 'string' || email.trim() === '') return false;
  const own = new Set([keyOf(lookup.email), mailboxKey(lookup.email) ?? '']);
  const isOwn = (text: string): boolean => own.has(text) || own.has(mailboxKey(text) ?? text);
  if (isOwn(keyOf(email))) return false;
  for (const name of namesIn(item)) if (name.includes('@') && isOwn(name)) return false;
  return true;
}

/** The lookups of a request by their own keys; null for a key of several. */
export type OwnKeys = ReadonlyMap<string, number | null>;

export function ownKeysOf(lookups: readonly LookupInput[]): OwnKeys {
  const positions = new Map<string, number | null>();
  for (const [position, lookup] of lookups.entries())
    for (const key of recordKeys(ownKeys(lookup))) positions.set(key, positions.has(key) ? null : position);
  return positions;
}

/**
 * Whether a record has the key of another lookup of the same request in place of its own. A domain does not count where the item names its
 * own as well: companies have several.
 */
export function isOfAnother(item: unknown, record: LookupInput, lookup: LookupInput, keys: OwnKeys): boolean {
  const own = new Set(recordKeys(ownKeys(lookup)));
  const kinds = new Set([...own].map(kindOf));
  const found = recordKeys(record).filter((key) => kinds.has(kindOf(key)));
  if (found.some((key) => own.has(key)) || !found.some((key) => typeof keys.get(key) === 'number')) return false;
  if (!kinds.has('domain')) return true;
  for (const name of namesIn(item)) if (own.has(recordKey('domain', name))) return false;
  return true;
}

const RECORD_KEYS = ['email', 'linkedin_url', 'phone', 'domain'] as const;

/** Its keys in one spelling each, with their kinds. */
function recordKeys(record: LookupInput): string[] {
  return RECORD_KEYS.flatMap((kind) => {
    const value = record[kind];
    return typeof value === 'string' && value.trim() !== '' ? [recordKey(kind, value)] : [];
  });
}

function recordKey(kind: (typeof RECORD_KEYS)[number], text: string): string {
  const plain = keyOf(text);
  if (kind === 'email') return `${kind} ${mailboxKey(text) ?? plain}`;
  if (kind === 'linkedin_url') return `${kind} ${profileKey(text) ?? plain}`;
  return `${kind} ${kind === 'phone' ? plain.replaceAll(/\D/g, '') : plain.replace(/^www\./, '')}`;
}

function kindOf(key: string): string {
  return key.slice(0, key.indexOf(' '));
}

/** The keys that one record alone has: of a person not the domain, which colleagues share. */
function ownKeys({ email, linkedin_url, phone, name, domain }: LookupInput): LookupInput {
  const isOfPerson = [email, linkedin_url, phone, name].some((key) => key !== undefined);
  const own = { email, linkedin_url, phone, domain: isOfPerson ? undefined : domain };
  return Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
}

/** Texts of an item that may be a key, in the form of `keyOf`. Numbers are left out: any of them looks like an id of ours. */
function* namesIn(value: unknown, depth = 0): Generator<string> {
  if (typeof value === 'string') {
    const name = keyOf(value);
    if (!IS_ID.test(name)) yield name;
  } else if (depth < NAMES_WITHIN && typeof value === 'object' && value !== null)
    for (const inner of Array.isArray(value) ? value : isObject(value) ? Object.values(value) : []) yield* namesIn(inner, depth + 1);
}

const IS_ID = /^\d+$/;
/** Levels of an item that may name its key. */
const NAMES_WITHIN = 4;

const KEYS = ['email', 'linkedin_url', 'phone', 'domain', 'name', 'company'] as const;

/** The lookups by the mailbox of their address, for answers that spell it otherwise; null for a mailbox of several. */
function mailboxesOf(lookups: readonly LookupInput[]): ReadonlyMap<string | null, number | null> {
  const positions = new Map<string | null, number | null>();
  for (const [position, { email }] of lookups.entries()) {
    const mailbox = typeof email === 'string' ? mailboxKey(email) : null;
    if (mailbox !== null) positions.set(mailbox, positions.has(mailbox) ? null : position);
  }
  return positions;
}

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
