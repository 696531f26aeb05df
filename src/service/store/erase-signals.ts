/** Signals about somebody who is erased: those that name them by an id, an address or a profile, and those of where they work that name them by name alone or list an address of theirs among others. */
import { splitAddress } from '../../verification/address.ts';
import { fold } from '../fold.ts';
import { nameOf } from '../person-name.ts';
import type { SparseRecord } from '../records.ts';
import { textOrNull } from '../values.ts';
import { addressesOf } from './other-addresses.ts';
import type { SamePerson } from './same-person.ts';
import type { Store } from './store.ts';

/** Erases them, once the person's own rows are gone; returns the domain of the company of each. */
export function signalEraser(store: Store): (person: SamePerson) => string[] {
  const by = (column: string) => store.prepare(`DELETE FROM signals WHERE ${column} = ? RETURNING company_domain`);
  const [byId, byEmail, byProfile, bySeq] = [by('person_id'), by('person_email'), by('person_profile'), by('seq')];
  // A namesake who is still there is named by more than the name.
  const named = store.prepare(`
    SELECT seq, doc ->> '$.person.name' AS name FROM signals WHERE company_domain = ? AND doc ->> '$.person.name' IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM people WHERE id = person_id) AND NOT EXISTS (SELECT 1 FROM people WHERE email = person_email) AND NOT EXISTS (SELECT 1 FROM people WHERE profile = person_profile)`);
  // By the first address that a signal names it is found at any company.
  const listing = store.prepare("SELECT seq, doc -> '$.person' AS person FROM signals WHERE company_domain = ? AND (doc -> '$.person.emails' IS NOT NULL OR doc -> '$.person.personal_emails' IS NOT NULL)");
  return ({ rows, addresses, profiles }) => {
    const erased = [
      ...rows.flatMap(({ person }) => (typeof person['id'] === 'string' ? byId.all(person['id']) : [])),
      ...addresses.flatMap((address) => byEmail.all(address)),
      ...profiles.flatMap((profile) => byProfile.all(profile)),
    ];
    for (const { companyDomain, person } of rows) {
      const names = companyDomain === null ? new Set<string>() : namesOf(person);
      if (names.size === 0) continue;
      for (const { seq, name } of named.all(companyDomain)) if (typeof name === 'string' && names.has(fold(name))) erased.push(...bySeq.all(seq as number));
    }
    const employers = new Set([...rows.map(({ companyDomain }) => companyDomain), ...addresses.map((address) => splitAddress(address)?.domain)]);
    for (const domain of employers) {
      for (const { seq, person } of listing.all(domain ?? null)) if (addressesOf(JSON.parse(person as string) as SparseRecord).some((address) => addresses.includes(address))) erased.push(...bySeq.all(seq as number));
    }
    return erased.map((row) => row['company_domain'] as string);
  };
}

/** What somebody is called, folded: as it was given, and as the parts make it. */
function namesOf(person: SparseRecord): Set<string> {
  const { name: _given, ...parts } = person;
  const whole = textOrNull(parts['first_name']) !== null && textOrNull(parts['last_name']) !== null;
  const names = [textOrNull(person['name']), whole ? nameOf(parts) : null];
  return new Set(names.flatMap((name) => (name === null ? [] : fold(name))).filter((name) => name !== ''));
}
