/** Results without whoever was erased since: by whose record it is, and by the addresses, profiles and numbers in it. */
import { profileKey } from '../../verification/profile-url.ts';
import { suppressedPerson } from '../suppressed-result.ts';
import { addressesIn } from '../store/addresses-in.ts';
import { erasedSince } from '../store/erased-since.ts';
import type { Store } from '../store/store.ts';
import { suppressionTest, type Traces } from '../store/suppressions.ts';
import { isObject, textOrNull } from '../values.ts';
import { keptErased, keptWith, type Kept } from './result-lines.ts';

/** Takes a kept line, and returns it as it is to be kept from now on; null: as it is. `isErased`: it was a person's, and has no record any more. */
export type Cut = (kept: Kept) => { readonly text: string; readonly isErased: boolean } | null;

/** Null: nobody was erased since then, epoch milliseconds. */
export function cutter(store: Store): (sinceMs: number) => Cut | null {
  const erased = erasedSince(store);
  const isSuppressed = suppressionTest(store);
  const cut: Cut = (kept) => {
    const record = kept.isOf('succeeded') ? (JSON.parse(kept.json) as { readonly record: unknown }).record : null;
    if (!isObject(record)) return null;
    const rest = withoutSignals(record, isSuppressed);
    const text = JSON.stringify(rest);
    if (isSuppressed({ id: kept.person, knownId: kept.person }) || tracesOf(rest, text).some(isSuppressed)) return { text: keptErased(kept.json, suppressedPerson()), isErased: true };
    return rest === record ? null : { text: keptWith(kept.json, rest, kept.person), isErased: false };
  };
  return (sinceMs) => (erased.anybody(sinceMs) ? cut : null);
}

type Sparse = Readonly<Record<string, unknown>>;

function tracesOf(person: Sparse, text: string): Traces[] {
  const profile = textOrNull(person['linkedin_url']);
  const mobile = textOrNull(person['mobile']);
  const id = textOrNull(person['id']);
  return [{ id, knownId: id }, { profile: profile === null ? null : profileKey(profile) }, { mobiles: mobile === null ? [] : [mobile] }, { emails: addressesIn(text) }];
}

/** A company shows signals, and some of these are about somebody: the company stays without them. */
function withoutSignals(record: Sparse, isSuppressed: (traces: Traces) => boolean): Sparse {
  const { company, signals } = record;
  if (isObject(company)) {
    const cut = withoutSignals(company, isSuppressed);
    return cut === company ? record : { ...record, company: cut };
  }
  if (!Array.isArray(signals)) return record;
  const left = (signals as readonly unknown[]).filter((signal) => !isObject(signal) || !isAboutErased(signal, isSuppressed));
  return left.length === signals.length ? record : { ...record, signals: left };
}

function isAboutErased(signal: Sparse, isSuppressed: (traces: Traces) => boolean): boolean {
  const person = isObject(signal['person']) ? signal['person'] : {};
  return tracesOf(person, JSON.stringify(signal)).some(isSuppressed);
}
