/** By what a report of a signal names whom it is about. Its addresses and numbers are kept as digests alone, by which an erasure finds the signal. */
import { normaliseEmail } from '../../verification/address.ts';
import { profileKey } from '../../verification/profile-url.ts';
import { phoneOf } from '../field-types.ts';
import { fold } from '../fold.ts';
import { nameOf } from '../person-name.ts';
import type { SparseRecord } from '../records.ts';
import { isObject, textOrNull } from '../values.ts';
import { addressesWithin } from './addresses-in.ts';
import { numbersOf } from './other-numbers.ts';
import type { Store } from './store.ts';
import { suppressionKey, suppressionKeys, tracesOfId, type Traces } from './suppressions.ts';

/** What a report says of whom it is about. */
export interface NamedPerson {
  readonly id: string | null;
  /** The main address, normalised; null: none. */
  readonly email: string | null;
  /** A profile's key. */
  readonly profile: string | null;
  /** By what of the report somebody is recognised who asked to be removed: also by an address anywhere in it. */
  readonly traces: Traces;
}

/** @param report as it came */
export function namedIn(report: SparseRecord): NamedPerson {
  const person = isObject(report['person']) ? report['person'] : {};
  const [id, profile] = [textOrNull(person['id']), profileKey(textOrNull(person['linkedin_url']) ?? '')];
  const email = normaliseEmail(textOrNull(person['email']) ?? '');
  const emails = new Set([...(email === null ? [] : [email]), ...addressesWithin(report)]);
  const mobiles = numbersOf({ ...person, mobile: phoneOf(person['mobile']) }, 'mobile');
  return { id, email, profile, traces: { ...tracesOfId(id, fold(nameOf(person) ?? '')), emails: [...emails], profile, mobiles } };
}

/** Keeps the addresses and mobile numbers of a report with a signal, as digests. @param id of the signal */
export function signalKeyWriter(store: Store): (id: string, person: NamedPerson) => void {
  const put = store.prepare('INSERT OR IGNORE INTO signal_keys (key, signal) SELECT ?, seq FROM signals WHERE id = ?');
  return (id, { traces: { emails, mobiles } }) => {
    for (const key of suppressionKeys({ emails: emails ?? [], mobiles: mobiles ?? [] })) put.run(key, id);
  };
}

/** Whether a report of a signal has named an address. @param signal its `seq` */
export function signalAddressTest(store: Store): (signal: number, email: string) => boolean {
  const find = store.prepare('SELECT 1 FROM signal_keys WHERE key = ? AND signal = ?');
  return (signal, email) => find.get(suppressionKey(email), signal) !== undefined;
}

/** Part of a migration: the keys of signals whose text still has them. */
export function putSignalKeys(store: Store): void {
  const put = signalKeyWriter(store);
  const signals = store.prepare('SELECT id, doc FROM signals ORDER BY seq').all();
  for (const { id, doc } of signals) put(id as string, namedIn(JSON.parse(doc as string) as SparseRecord));
}
