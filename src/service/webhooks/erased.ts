/** Deliveries and webhooks that name somebody who was erased. */
import { transaction } from '../../sqlite/transaction.ts';
import { erasedSince } from '../store/erased-since.ts';
import type { Store } from '../store/store.ts';
import { suppressionTest, type Traces } from '../store/suppressions.ts';
import type { About } from './announcement.ts';
import { unpackBody } from './delivery-rows.ts';
import { FILTER_VALUES, NAMING_FIELDS, type WebhookFilter } from './filter.ts';

type Naming = (typeof NAMING_FIELDS)[number];

/** Whether a delivery tells of somebody, or of a signal, that is not there any more, or has an address of somebody who was erased since it was made; of a body that cannot be read (null) nobody knows that. */
export function erasedTest(store: Store): (delivery: { readonly about: About; readonly body: string | null; readonly createdMs: number }) => boolean {
  const signal = store.prepare('SELECT 1 FROM signals WHERE id = ?');
  const person = store.prepare('SELECT 1 FROM people WHERE id = ?');
  const erased = erasedSince(store);
  return ({ about, body, createdMs }) =>
    (about.signal !== null && signal.get(about.signal) === undefined) ||
    (about.person !== null && person.get(about.person) === undefined) ||
    (body !== null && erased.anybody(createdMs) && erased.text(body, createdMs));
}

/** After an erasure: drops the deliveries, sent or not, that name those who were erased or cannot be read, and takes them out of filters. It is read without a lock, as answers are. @param nowMs epoch milliseconds */
export function forgetDeliveries(store: Store, nowMs: number): void {
  const isErased = erasedTest(store);
  // By their ids: until they are dropped, the place of one may be another's.
  const gone: string[] = [];
  for (const row of store.prepare('SELECT id, signal, person, body, created_at FROM webhook_deliveries').iterate()) {
    const about = { signal: row['signal'] as string | null, person: row['person'] as string | null };
    const body = unpackBody(row['body'] as Uint8Array);
    if (body === null || isErased({ about, body, createdMs: row['created_at'] as number })) gone.push(row['id'] as string);
  }
  const isSuppressed = suppressionTest(store);
  const person = store.prepare('SELECT 1 FROM people WHERE id = ?');
  // An id that somebody of another name has now is theirs.
  const isGone = (name: Naming, value: string | null): boolean => value !== null && isSuppressed(tracesOf(name, value)) && (name !== 'id' || person.get(value) === undefined);
  const cut = store.prepare("SELECT id, filter FROM webhooks WHERE filter <> '{}'").all().flatMap(({ id, filter }) => {
    const before = readFilter(filter as string);
    const left = before === null ? NOBODY : withoutErased(before, isGone);
    return left === before ? [] : [{ id: id as string, left }];
  });
  if (gone.length + cut.length === 0) return;
  transaction(store, () => {
    const erase = store.prepare('DELETE FROM webhook_deliveries WHERE id = ?');
    const keep = store.prepare('UPDATE webhooks SET filter = ? WHERE id = ?');
    const disable = store.prepare("UPDATE webhooks SET enabled = 0, disabled_reason = 'nobody_left', disabled_at = ? WHERE id = ? AND enabled = 1");
    for (const id of gone) erase.run(id);
    for (const { id, left } of cut) {
      keep.run(JSON.stringify(left), id);
      if (isNobody(left)) disable.run(nowMs, id);
    }
  });
}

/** What is left of a filter that is damaged: nobody knows whom it named. */
const NOBODY: WebhookFilter = { id: [] };

function readFilter(kept: string): WebhookFilter | null {
  try {
    return JSON.parse(kept) as WebhookFilter;
  } catch {
    return null;
  }
}

/** Itself where nobody was. */
function withoutErased(filter: WebhookFilter, isGone: (name: Naming, value: string | null) => boolean): WebhookFilter {
  let left = filter;
  for (const name of NAMING_FIELDS) {
    const values = filter[name];
    const kept = values?.filter((value) => !isGone(name, FILTER_VALUES[name].read(value)));
    if (kept !== undefined && kept.length !== values?.length) left = { ...left, [name]: kept };
  }
  return left;
}

function tracesOf(name: Naming, value: string): Traces {
  return name === 'email' ? { emails: [value] } : name === 'id' ? { id: value, knownId: value } : { profile: value };
}

/** Whether all whom a filter named were erased. */
function isNobody(filter: WebhookFilter): boolean {
  const lists = NAMING_FIELDS.flatMap((name) => (filter[name] === undefined ? [] : [filter[name]]));
  return lists.length > 0 && lists.every(({ length }) => length === 0);
}
