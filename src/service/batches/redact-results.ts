/** Redacts erased people from results, by the id of the record and by the addresses, profiles and numbers in it. */
import { profileKey } from '../../verification/profile-url.ts';
import { suppressedPerson } from '../records/suppressed-result.ts';
import { addressesIn } from '../records/addresses-in.ts';
import { erasedSince } from '../store/identity/erased-since.ts';
import type { Store } from '../store/store.ts';
import { suppressionTest, type Traces } from '../store/identity/suppressions.ts';
import { isObject } from '../../util/is-object.ts';
import { textOrNull } from '../http/values.ts';
import { storedErased, storedWith, type StoredLine } from './result-lines.ts';

/** Returns the redacted form of a stored line; null when it stays unchanged. `isErased` means that its record was removed. */
export type Redact = (stored: StoredLine) => { readonly text: string; readonly isErased: boolean } | null;

/** A redactor for erasures since a time, epoch milliseconds; null when no person was erased since. */
export function redactorOf(store: Store): (sinceMs: number) => Redact | null {
  const erased = erasedSince(store);
  const isSuppressed = suppressionTest(store);
  const redact: Redact = (stored) => {
    const record = stored.isOf('succeeded') ? (JSON.parse(stored.json) as { readonly record: unknown }).record : null;
    if (!isObject(record)) return null;
    const rest = withoutSignals(record, isSuppressed);
    const text = JSON.stringify(rest);
    if (isSuppressed({ id: stored.person, knownId: stored.person }) || tracesOf(rest, text).some(isSuppressed))
      return { text: storedErased(stored.json, suppressedPerson()), isErased: true };
    return rest === record ? null : { text: storedWith(stored.json, rest, stored.person), isErased: false };
  };
  return (sinceMs) => (erased.anybody(sinceMs) ? redact : null);
}

type Sparse = Readonly<Record<string, unknown>>;

function tracesOf(person: Sparse, text: string): Traces[] {
  const profile = textOrNull(person['linkedin_url']);
  const mobile = textOrNull(person['mobile']);
  const id = textOrNull(person['id']);
  return [
    { id, knownId: id },
    { profile: profile === null ? null : profileKey(profile) },
    { mobiles: mobile === null ? [] : [mobile] },
    { emails: addressesIn(text) },
  ];
}

/** Removes signals about erased people from a company. Returns the same object when there are none. */
function withoutSignals(record: Sparse, isSuppressed: (traces: Traces) => boolean): Sparse {
  const { company, signals } = record;
  if (isObject(company)) {
    const rest = withoutSignals(company, isSuppressed);
    return rest === company ? record : { ...record, company: rest };
  }
  if (!Array.isArray(signals)) return record;
  const remaining = (signals as readonly unknown[]).filter((signal) => !isObject(signal) || !isAboutErased(signal, isSuppressed));
  return remaining.length === signals.length ? record : { ...record, signals: remaining };
}

function isAboutErased(signal: Sparse, isSuppressed: (traces: Traces) => boolean): boolean {
  const person = isObject(signal['person']) ? signal['person'] : {};
  return tracesOf(person, JSON.stringify(signal)).some(isSuppressed);
}
