/** Addresses of people beside their main one: by which of them somebody is found, too. Several people may have one. */
import { normaliseEmail, splitAddress } from '../../verification/address.ts';
import { isRole } from '../../verification/lists.ts';
import type { SparseRecord } from '../records.ts';
import { SharedKeys } from './shared-keys.ts';
import type { Store } from './store.ts';

/** Every address of a person, the main one first. */
export function addressesOf(person: SparseRecord): string[] {
  const given: unknown[] = [];
  for (const list of [person['emails'], person['personal_emails']]) {
    if (!Array.isArray(list)) continue;
    for (const entry of list as readonly unknown[]) given.push(typeof entry === 'object' && entry !== null ? (entry as SparseRecord)['email'] : entry);
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

/** Addresses of a person beside their main one. */
export function otherAddressesOf(person: SparseRecord): string[] {
  if (person['emails'] === undefined && person['personal_emails'] === undefined) return [];
  return addressesOf(person).filter((address) => address !== person['email']);
}

/** Whether an address is that of a function (info@), which is many people's. */
export function isOfFunction(email: string): boolean {
  return isRole(splitAddress(email)?.local ?? '');
}

/** Part of a migration: the other addresses of people who are there already. */
export function putOtherAddresses(store: Store): void {
  const addresses = new SharedKeys(store, 'other_addresses', { transactions: 0 });
  const people = store.prepare(`SELECT seq, doc FROM people WHERE doc LIKE '%"emails":%' OR doc LIKE '%"personal_emails":%'`);
  for (const { seq, doc } of people.iterate()) addresses.put(seq as number, otherAddressesOf(JSON.parse(doc as string) as SparseRecord));
}
