/** Which keys a record is looked up by. Pure. */
import type { Step } from '../job/steps.ts';
import type { InputRecord } from '../reader/types.ts';
import { normaliseEmail } from '../verification/address.ts';
import { normaliseDomain } from '../verification/domain.ts';
import { profileKey } from '../verification/profile-url.ts';

export type EnrichLookup = { readonly by: 'email' | 'domain'; readonly key: string };

/** Why there is nothing to look up. */
export type NoKey = 'bad_email' | 'no_key';

/** What a job's steps ask for one record; null: nothing, or the step is not configured. */
export interface RecordKeys {
  readonly enrich: EnrichLookup | null;
  /** The record's own address; enrich may find one for a record without. */
  readonly verify: string | null;
  readonly company: string | null;
  readonly reveal: string | null;
  /** The step whose answer is the outcome. */
  readonly decides: Step;
}

export type KeysOf = (record: Pick<InputRecord, 'email' | 'domain' | 'linkedinUrl'>) => RecordKeys | NoKey;

/** Whether a mailbox there names no employer. @param domain ASCII, lower case */
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
    const person = has.enrich ? enrichKey(email, domain) : 'no_key';
    const enrich = typeof person === 'string' ? null : person;
    const verify = has.verify ? verifyKey(email) : null;
    const company = has.company ? companyKey(email, domain, isFreeProvider) : null;
    const reveal = has.reveal ? revealKey(linkedinUrl) : null;
    const decides = enrich !== null ? 'enrich' : reveal !== null ? 'reveal' : company !== null ? 'company' : verify !== null && !has.enrich ? 'verify' : null;
    if (decides !== null) return { enrich, verify, company, reveal, decides };
    if (has.enrich) return person as NoKey;
    return (has.verify || has.company) && email.trim() !== '' && normaliseEmail(email) === null ? 'bad_email' : 'no_key';
  };
}

/** `enrich`: by e-mail when the record has a plausible one, else by domain; else why not. */
export function enrichKey(email: string, domain: string): EnrichLookup | NoKey {
  const mailbox = email === '' ? null : normaliseEmail(email);
  if (mailbox !== null) return { by: 'email', key: mailbox };
  const host = domain === '' ? null : normaliseDomain(domain);
  if (host !== null) return { by: 'domain', key: host };
  return email.trim() === '' ? 'no_key' : 'bad_email';
}

/** `verify`: a bad address is still asked about, trimmed and in lower case; null when there is none. */
export function verifyKey(email: string): string | null {
  if (email === '') return null;
  const mailbox = normaliseEmail(email);
  if (mailbox !== null) return mailbox;
  // Half a surrogate pair (JSON can carry one) would come back from the service and the ledger as another character.
  const text = email.trim().toLowerCase().toWellFormed();
  return text === '' || text.length > LONGEST_SENT_ADDRESS ? null : text;
}

/** `company`: the record's domain, else that of its address unless a free provider's. */
export function companyKey(email: string, domain: string, isFreeProvider: IsFreeProvider): string | null {
  const host = domain === '' ? null : normaliseDomain(domain);
  if (host !== null) return host;
  const mailbox = email === '' ? null : normaliseEmail(email);
  if (mailbox === null) return null;
  const own = normaliseDomain(mailbox.slice(mailbox.lastIndexOf('@') + 1));
  return own === null || isFreeProvider(own) ? null : own;
}

/** `reveal`: one URL for all the ways in which a profile's address is written; null when it is none. */
export function revealKey(linkedinUrl: string): string | null {
  const profile = linkedinUrl === '' ? null : profileKey(linkedinUrl.toWellFormed());
  if (profile === null) return null;
  const url = `https://${profile.startsWith('linkedin.com/') ? 'www.' : ''}${encodeURI(profile)}`;
  return url.replaceAll(/[?#]/g, encodeURIComponent);
}
