/**
 * Erases the signals about an erased person: those that name the person by an id, profile, address or mobile number, and those of the same
 * company that name the person by name alone.
 */
import { normalise, words } from '../records/normalise.ts';
import { fullName } from '../records/person-name.ts';
import type { SparseRecord } from '../records/whole-record.ts';
import { textOrNull } from '../http/values.ts';
import { domainsReader, ownerReader } from '../store/identity/domain-aliases.ts';
import { isNamePart, reportedName } from '../store/identity/reported-names.ts';
import { idAsKey } from '../store/identity/other-keys.ts';
import type { SamePerson } from '../store/identity/connected-rows.ts';
import { signalAddressTest } from '../store/rows/signal-person.ts';
import type { Store } from '../store/store.ts';

/** Erases the signals after the person's own rows; returns the company domain of each. */
export function signalEraser(store: Store): (person: SamePerson) => string[] {
  const by = (column: string) => store.prepare(`DELETE FROM signals WHERE ${column} = ? RETURNING company_domain`);
  const [byId, byProfile, bySeq] = [by('person_id'), by('person_profile'), by('seq')];
  // Files number their rows from 1. When another person has the same id, only signals with this person's name are erased.
  const withId = store.prepare('SELECT seq, doc FROM signals WHERE person_id = ?');
  const hasId = store.prepare('SELECT 1 FROM people WHERE id = ?1 UNION ALL SELECT 1 FROM other_keys WHERE key = ?2 LIMIT 1');
  // When a namesake remains, a name alone does not identify the erased person.
  const named = store.prepare(`
    SELECT seq, doc ->> '$.person.name' AS name FROM signals WHERE company_domain = ? AND doc ->> '$.person.name' IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM people WHERE id = person_id) AND NOT EXISTS (SELECT 1 FROM people WHERE profile = person_profile)`);
  const namesakes = store.prepare('SELECT email FROM people WHERE name_key = ? AND email IS NOT NULL');
  const hasAddress = signalAddressTest(store);
  const isNamesakes = (signal: number, name: string): boolean =>
    namesakes.all(name).some(({ email }) => hasAddress(signal, email as string));
  const [ownerOf, domainsOf] = [ownerReader(store), domainsReader(store)];
  return ({ rows, profiles }) => {
    const erased = [
      ...rows.flatMap(({ ids, names }) =>
        ids.flatMap((id) =>
          hasId.get(id, idAsKey(id)) === undefined
            ? byId.all(id)
            : withId
                .all(id)
                .filter(isNamed(names))
                .flatMap(({ seq }) => bySeq.all(seq as number)),
        ),
      ),
      ...profiles.flatMap((profile) => byProfile.all(profile)),
    ];
    for (const { companyDomain, person } of rows) {
      const names = namesOf(person);
      if (companyDomain === null || names.size === 0) continue;
      const domains = domainsOf(ownerOf(companyDomain) ?? companyDomain);
      for (const { seq, name } of domains.flatMap((domain) => named.all(domain))) {
        const key = normalise(name as string);
        if (names.has(key) && !isNamesakes(seq as number, key)) erased.push(...bySeq.all(seq as number));
      }
    }
    return erased.map((row) => row['company_domain'] as string);
  };
}

/** Erases signals with an address or a mobile number of this digest in any report; returns the company domain of each. */
export function digestSignalEraser(store: Store): (digest: Uint8Array) => string[] {
  const erase = store.prepare('DELETE FROM signals WHERE seq IN (SELECT signal FROM signal_keys WHERE key = ?) RETURNING company_domain');
  return (digest) => erase.all(digest).map((row) => row['company_domain'] as string);
}

/** Whether a signal's name for its person is one of these names, or a part of one. @param names normalised */
function isNamed(names: readonly string[]): (signal: Readonly<Record<string, unknown>>) => boolean {
  const known = names.filter((name) => words(name).length > 0);
  return ({ doc }) => {
    const name = reportedName(((JSON.parse(doc as string) as SparseRecord)['person'] ?? {}) as SparseRecord) ?? '';
    return name !== '' && known.some((other) => isNamePart(name, other) || isNamePart(other, name));
  };
}

/** The normalised names of a person: the full name, and the one built from its parts. */
function namesOf(person: SparseRecord): Set<string> {
  const { name: _given, ...parts } = person;
  const hasBothParts = textOrNull(parts['first_name']) !== null && textOrNull(parts['last_name']) !== null;
  const names = [textOrNull(person['name']), hasBothParts ? fullName(parts) : null];
  return new Set(names.flatMap((name) => (name === null ? [] : normalise(name))).filter((name) => name !== ''));
}
