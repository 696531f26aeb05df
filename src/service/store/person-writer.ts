/** People into the store: recognised by what they are known by, merged with what is known of them. */
import type { StatementSync } from 'node:sqlite';
import { profileKey } from '../../verification/profile-url.ts';
import { cleanRecord, PERSON_TYPES } from '../field-types.ts';
import { fold } from '../fold.ts';
import { hasWholeName, nameOf, withName } from '../person-name.ts';
import { lackingInPerson, type SparseRecord } from '../records.ts';
import { textOrNull } from '../values.ts';
import { digest, MAX_DOC, ownId, type Put } from './company-writer.ts';
import type { IndexWriter } from '../search/index-writer.ts';
import { NO_HEADCOUNT, rankOf, type SortKeys } from '../search/sort-keys.ts';
import { fieldSources, readKept } from './kept-columns.ts';
import { mergePerson } from './merge-person.ts';
import type { KeptRecord, Provenance } from './merge.ts';
import { addressesOf, otherAddressWriter } from './other-addresses.ts';
import { numbersOf, otherNumberWriter } from './other-numbers.ts';
import { suppressionTest } from './suppressions.ts';
import type { Store } from './store.ts';

/** `learntMs`: when the status of the address was learnt (epoch milliseconds), where that is known to be another time than the record's. */
export type PutPerson = (raw: SparseRecord, from: Provenance, learntMs?: number | null) => Put;

type Row = Record<string, unknown>;

export const PERSON_KEPT_COLUMNS = ['id', 'email', 'profile', 'mobile', 'name_key', 'company_domain', 'email_status', 'email_verified_at', 'rank', 'doc', 'lacks', 'source', 'observed_at', 'field_sources'] as const;

/** Puts one person; within a transaction, at whose end `index` is flushed. `company_domain` says where one works. */
export function personWriter(store: Store, index: IndexWriter): PutPerson {
  const find = finder(store);
  const isSuppressed = suppressionTest(store);
  const taken = store.prepare('SELECT 1 FROM people WHERE id = ?');
  // The company's is what counts, and a store of before has this column.
  const insert = store.prepare(`INSERT INTO people (headcount, ${PERSON_KEPT_COLUMNS.join(', ')}) VALUES (${NO_HEADCOUNT}, ${PERSON_KEPT_COLUMNS.map(() => '?').join(', ')})`);
  const update = personUpdate(store);
  const termsOf = store.prepare('SELECT terms FROM person_term_lists WHERE person = ?');
  const keepTerms = store.prepare('INSERT OR REPLACE INTO person_term_lists (person, terms) VALUES (?, ?)');
  const forgetOthers = store.prepare('DELETE FROM other_addresses WHERE person = ?');
  const putOthers = otherAddressWriter(store);
  const putNumbers = otherNumberWriter(store);
  return (raw, from, learntMs = null) => {
    const { record: known, dropped } = cleanRecord(raw, PERSON_TYPES);
    delete known['updated_at'];
    const keys = keysOf(known);
    if (keys.email === null && keys.profile === null && keys.id === null && (keys.name === null || keys.domain === null)) {
      return { kind: 'rejected', code: dropped.includes('email') ? 'bad_email' : 'no_identity', detail: 'a person needs a good e-mail address, a profile URL, an id, or a whole name and a company domain' };
    }
    if (isSuppressed({ emails: addressesOf(known), profile: keys.profile, numbers: numbersOf(known, 'mobile'), id: keys.id })) return { kind: 'rejected', code: 'suppressed', detail: 'this person asked to be removed' };
    const found = find(keys);
    const kept = found === null ? null : keptPerson(found);
    // Nobody was found by the id that was given, so it is free. One that was an erased namesake's is not given again.
    if (kept === null) known['id'] = ownId(known['id'], (id) => id === keys.id || (taken.get(id) === undefined && !isSuppressed({ id })), () => `pe_${digest(identityOf(keys))}`);
    const { record: merged, change } = mergePerson(kept, known, from, learntMs);
    if (change === 'same') return { kind: 'put', change, dropped };
    const { company_domain: domain, ...doc } = merged.doc;
    const text = JSON.stringify(doc);
    if (text.length > MAX_DOC) return { kind: 'rejected', code: 'too_large', detail: `the record is longer than ${MAX_DOC} characters` };
    const columns = personColumns(merged, text);
    const seq = found === null ? Number(insert.run(...columns).lastInsertRowid) : (found['seq'] as number);
    if (found !== null) {
      update.run(...columns, seq);
      forgetOthers.run(seq);
    }
    putOthers(seq, merged.doc);
    putNumbers(seq, merged.doc, found === null);
    const terms = found === null ? null : (termsOf.get(seq)?.['terms'] as Uint8Array | undefined);
    keepTerms.run(seq, index.person(seq, terms ?? null, withName(doc), textOrNull(domain), sortKeysOf(merged)));
    return { kind: 'put', change, dropped };
  };
}

/** Replaces what is kept of the person in a row, whose `seq` comes last. */
export function personUpdate(store: Store): StatementSync {
  return store.prepare(`UPDATE people SET ${PERSON_KEPT_COLUMNS.map((name) => `${name} = ?`).join(', ')} WHERE seq = ?`);
}

/** A kept person with where they work. */
export function keptPerson(row: Row): KeptRecord {
  const domain = row['company_domain'];
  return readKept(row, domain === null ? {} : { company_domain: domain });
}

/** What a person is known by. */
interface PersonKeys {
  readonly email: string | null;
  readonly profile: string | null;
  readonly id: string | null;
  /** A whole one. */
  readonly name: string | null;
  readonly domain: string | null;
}

function keysOf(record: SparseRecord): PersonKeys {
  return { email: textOrNull(record['email']), profile: profileOf(record), id: textOrNull(record['id']), name: hasWholeName(record) ? nameKey(record) : null, domain: textOrNull(record['company_domain']) };
}

/** Who this is, by the best of what is given: address, profile, id; a name alone is many people's, and one of a company's as a rule. */
function finder(store: Store): (keys: PersonKeys) => Row | null {
  const byEmail = store.prepare('SELECT * FROM people WHERE email = ?');
  const byOther = store.prepare('SELECT people.* FROM other_addresses JOIN people ON people.seq = person WHERE other_addresses.email = ? ORDER BY person LIMIT 1');
  const byProfile = store.prepare('SELECT * FROM people WHERE profile = ? ORDER BY seq LIMIT 1');
  const byId = store.prepare('SELECT * FROM people WHERE id = ?');
  const byName = store.prepare('SELECT * FROM people WHERE name_key = ? AND company_domain = ? ORDER BY id LIMIT 2');
  return ({ email, profile, id, name, domain }) => {
    const found = (email === null ? undefined : (byEmail.get(email) ?? byOther.get(email))) ?? (profile === null ? undefined : byProfile.get(profile)) ?? (id === null ? undefined : byId.get(id));
    if (found !== undefined || email !== null || profile !== null || id !== null) return found ?? null;
    const same = byName.all(name, domain);
    return same.length === 1 ? (same[0] ?? null) : null;
  };
}

/** What the id of somebody new is made of. */
function identityOf({ email, profile, id, name, domain }: PersonKeys): string {
  if (email !== null) return `email:${email}`;
  if (profile !== null) return `profile:${profile}`;
  return id === null ? `name:${name}\n${domain}` : `id:${id}`;
}

/** `PERSON_KEPT_COLUMNS` of a record. @param text it as JSON, without where they work */
export function personColumns(merged: KeptRecord, text: string): (string | number | null)[] {
  const { doc } = merged;
  const verifiedMs = Date.parse((doc['email_verified_at'] as string | undefined) ?? '');
  return [
    doc['id'] as string,
    textOrNull(doc['email']),
    profileOf(doc),
    textOrNull(doc['mobile']),
    nameKey(doc),
    textOrNull(doc['company_domain']),
    textOrNull(doc['email_status']),
    Number.isNaN(verifiedMs) ? null : verifiedMs,
    rankOf(doc),
    text,
    lackingInPerson(doc),
    merged.base.source,
    merged.base.atMs,
    fieldSources(merged),
  ];
}

export function sortKeysOf({ doc, base }: KeptRecord): SortKeys {
  return { id: doc['id'] as string, name: nameKey(doc), rank: rankOf(doc), updatedMs: base.atMs };
}

function profileOf(person: SparseRecord): string | null {
  return typeof person['linkedin_url'] === 'string' ? profileKey(person['linkedin_url']) : null;
}

/** A person's name as it is compared and sorted. */
function nameKey(person: SparseRecord): string {
  return fold(nameOf(person) ?? '');
}
