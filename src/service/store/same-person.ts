/** Who is one and the same person: the rows that an address leads to, and those to which their other addresses and profiles lead. */
import { splitAddress } from '../../verification/address.ts';
import { isRole } from '../../verification/lists.ts';
import { profileKey } from '../../verification/profile-url.ts';
import type { SparseRecord } from '../records.ts';
import { textOrNull } from '../values.ts';
import { FORMER_EMAILS, withoutFormer } from './former-keys.ts';
import { addressesOf } from './other-addresses.ts';
import type { Store } from './store.ts';

export interface SamePerson {
  readonly rows: readonly PersonFound[];
  /** Normalised; first the one that was asked for. */
  readonly addresses: readonly string[];
  /** Keys of profiles. */
  readonly profiles: readonly string[];
}

export interface PersonFound {
  readonly seq: number;
  readonly companyDomain: string | null;
  readonly person: SparseRecord;
}

/**
 * Finds them by a normalised address. Sources differ in what they know, so it is looked again by all that was found, until nothing is new. The address of a
 * function (info@) that is not somebody's main one is many people's: it leads to nobody, unless it is the one that was asked for.
 */
export function samePersonFinder(store: Store): (email: string) => SamePerson {
  const columns = 'seq, company_domain, doc';
  const byEmail = store.prepare(`SELECT ${columns} FROM people WHERE email = ?1 OR seq IN (SELECT person FROM other_addresses WHERE email = ?1)`);
  const byProfile = store.prepare(`SELECT ${columns} FROM people WHERE profile = ?`);
  const owner = store.prepare('SELECT seq FROM people WHERE email = ?');
  return (email) => {
    const rows = new Map<number, PersonFound>();
    const addresses = new Set([email]);
    const profiles = new Set<string>();
    const add = (row: Readonly<Record<string, unknown>>): void => {
      const seq = row['seq'] as number;
      if (rows.has(seq)) return;
      const person = JSON.parse(row['doc'] as string) as SparseRecord;
      rows.set(seq, { seq, person, companyDomain: row['company_domain'] as string | null });
      const { former } = withoutFormer(FORMER_EMAILS, person);
      // What was theirs once may be somebody else's by now.
      const isAnothers = (address: string): boolean => former.includes(address) && (owner.get(address)?.['seq'] ?? seq) !== seq;
      for (const address of addressesOf(person)) if (address === person['email'] || !(isOfFunction(address) || isAnothers(address))) addresses.add(address);
      const profile = profileKey(textOrNull(person['linkedin_url']) ?? '');
      if (profile !== null) profiles.add(profile);
    };
    const [seen, seenProfiles] = [new Set<string>(), new Set<string>()];
    while (addresses.size > seen.size || profiles.size > seenProfiles.size) {
      // A set that grows while it is gone through is gone through to its new end.
      for (const address of addresses) {
        if (seen.has(address)) continue;
        seen.add(address);
        byEmail.all(address).forEach(add);
      }
      for (const profile of profiles) {
        if (seenProfiles.has(profile)) continue;
        seenProfiles.add(profile);
        byProfile.all(profile).forEach(add);
      }
    }
    return { rows: [...rows.values()], addresses: [...addresses], profiles: [...profiles] };
  };
}

function isOfFunction(email: string): boolean {
  return isRole(splitAddress(email)?.local ?? '');
}
