/** Which keys a record is looked up by. Pure. */
import { USUAL_KEYS, type LookupKind, type RevealKeyName } from '../definition/steps.ts';
import type { InputRecord } from '../formats/input-record.ts';
import { normaliseText } from '../util/normalise-text.ts';
import { isPlaceholder } from '../util/placeholder.ts';
import { addressIn, domainIn, isBlank, visibleText, type AddressInText } from '../verification/clean-keys.ts';
import { companyDomainIn } from '../verification/company-domain.ts';
import { phoneIn } from '../verification/phone-text.ts';
import { profileKey } from '../verification/profile-url.ts';
import type { Step } from '../steps/registry.ts';

/** The key of a name has the place after `NAME_END`: a domain for `name`, the name of a company for `company`. */
export type EnrichLookup = { readonly by: LookupKind; readonly key: string };
export type RevealLookup = { readonly by: RevealKeyName | 'company'; readonly key: string };

/** For each provider that a step asks, in order: the keys by which it is asked, in order of preference. */
export interface KeyOrders {
  readonly enrich: readonly (readonly LookupKind[])[];
  readonly reveal: readonly (readonly LookupKind[])[];
}

/** The lookups of a step: one for each provider, null where the record has no key for it. Empty when no provider has a key. */
export type Lookups<L> = readonly (L | null)[];

/** The reason why a record has nothing to look up. */
type NoKey = 'bad_email' | 'bad_phone' | 'bad_profile_url' | 'no_key';

/** The keys of a record, by step; null or empty when a step has none or is not configured. */
export interface RecordKeys {
  readonly enrich: Lookups<EnrichLookup>;
  /** The record's own address; enrich may find one for a record without. */
  readonly verify: string | null;
  /** The record's own spelling, which the service gets: a mail host may distinguish upper and lower case. */
  readonly spelled: string | null;
  readonly company: string | null;
  readonly reveal: Lookups<RevealLookup>;
  /** The record's address after cleaning, as from `mailto:` or `Jo <...>`. null when it needed none. */
  readonly cleanedEmail: string | null;
  /** The step whose answer is the outcome. */
  readonly decides: Step;
}

/** The keys of any record with these cells. */
export type KeyRule = (record: KeyCells) => RecordKeys | NoKey;

type KeyCells = Pick<InputRecord, 'email' | 'domain' | 'linkedinUrl' | 'person'>;

/** The keys of a record, why it has nothing to look up, or `skipped` when `input.where` leaves it out. */
export type KeysOf = (record: InputRecord) => RecordKeys | NoKey | 'skipped';

/** Whether a mailbox at this domain names no employer, as at free providers and relays. @param domain ASCII, lower case */
type IsFreeProvider = (domain: string) => boolean;

/** Longer than any address or name. Longer texts are not sent. */
const LONGEST_SENT = 1_024;

/**
 * The key rule of a job. The first of enrich, reveal and company that has a key decides the outcome; verify decides where none has. A
 * record that cannot be enriched is not verified alone.
 */
export function keysFor(steps: readonly Step[], isFreeProvider: IsFreeProvider, orders: KeyOrders = USUAL_ORDERS): KeyRule {
  const has = {
    enrich: steps.includes('enrich'),
    verify: steps.includes('verify'),
    company: steps.includes('company'),
    reveal: steps.includes('reveal'),
  };
  const ofEnrich = new Set(orders.enrich.flat());
  const used: ReadonlySet<LookupKind> = new Set([...(has.enrich ? ofEnrich : []), ...(has.reveal ? orders.reveal.flat() : [])]);
  const needsEmail = has.enrich ? ofEnrich.has('email') : used.has('email') || has.verify || has.company;
  return (record) => {
    const { email, domain } = record;
    const address = mailboxIn(email);
    const mailbox = address?.key ?? null;
    const enrich = has.enrich ? lookupsOf(orders.enrich, (kind) => enrichBy(kind, record, mailbox)) : [];
    const verify = has.verify ? (mailbox ?? badAddress(email)) : null;
    const company = has.company ? companyKey(mailbox, domain, isFreeProvider) : null;
    const reveal = has.reveal ? lookupsOf(orders.reveal, (kind) => revealBy(kind, record, mailbox)) : [];
    const decides =
      enrich.length > 0
        ? 'enrich'
        : reveal.length > 0
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
    if (needsEmail && mailbox === null && !isBlank(email)) return 'bad_email';
    if (used.has('phone') && !isBlank(record.person?.phone ?? '')) return 'bad_phone';
    return used.has('linkedin_url') && !isBlank(record.linkedinUrl) ? 'bad_profile_url' : 'no_key';
  };
}

/** The orders of a step that asks one provider by these keys. */
const USUAL_ORDERS: KeyOrders = { enrich: [USUAL_KEYS.enrich], reveal: [USUAL_KEYS.reveal] };

const NO_LOOKUPS: Lookups<never> = [];

function lookupsOf<L>(orders: readonly (readonly LookupKind[])[], find: (kind: LookupKind) => L | null): Lookups<L> {
  const lookups = orders.map((order) => firstOf(order, find));
  return lookups.every((lookup) => lookup === null) ? NO_LOOKUPS : lookups;
}

function firstOf<L>(kinds: readonly LookupKind[], find: (kind: LookupKind) => L | null): L | null {
  for (const kind of kinds) {
    const found = find(kind);
    if (found !== null) return found;
  }
  return null;
}

function enrichBy(by: LookupKind, { domain, linkedinUrl, person }: KeyCells, mailbox: string | null): EnrichLookup | null {
  const key = (): string | null => {
    switch (by) {
      case 'email':
        return mailbox;
      case 'domain':
        return domain === '' ? null : companyDomainIn(domain);
      case 'linkedin_url':
        return revealKey(linkedinUrl);
      case 'phone':
        return phoneIn(person?.phone ?? '');
      case 'name':
        return nameKey(person?.name ?? '', domain === '' ? null : companyDomainIn(domain));
      case 'company':
        return nameKey(person?.name ?? '', companyName(person?.company ?? ''));
      default:
        return by satisfies never;
    }
  };
  const found = key();
  return found === null ? null : { by, key: found };
}

function revealBy(by: LookupKind, cells: KeyCells, mailbox: string | null): RevealLookup | null {
  return by === 'domain' ? null : (enrichBy(by, cells, mailbox) as RevealLookup | null);
}

function companyName(cell: string): string | null {
  const name = normaliseText(visibleText(cell));
  return name === '' ? null : name;
}

/** Ends the name in a key. Normalised text has no tab. */
const NAME_END = '\t';

/** The key of a person at a domain or company, as the service compares names. Null without a name, a place, or for text beyond any name. */
function nameKey(name: string, place: string | null): string | null {
  if (place === null || isBlank(name)) return null;
  const key = `${normaliseText(visibleText(name).toWellFormed())}${NAME_END}${place.toWellFormed()}`;
  return key.startsWith(NAME_END) || key.length > LONGEST_SENT ? null : key;
}

/** The name and the place of a `nameKey`. */
export function namePartsOf(key: string): readonly [name: string, place: string] {
  const end = key.indexOf(NAME_END);
  return [key.slice(0, end), key.slice(end + 1)];
}

/** A key as people read it in the errors file. */
export function shownKey(key: string): string {
  return key.replace(NAME_END, ' at ');
}

/** The key of `enrich`: a plausible e-mail, else the domain, else the reason why there is none. */
export function enrichKey(email: string, domain: string): EnrichLookup | NoKey {
  return keyOfPerson(mailboxIn(email)?.key ?? null, email, domain);
}

function keyOfPerson(mailbox: string | null, email: string, domain: string): EnrichLookup | NoKey {
  if (mailbox !== null) return { by: 'email', key: mailbox };
  const host = domain === '' ? null : companyDomainIn(domain);
  if (host !== null) return { by: 'domain', key: host };
  return isBlank(email) ? 'no_key' : 'bad_email';
}

/** The key of `verify`: also a bad address, trimmed and in lower case; null for text without a local part and an `@`. */
export function verifyKey(email: string): string | null {
  return verifyKeyAsSpelled(email)?.key ?? null;
}

/** The key of `verify` with its spelling; null without one. */
export function verifyKeyAsSpelled(email: string): { readonly key: string; readonly spelled: string } | null {
  const address = mailboxIn(email);
  const key = address?.key ?? badAddress(email);
  return key === null ? null : { key, spelled: spellingOf(address, key) };
}

/** A local part and an `@`. Full-width characters count. */
const MEANT_AS_ADDRESS = /^[\s@\uff20\ufe6b]*[^\s@\uff20\ufe6b][^@\uff20\ufe6b]*[@\uff20\ufe6b]/;

/** Answers are matched by the lower-case key. A spelling that does not normalise to it is not sent. */
function spellingOf(address: AddressInText | null, key: string): string {
  return address !== null && address.spelled.toLowerCase() === key ? address.spelled : key;
}

/** Null for text without an address, and for a provider's placeholder. */
function mailboxIn(email: string): AddressInText | null {
  return email === '' || isPlaceholder(email) ? null : addressIn(email);
}

/** A text that is meant as an address: the service says what is wrong with it. Any other text, such as `N/A`, is not paid for. */
function badAddress(email: string): string | null {
  if (!MEANT_AS_ADDRESS.test(email) || isPlaceholder(email)) return null;
  // An unpaired surrogate (JSON can carry one) would return from the service and the ledger as another character.
  const text = email.trim().toLowerCase().toWellFormed();
  return text.length > LONGEST_SENT ? null : text;
}

/** The key of `company`: the record's domain, else that of its mailbox, unless it belongs to a free provider or a relay. */
export function companyKey(mailbox: string | null, domain: string, isFreeProvider: IsFreeProvider): string | null {
  const host = domain === '' ? null : companyDomainIn(domain);
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
