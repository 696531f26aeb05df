/** Finds all rows of one person: those with an address, and those that share their further addresses and profiles. */
import { profileKey } from '../../../verification/profile-url.ts';
import { normalise } from '../../records/normalise.ts';
import { fullName } from '../../records/person-name.ts';
import type { SparseRecord } from '../../records/whole-record.ts';
import { textOrNull } from '../../http/values.ts';
import { FORMER_EMAILS, withoutFormer } from './former-keys.ts';
import { mergeStateOf } from '../rows/record-columns.ts';
import { addressesOf, isRoleAddress } from './other-addresses.ts';
import { profileAsKey, profilesAndIds } from './other-keys.ts';
import { hasCompatibleName, isCompatible, type RawPersonRow } from '../rows/person-rows.ts';
import { MAX_SHARING } from './shared-keys.ts';
import type { Store } from '../store.ts';

export interface SamePerson {
  readonly rows: readonly PersonFound[];
  /** Normalised; the requested one first. */
  readonly addresses: readonly string[];
  /** Keys of profiles. */
  readonly profiles: readonly string[];
}

export interface PersonFound {
  readonly seq: number;
  readonly companyDomain: string | null;
  readonly person: SparseRecord;
  /** The id of the row first, then further ones. */
  readonly ids: readonly string[];
  /** Present and former names, normalised. */
  readonly names: readonly string[];
}

/**
 * @param row the columns `seq`, `company_domain` and `field_sources`
 * @param otherIds beside the row's own id
 */
export function foundOf(row: RawPersonRow, person: SparseRecord, otherIds: readonly string[]): PersonFound {
  const nameKey = normalise(fullName(person) ?? '');
  return {
    seq: row['seq'] as number,
    person,
    companyDomain: row['company_domain'] as string | null,
    ids: [person['id'] as string, ...otherIds],
    names: [nameKey, ...(mergeStateOf(row).names ?? [])],
  };
}

/**
 * Finds a person's rows by a normalised address, then by everything that those rows have, until nothing new turns up.
 * Not followed: role addresses (info@), because many people share them; former keys that now belong to a person with another name; and keys
 * of more than `MAX_SHARING` people, which lists use as placeholders. The requested address is always followed.
 */
export function samePersonFinder(store: Store): (email: string) => SamePerson {
  const columns = 'seq, company_domain, doc, field_sources';
  const byEmail = store.prepare(
    `SELECT ${columns} FROM people WHERE email = ?1 OR seq IN (SELECT person FROM other_addresses WHERE email = ?1) LIMIT ?2`,
  );
  const byProfile = store.prepare(
    `SELECT ${columns} FROM people WHERE profile = ?1 OR seq IN (SELECT person FROM other_keys WHERE key = ?2) LIMIT ?3`,
  );
  const owner = 'SELECT seq, name_key, profile, field_sources FROM people WHERE';
  const ownerOf = { email: store.prepare(`${owner} email = ?`), profile: store.prepare(`${owner} profile = ?`) };
  const keysOf = store.prepare('SELECT key FROM other_keys WHERE person = ?');
  /** The keys that connect a row with others. */
  const keysOfRow = (row: RawPersonRow): { found: PersonFound; addresses: readonly string[]; profiles: readonly string[] } => {
    const seq = row['seq'] as number;
    const person = JSON.parse(row['doc'] as string) as SparseRecord;
    const { profiles, ids } = profilesAndIds(keysOf.all(seq).map(({ key }) => key as string));
    const { former } = withoutFormer(FORMER_EMAILS, person);
    const [profile, nameKey] = [profileKey(textOrNull(person['linkedin_url']) ?? ''), normalise(fullName(person) ?? '')];
    const isSamePerson = { email: isCompatible({ nameKey, profile }), profile: hasCompatibleName({ nameKey }) };
    const belongsToAnother = (key: string, by: keyof typeof ownerOf): boolean => {
      // Thousands of rows may share a profile: the first match decides.
      for (const one of ownerOf[by].iterate(key)) if (one['seq'] !== seq && !isSamePerson[by](one)) return true;
      return false;
    };
    return {
      found: foundOf(row, person, ids),
      addresses: addressesOf(person).filter(
        (address) => !isRoleAddress(address) && !(former.includes(address) && belongsToAnother(address, 'email')),
      ),
      profiles: [...(profile === null ? [] : [profile]), ...profiles.filter((one) => !belongsToAnother(one, 'profile'))],
    };
  };
  return (email) => {
    const rows = new Map<number, PersonFound>();
    const addresses = new Set([email]);
    const profiles = new Set<string>();
    /** Keys that too many people share. */
    const shared = new Set<string>();
    const add = (row: RawPersonRow, matches: (keys: ReturnType<typeof keysOfRow>) => boolean): void => {
      if (rows.has(row['seq'] as number)) return;
      const keys = keysOfRow(row);
      if (!matches(keys)) return;
      rows.set(keys.found.seq, keys.found);
      for (const address of keys.addresses) addresses.add(address);
      for (const profile of keys.profiles) profiles.add(profile);
    };
    const [seen, seenProfiles] = [new Set<string>(), new Set<string>()];
    while (addresses.size > seen.size || profiles.size > seenProfiles.size) {
      // A loop over a set also visits the entries that are added meanwhile.
      for (const address of addresses) {
        if (seen.has(address)) continue;
        seen.add(address);
        const found = address === email ? byEmail.all(address, -1) : byEmail.all(address, MAX_SHARING + 1);
        if (address === email || found.length <= MAX_SHARING)
          for (const row of found) add(row, (keys) => address === email || keys.addresses.includes(address));
        else shared.add(address);
      }
      for (const profile of profiles) {
        if (seenProfiles.has(profile)) continue;
        seenProfiles.add(profile);
        const found = byProfile.all(profile, profileAsKey(profile), MAX_SHARING + 1);
        if (found.length <= MAX_SHARING) for (const row of found) add(row, (keys) => keys.profiles.includes(profile));
        else shared.add(profile);
      }
    }
    // A main address belongs to one person, however many list it.
    for (const { person } of rows.values()) shared.delete(person['email'] as string);
    const unshared = (keys: ReadonlySet<string>): string[] => [...keys].filter((key) => !shared.has(key));
    return { rows: [...rows.values()], addresses: unshared(addresses), profiles: unshared(profiles) };
  };
}
