/** Which keys a record is looked up by. Pure. */
import type { Step } from '../job/steps.ts';
import type { InputRecord } from '../reader/types.ts';
import { addressIn, domainIn, isBlank, type AddressInText } from '../verification/clean-keys.ts';
import { profileKey } from '../verification/profile-url.ts';

export type EnrichLookup = { readonly by: 'email' | 'domain'; readonly key: string };

/** Why there is nothing to look up. */
export type NoKey = 'bad_email' | 'bad_profile_url' | 'no_key';

/** What a job's steps ask for one record; null: nothing, or the step is not configured. */
export interface RecordKeys {
  readonly enrich: EnrichLookup | null;
  /** The record's own address; enrich may find one for a record without. */
  readonly verify: string | null;
  /** The same as the record spells it, which is what the service is asked: a mail host may tell upper case from lower case. */
  readonly spelled: string | null;
  readonly company: string | null;
  readonly reveal: string | null;
  /** The record's own address when it had to be cleaned, as in `mailto:` or `Jo <...>`: the one that is asked for in its place. */
  readonly cleanedEmail: string | null;
  /** The step whose answer is the outcome. */
  readonly decides: Step;
}

export type KeysOf = (record: Pick<InputRecord, 'email' | 'domain' | 'linkedinUrl'>) => RecordKeys | NoKey;

/** Whether a mailbox there, at a free provider or a relay, names no employer. @param domain ASCII, lower case */
export type IsFreeProvider = (domain: string) => boolean;

/** Longer than any address can be, quoted or not; what is longer is not sent. */
const LONGEST_SENT_ADDRESS = 1_024;

/**
 * The rule of a job for its records. The outcome is decided by the first of enrich, reveal and company that has a key in the record, and
 * by verify where none of them has; but what cannot be enriched is not just verified.
 */
export function keysFor(steps: readonly Step[], isFreeProvider: IsFreeProvider): KeysOf {
  const has = { enrich: steps.includes('enrich'), verify: steps.includes('verify'), company: steps.includes('company'), reveal: steps.includes('reveal') };
  return ({ email, domain, linkedinUrl }) => {
    const address = email === '' ? null : addressIn(email);
    const mailbox = address?.key ?? null;
    const person = has.enrich ? keyOfPerson(mailbox, email, domain) : 'no_key';
    const enrich = typeof person === 'string' ? null : person;
    const verify = has.verify ? (mailbox ?? badAddress(email)) : null;
    const company = has.company ? keyOfCompany(mailbox, domain, isFreeProvider) : null;
    const reveal = has.reveal ? revealKey(linkedinUrl) : null;
    const decides = enrich !== null ? 'enrich' : reveal !== null ? 'reveal' : company !== null ? 'company' : verify !== null && !has.enrich ? 'verify' : null;
    if (decides !== null) return { enrich, verify, spelled: verify === null ? null : spellingOf(address, verify), company, reveal, cleanedEmail: address?.cleaned === true ? address.key : null, decides };
    const why = has.enrich ? (person as NoKey) : (has.verify || has.company) && mailbox === null && !isBlank(email) ? 'bad_email' : 'no_key';
    return why === 'no_key' && has.reveal && !isBlank(linkedinUrl) ? 'bad_profile_url' : why;
  };
}

/** `enrich`: by e-mail when there is a plausible one, else by domain; else why not. */
export function enrichKey(email: string, domain: string): EnrichLookup | NoKey {
  return keyOfPerson(email === '' ? null : (addressIn(email)?.key ?? null), email, domain);
}

function keyOfPerson(mailbox: string | null, email: string, domain: string): EnrichLookup | NoKey {
  if (mailbox !== null) return { by: 'email', key: mailbox };
  const host = domain === '' ? null : domainIn(domain);
  if (host !== null) return { by: 'domain', key: host };
  return isBlank(email) ? 'no_key' : 'bad_email';
}

/** `verify`: a bad address is still asked about, trimmed and in lower case; null when there is none. */
export function verifyKey(email: string): string | null {
  return verifyKeyAsSpelled(email)?.key ?? null;
}

/** The key of `verify` with its spelling; null when there is none. */
export function verifyKeyAsSpelled(email: string): { readonly key: string; readonly spelled: string } | null {
  const address = email === '' ? null : addressIn(email);
  const key = address?.key ?? badAddress(email);
  return key === null ? null : { key, spelled: spellingOf(address, key) };
}

/** Answers are matched by the key, in lower case: a spelling that does not fold to it is not asked. */
function spellingOf(address: AddressInText | null, key: string): string {
  return address !== null && address.spelled.toLowerCase() === key ? address.spelled : key;
}

function badAddress(email: string): string | null {
  if (isBlank(email)) return null;
  // Half a surrogate pair (JSON can carry one) would come back from the service and the ledger as another character.
  const text = email.trim().toLowerCase().toWellFormed();
  return text.length > LONGEST_SENT_ADDRESS ? null : text;
}

/** `company`: the record's domain, else that of its address unless a free provider's or a relay's. */
export function companyKey(email: string, domain: string, isFreeProvider: IsFreeProvider): string | null {
  return keyOfCompany(email === '' ? null : (addressIn(email)?.key ?? null), domain, isFreeProvider);
}

function keyOfCompany(mailbox: string | null, domain: string, isFreeProvider: IsFreeProvider): string | null {
  const host = domain === '' ? null : domainIn(domain);
  if (host !== null) return host;
  const own = mailbox === null ? null : domainIn(mailbox.slice(mailbox.lastIndexOf('@') + 1));
  return own === null || isFreeProvider(own) ? null : own;
}

/** `reveal`: one URL for all the ways in which a profile's address is written; null when it is none of a known site. */
export function revealKey(linkedinUrl: string): string | null {
  const profile = linkedinUrl === '' ? null : profileKey(linkedinUrl.toWellFormed());
  if (profile === null) return null;
  const url = `https://${profile.startsWith('linkedin.com/') ? 'www.' : ''}${encodeURI(profile)}`;
  return url.replaceAll(/[?#]/g, encodeURIComponent);
}
