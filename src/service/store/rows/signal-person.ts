/** The person a report of a signal is about. Addresses and numbers are stored as digests alone, by which an erasure finds the signal. */
import { normaliseEmail } from '../../../verification/address.ts';
import { profileKey } from '../../../verification/profile-url.ts';
import { phoneOf } from '../../records/field-types.ts';
import { normalise } from '../../records/normalise.ts';
import { fullName } from '../../records/person-name.ts';
import type { SparseRecord } from '../../records/whole-record.ts';
import { isObject } from '../../../util/is-object.ts';
import { textOrNull } from '../../http/values.ts';
import { addressesWithin } from '../../records/addresses-in.ts';
import { numbersOf } from '../identity/other-numbers.ts';
import type { Store } from '../store.ts';
import { suppressionKey, suppressionKeys, tracesOfId, type Traces } from '../identity/suppressions.ts';

/** The identity of that person. */
export interface NamedPerson {
  readonly id: string | null;
  /** The main address, normalised. */
  readonly email: string | null;
  /** The key of a profile. */
  readonly profile: string | null;
  /** Traces for the suppression check, including every address in the report. */
  readonly traces: Traces;
}

/** @param report as received */
export function personNamedIn(report: SparseRecord): NamedPerson {
  const person = isObject(report['person']) ? report['person'] : {};
  const [id, profile] = [textOrNull(person['id']), profileKey(textOrNull(person['linkedin_url']) ?? '')];
  const email = normaliseEmail(textOrNull(person['email']) ?? '');
  const emails = new Set([...(email === null ? [] : [email]), ...addressesWithin(report)]);
  const mobiles = numbersOf({ ...person, mobile: phoneOf(person['mobile']) }, 'mobile');
  return { id, email, profile, traces: { ...tracesOfId(id, normalise(fullName(person) ?? '')), emails: [...emails], profile, mobiles } };
}

/** Stores the addresses and mobile numbers of a report as digests. @param id of the signal */
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
