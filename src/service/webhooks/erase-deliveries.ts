/** Erasure in webhooks: removes erased people from deliveries and from filters. */
import { shortTransactions } from '../../sqlite/transaction.ts';
import { erasedSince } from '../store/identity/erased-since.ts';
import type { Store } from '../store/store.ts';
import { suppressionTest, type Traces } from '../store/identity/suppressions.ts';
import type { About } from './announcement.ts';
import { unpackBody } from './delivery-rows.ts';
import { FILTER_VALUES, NAMING_FIELDS, type WebhookFilter } from './filter.ts';

type Naming = (typeof NAMING_FIELDS)[number];

/** Rows in one transaction, for which paid answers wait. */
const AT_ONCE = 200;

/**
 * Whether a delivery is about a removed person or signal, or contains an address of a person who was erased after its creation. A null
 * body, which could not be read, counts as clean.
 */
export function erasedTest(
  store: Store,
): (delivery: { readonly about: About; readonly body: string | null; readonly createdMs: number }) => boolean {
  const signal = store.prepare('SELECT 1 FROM signals WHERE id = ?');
  const person = store.prepare('SELECT 1 FROM people WHERE id = ?');
  const erased = erasedSince(store);
  return ({ about, body, createdMs }) =>
    (about.signal !== null && signal.get(about.signal) === undefined) ||
    (about.person !== null && person.get(about.person) === undefined) ||
    (body !== null && erased.anybody(createdMs) && erased.text(body, createdMs));
}

/**
 * Runs after an erasure: drops deliveries, sent or not, that name erased people or cannot be read. Removes these people from filters. Reads
 * without a lock.
 * @param nowMs epoch milliseconds
 */
export function forgetDeliveries(store: Store, nowMs: number): void {
  const isErased = erasedTest(store);
  // Ids, because a row number may be reused before the transaction.
  const gone: string[] = [];
  for (const row of store.books.prepare('SELECT id, signal, person, body, created_at FROM webhook_deliveries').iterate()) {
    const about = { signal: row['signal'] as string | null, person: row['person'] as string | null };
    const body = unpackBody(row['body'] as Uint8Array);
    if (body === null || isErased({ about, body, createdMs: row['created_at'] as number })) gone.push(row['id'] as string);
  }
  const isSuppressed = suppressionTest(store);
  const person = store.prepare('SELECT 1 FROM people WHERE id = ?');
  // A person with the same id again is another person.
  const isGone = (name: Naming, value: string | null): boolean =>
    value !== null && isSuppressed(tracesOf(name, value)) && (name !== 'id' || person.get(value) === undefined);
  const reduced = store.books
    .prepare("SELECT id, filter FROM webhooks WHERE filter <> '{}'")
    .all()
    .flatMap(({ id, filter }) => {
      const before = readFilter(filter as string);
      const after = before === null ? NOBODY : withoutErased(before, isGone);
      return after === before ? [] : [{ id: id as string, after }];
    });
  const erase = store.books.prepare('DELETE FROM webhook_deliveries WHERE id = ?');
  shortTransactions(store.books, gone, AT_ONCE, (id) => erase.run(id));
  const setFilter = store.books.prepare('UPDATE webhooks SET filter = ? WHERE id = ?');
  const disable = store.books.prepare(
    "UPDATE webhooks SET enabled = 0, disabled_reason = 'nobody_left', disabled_at = ? WHERE id = ? AND enabled = 1",
  );
  shortTransactions(store.books, reduced, AT_ONCE, ({ id, after }) => {
    setFilter.run(JSON.stringify(after), id);
    if (isNobody(after)) disable.run(nowMs, id);
  });
}

/** Replaces a damaged filter, and matches nobody. */
const NOBODY: WebhookFilter = { id: [] };

function readFilter(stored: string): WebhookFilter | null {
  try {
    return JSON.parse(stored) as WebhookFilter;
  } catch {
    return null;
  }
}

/** The filter without erased people; the same object when it names no erased person. */
function withoutErased(filter: WebhookFilter, isGone: (name: Naming, value: string | null) => boolean): WebhookFilter {
  let rest = filter;
  for (const name of NAMING_FIELDS) {
    const values = filter[name];
    const remaining = values?.filter((value) => !isGone(name, FILTER_VALUES[name].read(value)));
    if (remaining !== undefined && remaining.length !== values?.length) rest = { ...rest, [name]: remaining };
  }
  return rest;
}

function tracesOf(name: Naming, value: string): Traces {
  return name === 'email' ? { emails: [value] } : name === 'id' ? { id: value, knownId: value } : { profile: value };
}

/** Whether the filter named people and all of them were erased. */
function isNobody(filter: WebhookFilter): boolean {
  const lists = NAMING_FIELDS.flatMap((name) => (filter[name] === undefined ? [] : [filter[name]]));
  return lists.length > 0 && lists.every(({ length }) => length === 0);
}
