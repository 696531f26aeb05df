/** Who is one and the same person: the rows that an address leads to, and those to which their other addresses and profiles lead. */
import { profileKey } from '../../verification/profile-url.ts';
import { fold } from '../fold.ts';
import { nameOf } from '../person-name.ts';
import type { SparseRecord } from '../records.ts';
import { textOrNull } from '../values.ts';
import { FORMER_EMAILS, withoutFormer } from './former-keys.ts';
import { asideOf } from './kept-columns.ts';
import { addressesOf, isOfFunction } from './other-addresses.ts';
import { profileAsKey, profilesAndIds } from './other-keys.ts';
import { isCalledSo, mayBe, type Row } from './person-rows.ts';
import { MAX_SHARING } from './shared-keys.ts';
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
  /** The one that they are named by, and all others. */
  readonly ids: readonly string[];
  /** What they are and were called, folded. */
  readonly names: readonly string[];
}

/** @param row the columns `seq`, `company_domain` and `field_sources` @param otherIds beside the one that they are named by */
export function foundOf(row: Row, person: SparseRecord, otherIds: readonly string[]): PersonFound {
  const nameKey = fold(nameOf(person) ?? '');
  return { seq: row['seq'] as number, person, companyDomain: row['company_domain'] as string | null, ids: [person['id'] as string, ...otherIds], names: [nameKey, ...(asideOf(row).names ?? [])] };
}

/**
 * Finds them by a normalised address. Sources differ in what they know, so it is looked again by all that was found, until nothing is new. The address of a
 * function (info@) is many people's, and what was theirs once may be by now that of somebody who is called otherwise: neither leads to anybody, unless it is what was asked for. Nor does what more have than one person can: in lists it stands for nothing.
 */
export function samePersonFinder(store: Store): (email: string) => SamePerson {
  const columns = 'seq, company_domain, doc, field_sources';
  const byEmail = store.prepare(`SELECT ${columns} FROM people WHERE email = ?1 OR seq IN (SELECT person FROM other_addresses WHERE email = ?1) LIMIT ?2`);
  const byProfile = store.prepare(`SELECT ${columns} FROM people WHERE profile = ?1 OR seq IN (SELECT person FROM other_keys WHERE key = ?2) LIMIT ?3`);
  const owner = 'SELECT seq, name_key, profile, field_sources FROM people WHERE';
  const ownerOf = { email: store.prepare(`${owner} email = ?`), profile: store.prepare(`${owner} profile = ?`) };
  const keysOf = store.prepare('SELECT key FROM other_keys WHERE person = ?');
  /** What leads from a row to others, and from others to it. */
  const leadsOf = (row: Row): { found: PersonFound; addresses: readonly string[]; profiles: readonly string[] } => {
    const seq = row['seq'] as number;
    const person = JSON.parse(row['doc'] as string) as SparseRecord;
    const { profiles, ids } = profilesAndIds(keysOf.all(seq).map(({ key }) => key as string));
    const { former } = withoutFormer(FORMER_EMAILS, person);
    const [profile, nameKey] = [profileKey(textOrNull(person['linkedin_url']) ?? ''), fold(nameOf(person) ?? '')];
    const isTheirs = { email: mayBe({ nameKey, profile }), profile: isCalledSo({ nameKey }) };
    const isAnothers = (key: string, by: keyof typeof ownerOf): boolean => {
      // Thousands may have one profile, and thousands have had it: the first is enough.
      for (const one of ownerOf[by].iterate(key)) if (one['seq'] !== seq && !isTheirs[by](one)) return true;
      return false;
    };
    return {
      found: foundOf(row, person, ids),
      addresses: addressesOf(person).filter((address) => !isOfFunction(address) && !(former.includes(address) && isAnothers(address, 'email'))),
      profiles: [...(profile === null ? [] : [profile]), ...profiles.filter((one) => !isAnothers(one, 'profile'))],
    };
  };
  return (email) => {
    const rows = new Map<number, PersonFound>();
    const addresses = new Set([email]);
    const profiles = new Set<string>();
    /** What too many have. */
    const shared = new Set<string>();
    const add = (row: Row, isMeant: (leads: ReturnType<typeof leadsOf>) => boolean): void => {
      if (rows.has(row['seq'] as number)) return;
      const leads = leadsOf(row);
      if (!isMeant(leads)) return;
      rows.set(leads.found.seq, leads.found);
      for (const address of leads.addresses) addresses.add(address);
      for (const profile of leads.profiles) profiles.add(profile);
    };
    const [seen, seenProfiles] = [new Set<string>(), new Set<string>()];
    while (addresses.size > seen.size || profiles.size > seenProfiles.size) {
      // A set that grows while it is gone through is gone through to its new end.
      for (const address of addresses) {
        if (seen.has(address)) continue;
        seen.add(address);
        const found = address === email ? byEmail.all(address, -1) : byEmail.all(address, MAX_SHARING + 1);
        if (address === email || found.length <= MAX_SHARING) for (const row of found) add(row, (leads) => address === email || leads.addresses.includes(address));
        else shared.add(address);
      }
      for (const profile of profiles) {
        if (seenProfiles.has(profile)) continue;
        seenProfiles.add(profile);
        const found = byProfile.all(profile, profileAsKey(profile), MAX_SHARING + 1);
        if (found.length <= MAX_SHARING) for (const row of found) add(row, (leads) => leads.profiles.includes(profile));
        else shared.add(profile);
      }
    }
    // A main address is one person's, whoever lists it.
    for (const { person } of rows.values()) shared.delete(person['email'] as string);
    const theirs = (keys: ReadonlySet<string>): string[] => [...keys].filter((key) => !shared.has(key));
    return { rows: [...rows.values()], addresses: theirs(addresses), profiles: theirs(profiles) };
  };
}
