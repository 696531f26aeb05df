/** Addresses of a person beside the main one. Lookups find the person by them, and several people may share one. */
import { normaliseEmail, splitAddress } from '../../../verification/address.ts';
import { isRole } from '../../../verification/lists.ts';
import type { SparseRecord } from '../../records/whole-record.ts';

/** All addresses of a person, the main one first. */
export function addressesOf(person: SparseRecord): string[] {
  const given: unknown[] = [];
  for (const list of [person['emails'], person['personal_emails']]) {
    if (!Array.isArray(list)) continue;
    for (const entry of list as readonly unknown[])
      given.push(typeof entry === 'object' && entry !== null ? (entry as SparseRecord)['email'] : entry);
  }
  const found = new Set<string>();
  // The main one is normalised already.
  if (typeof person['email'] === 'string') found.add(person['email']);
  for (const address of given) {
    const email = typeof address === 'string' ? normaliseEmail(address) : null;
    if (email !== null) found.add(email);
  }
  return [...found];
}

/** The addresses beside the main one. */
export function otherAddressesOf(person: SparseRecord): string[] {
  if (person['emails'] === undefined && person['personal_emails'] === undefined) return [];
  return addressesOf(person).filter((address) => address !== person['email']);
}

/** Whether this is a role address (info@), which many people share. */
export function isRoleAddress(email: string): boolean {
  return isRole(splitAddress(email)?.local ?? '');
}
