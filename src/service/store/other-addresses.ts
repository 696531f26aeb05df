/** Addresses of people beside their main one: by which of them somebody is found, too. Several people may have one. */
import { normaliseEmail } from '../../verification/address.ts';
import type { SparseRecord } from '../records.ts';
import type { Store } from './store.ts';

/** Every address of a person, the main one first. */
export function addressesOf(person: SparseRecord): string[] {
  const given: unknown[] = [];
  for (const list of [person['emails'], person['personal_emails']]) {
    if (!Array.isArray(list)) continue;
    for (const entry of list as readonly unknown[]) given.push(typeof entry === 'object' && entry !== null ? ((entry as SparseRecord)['email'] ?? (entry as SparseRecord)['address']) : entry);
  }
  const found = new Set<string>();
  // The main one is kept as a key already.
  if (typeof person['email'] === 'string') found.add(person['email']);
  for (const address of given) {
    const email = typeof address === 'string' ? normaliseEmail(address) : null;
    if (email !== null) found.add(email);
  }
  return [...found];
}

/** Keeps the other addresses that a person's record names; those before are to be forgotten first. */
export function otherAddressWriter(store: Store): (person: number, record: SparseRecord) => void {
  const add = store.prepare('INSERT OR IGNORE INTO other_addresses (email, person) VALUES (?, ?)');
  return (person, record) => {
    for (const email of addressesOf(record)) if (email !== record['email']) add.run(email, person);
  };
}

/** Part of a migration: the other addresses of people who are there already. */
export function putOtherAddresses(store: Store): void {
  const put = otherAddressWriter(store);
  const people = store.prepare(`SELECT seq, doc FROM people WHERE doc LIKE '%"emails":%' OR doc LIKE '%"personal_emails":%'`);
  for (const { seq, doc } of people.iterate()) put(seq as number, JSON.parse(doc as string) as SparseRecord);
}
