/** Which keys a record is looked up by. Pure. */
import type { Step } from '../definition/steps.ts';
import type { InputRecord } from '../formats/input-record.ts';
import { addressIn, domainIn, isBlank, type AddressInText } from '../verification/clean-keys.ts';
import { profileKey } from '../verification/profile-url.ts';

export type EnrichLookup = { readonly by: 'email' | 'domain'; readonly key: string };

/** The reason why a record has nothing to look up. */
type NoKey = 'bad_email' | 'bad_profile_url' | 'no_key';

/** The keys of a record, by step; null when a step has none or is not configured. */
export interface RecordKeys {
  readonly enrich: EnrichLookup | null;
  /** The record's own address; enrich may find one for a record without. */
  readonly verify: string | null;
  /** The record's own spelling, which the service gets: a mail host may distinguish upper and lower case. */
  readonly spelled: string | null;
  readonly company: string | null;
  readonly reveal: string | null;
  /** The record's address after cleaning, as from `mailto:` or `Jo <...>`. null when it needed none. */
  readonly cleanedEmail: string | null;
  /** The step whose answer is the outcome. */
  readonly decides: Step;
}

/** The keys of any record with these cells. */
export type KeyRule = (record: Pick<InputRecord, 'email' | 'domain' | 'linkedinUrl'>) => RecordKeys | NoKey;

/** The keys of a record, why it has nothing to look up, or `skipped` when `input.where` leaves it out. */
export type KeysOf = (record: InputRecord) => RecordKeys | NoKey | 'skipped';

/** Whether a mailbox at this domain names no employer, as at free providers and relays. @param domain ASCII, lower case */
type IsFreeProvider = (domain: string) => boolean;

/** Longer than any address. Longer texts are not sent. */
const LONGEST_SENT_ADDRESS = 1_024;

/**
 * The key rule of a job. The first of enrich, reveal and company that has a key decides the outcome; verify decides where none has. A
 * record that cannot be enriched is not verified alone.
 */
export function keysFor(steps: readonly Step[], isFreeProvider: IsFreeProvider): KeyRule {
  const has = {
    enrich: steps.includes('enrich'),
    verify: steps.includes('verify'),
    company: steps.includes('company'),
    reveal: steps.includes('reveal'),
  };
  return ({ email, domain, linkedinUrl }) => {
    const address = email === '' ? null : addressIn(email);
    const mailbox = address?.key ?? null;
    const person = has.enrich ? keyOfPerson(mailbox, email, domain) : 'no_key';
    const enrich = typeof person === 'string' ? null : person;
    const verify = has.verify ? (mailbox ?? badAddress(email)) : null;
    const company = has.company ? companyKey(mailbox, domain, isFreeProvider) : null;
    const reveal = has.reveal ? revealKey(linkedinUrl) : null;
    const decides =
      enrich !== null
        ? 'enrich'
        : reveal !== null
          ? 'reveal'
          : company !== null
            ? 'company'
            : verify !== null && !has.enrich
              ? 'verify'
              : null;
    if (decides !== null)
      return {
        enrich,
        verify,
        spelled: verify === null ? null : spellingOf(address, verify),
        company,
        reveal,
        cleanedEmail: address?.cleaned === true ? address.key : null,
        decides,
      };
    const why = has.enrich
      ? (person as NoKey)
      : (has.verify || has.company) && mailbox === null && !isBlank(email)
        ? 'bad_email'
        : 'no_key';
    return why === 'no_key' && has.reveal && !isBlank(linkedinUrl) ? 'bad_profile_url' : why;
  };
}

/** The key of `enrich`: a plausible e-mail, else the domain, else the reason why there is none. */
export function enrichKey(email: string, domain: string): EnrichLookup | NoKey {
  return keyOfPerson(email === '' ? null : (addressIn(email)?.key ?? null), email, domain);
}

function keyOfPerson(mailbox: string | null, email: string, domain: string): EnrichLookup | NoKey {
  if (mailbox !== null) return { by: 'email', key: mailbox };
  const host = domain === '' ? null : domainIn(domain);
  if (host !== null) return { by: 'domain', key: host };
  return isBlank(email) ? 'no_key' : 'bad_email';
}

/** The key of `verify`: also a bad address, trimmed and in lower case; null without one. */
export function verifyKey(email: string): string | null {
  return verifyKeyAsSpelled(email)?.key ?? null;
}

/** The key of `verify` with its spelling; null without one. */
export function verifyKeyAsSpelled(email: string): { readonly key: string; readonly spelled: string } | null {
  const address = email === '' ? null : addressIn(email);
  const key = address?.key ?? badAddress(email);
  return key === null ? null : { key, spelled: spellingOf(address, key) };
}

/** Answers are matched by the lower-case key. A spelling that does not normalise to it is not sent. */
function spellingOf(address: AddressInText | null, key: string): string {
  return address !== null && address.spelled.toLowerCase() === key ? address.spelled : key;
}

function badAddress(email: string): string | null {
  if (isBlank(email)) return null;
  // An unpaired surrogate (JSON can carry one) would return from the service and the ledger as another character.
  const text = email.trim().toLowerCase().toWellFormed();
  return text.length > LONGEST_SENT_ADDRESS ? null : text;
}

/** The key of `company`: the record's domain, else that of its mailbox, unless it belongs to a free provider or a relay. */
export function companyKey(mailbox: string | null, domain: string, isFreeProvider: IsFreeProvider): string | null {
  const host = domain === '' ? null : domainIn(domain);
  if (host !== null) return host;
  const own = mailbox === null ? null : domainIn(mailbox.slice(mailbox.lastIndexOf('@') + 1));
  return own === null || isFreeProvider(own) ? null : own;
}

/** The key of `reveal`: one URL for all spellings of a profile's address; null for an unknown site. */
export function revealKey(linkedinUrl: string): string | null {
  const profile = linkedinUrl === '' ? null : profileKey(linkedinUrl.toWellFormed());
  if (profile === null) return null;
  const url = `https://${profile.startsWith('linkedin.com/') ? 'www.' : ''}${encodeURI(profile)}`;
  return url.replaceAll(/[?#]/g, encodeURIComponent);
}
