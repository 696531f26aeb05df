/** Signals about somebody who is erased: those that name them by an id, a profile, an address or a mobile number, and those of where they work that name them by name alone. */
import { fold, words } from '../fold.ts';
import { nameOf } from '../person-name.ts';
import type { SparseRecord } from '../records.ts';
import { textOrNull } from '../values.ts';
import { domainsReader, ownerReader } from './domain-aliases.ts';
import { isPartOf, nameTold } from './names-told.ts';
import { idAsKey } from './other-keys.ts';
import type { SamePerson } from './same-person.ts';
import { signalAddressTest } from './signal-person.ts';
import type { Store } from './store.ts';

/** Erases them, once the person's own rows are gone; returns the domain of the company of each. */
export function signalEraser(store: Store): (person: SamePerson) => string[] {
  const by = (column: string) => store.prepare(`DELETE FROM signals WHERE ${column} = ? RETURNING company_domain`);
  const [byId, byProfile, bySeq] = [by('person_id'), by('person_profile'), by('seq')];
  // Files number their rows from 1: where somebody else has the id, too, those are theirs that name them.
  const withId = store.prepare('SELECT seq, doc FROM signals WHERE person_id = ?');
  const hasId = store.prepare('SELECT 1 FROM people WHERE id = ?1 UNION ALL SELECT 1 FROM other_keys WHERE key = ?2 LIMIT 1');
  // A namesake who is still there is named by more than the name.
  const named = store.prepare(`
    SELECT seq, doc ->> '$.person.name' AS name FROM signals WHERE company_domain = ? AND doc ->> '$.person.name' IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM people WHERE id = person_id) AND NOT EXISTS (SELECT 1 FROM people WHERE profile = person_profile)`);
  const namesakes = store.prepare('SELECT email FROM people WHERE name_key = ? AND email IS NOT NULL');
  const hasAddress = signalAddressTest(store);
  const isNamesakes = (signal: number, name: string): boolean => namesakes.all(name).some(({ email }) => hasAddress(signal, email as string));
  const [ownerOf, domainsOf] = [ownerReader(store), domainsReader(store)];
  return ({ rows, profiles }) => {
    const erased = [
      ...rows.flatMap(({ ids, names }) => ids.flatMap((id) => (hasId.get(id, idAsKey(id)) === undefined ? byId.all(id) : withId.all(id).filter(isNamed(names)).flatMap(({ seq }) => bySeq.all(seq as number))))),
      ...profiles.flatMap((profile) => byProfile.all(profile)),
    ];
    for (const { companyDomain, person } of rows) {
      const names = namesOf(person);
      if (companyDomain === null || names.size === 0) continue;
      const domains = domainsOf(ownerOf(companyDomain) ?? companyDomain);
      for (const { seq, name } of domains.flatMap((domain) => named.all(domain))) {
        const key = fold(name as string);
        if (names.has(key) && !isNamesakes(seq as number, key)) erased.push(...bySeq.all(seq as number));
      }
    }
    return erased.map((row) => row['company_domain'] as string);
  };
}

/** Erases signals of which a report had an address or a mobile number of a suppressed person, anywhere in it; returns the domain of the company of each. */
export function suppressedSignalEraser(store: Store): () => string[] {
  const erase = store.prepare('DELETE FROM signals WHERE seq IN (SELECT signal FROM signal_keys JOIN suppressions ON email_sha256 = key) RETURNING company_domain');
  return () => erase.all().map((row) => row['company_domain'] as string);
}

/** Whether a signal calls whom it is about by one of these names, or a part of it. @param names folded */
function isNamed(names: readonly string[]): (signal: Readonly<Record<string, unknown>>) => boolean {
  const known = names.filter((name) => words(name).length > 0);
  return ({ doc }) => {
    const name = nameTold(((JSON.parse(doc as string) as SparseRecord)['person'] ?? {}) as SparseRecord) ?? '';
    return name !== '' && known.some((other) => isPartOf(name, other) || isPartOf(other, name));
  };
}

/** What somebody is called, folded: as it was given, and as the parts make it. */
function namesOf(person: SparseRecord): Set<string> {
  const { name: _given, ...parts } = person;
  const whole = textOrNull(parts['first_name']) !== null && textOrNull(parts['last_name']) !== null;
  const names = [textOrNull(person['name']), whole ? nameOf(parts) : null];
  return new Set(names.flatMap((name) => (name === null ? [] : fold(name))).filter((name) => name !== ''));
}
