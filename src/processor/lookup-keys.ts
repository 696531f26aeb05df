/** Which keys a record is looked up by. Pure. */
import type { InputRecord } from '../formats/input-record.ts';
import { normaliseText } from '../util/normalise-text.ts';
import { isPlaceholder } from '../util/placeholder.ts';
import { addressIn, domainIn, isBlank, visibleText, type AddressInText } from '../verification/clean-keys.ts';
import { companyDomainIn } from '../verification/company-domain.ts';
import { phoneIn } from '../verification/phone-text.ts';
import { profileKey } from '../verification/profile-url.ts';
import { kindsNamed, type KeyKind, type KeySource } from '../steps/keys.ts';
import { byRank, kindsOf, specOf, type Step, type ByStep } from '../steps/registry.ts';
import type { StepSpec } from '../steps/step-spec.ts';

/**
 * A lookup of any step. The key of a name has the place after `NAME_END`: a domain for `name`, the name of a company for `company`.
 * `spelled`: an address as the provider gets it.
 */
export interface Lookup {
  readonly by: KeyKind;
  readonly key: string;
  readonly spelled?: string;
}

/** A lookup of an address. */
type SpelledLookup = Lookup & { readonly spelled: string };

/** By step, for each provider that the step asks, in order: the keys by which it is asked, in order of preference. */
export type KeyOrders = ByStep<readonly (readonly KeySource[])[]>;

/** The lookups of a step: one for each provider, null where the record has no key for it. */
export type Lookups = readonly (Lookup | null)[];

/** The reason why a record has nothing to look up. */
type NoKey = 'bad_email' | 'bad_phone' | 'bad_profile_url' | 'no_key';

/** The lookups of a record. */
export interface RecordKeys {
  /** By step; absent when no provider of the step has a key, or the step is not configured. */
  readonly lookups: ByStep<Lookups>;
  /** The record's address after cleaning, as from `mailto:` or `Jo <...>`. null when it needed none. */
  readonly cleanedEmail: string | null;
  /** The step whose answer is the outcome. */
  readonly decides: Step;
  /** For each step that may use a key which an earlier step found: its lookup by one key. Left out where there is no such step. */
  readonly by?: ByStep<LookupBy>;
}

/** The lookup by a key of this kind: that of the record, or `found`, a text that an earlier step found. Null where it is no key. */
export type LookupBy = (kind: KeyKind, found?: string) => Lookup | null;

/** The keys of any record with these cells. */
export type KeyRule = (record: KeyCells) => RecordKeys | NoKey;

type KeyCells = Pick<InputRecord, 'email' | 'domain' | 'linkedinUrl' | 'person'>;

/**
 * The keys of a record, or why it has nothing to look up. `skipped`: `input.where` leaves it out. `suppressed`: the list of the job has
 * the person.
 */
export type KeysOf = (record: InputRecord) => RecordKeys | NoKey | 'skipped' | 'suppressed';

/** Whether a mailbox at this domain names no employer, as at free providers and relays. @param domain ASCII, lower case */
type IsFreeProvider = (domain: string) => boolean;

/** The country of a record by the text of its country's column: two letters; null if unknown. */
type CountryOf = (cell: string) => string | null;

/** Facts beside the record. */
interface Knowledge {
  readonly isFreeProvider: IsFreeProvider;
  readonly countryOf: CountryOf;
}

/** Longer than any address or name. Longer texts are not sent. */
const LONGEST_SENT = 1_024;

/**
 * The key rule of a job. The step with the lowest rank that has a key decides the outcome. A record has nothing to look up when only a step
 * that follows another one has a key: a record that cannot be enriched is not verified alone.
 * @param countryOf the country of a record's national phone number. @param ownSteps the declarations of custom steps
 */
export function keysFor(
  steps: readonly Step[],
  isFreeProvider: IsFreeProvider,
  orders: KeyOrders = {},
  countryOf: CountryOf = () => null,
  ownSteps: readonly StepSpec[] = [],
): KeyRule {
  const asked = steps.map((step) => {
    const spec = ownSteps.find(({ name }) => name === step) ?? specOf(step);
    const sources = orders[step] ?? [kindsNamed(spec.usual, spec.keys)];
    const taken = sources.map((kinds) => kinds.filter((kind) => typeof kind === 'string' && kindsOf(spec).includes(kind)) as KeyKind[]);
    const usesFound = sources.flat().some((source) => typeof source !== 'string');
    return { spec, orders: taken, usesFound, mayDecide: spec.rank !== null && !steps.includes(spec.follows?.step as Step) };
  });
  const deciding = asked.filter(({ mayDecide }) => mayDecide).toSorted((one, other) => byRank(one.spec, other.spec));
  const finding = asked.filter(({ usesFound }) => usesFound).map(({ spec }) => spec);
  const used = new Set(deciding.flatMap(({ spec, orders: own }) => [...own.flat(), ...(spec.takesDomainOfAddress ? ['email'] : [])]));
  const knowledge = { isFreeProvider, countryOf };
  return (record) => {
    const address = mailboxIn(record.email);
    const lookups: Record<string, Lookups> = {};
    for (const { spec, orders: own } of asked) {
      const found = own.map((kinds) => firstOf(kinds, (kind) => lookupBy(kind, spec, record, address, knowledge)));
      if (found.some((lookup) => lookup !== null)) lookups[spec.name] = found;
    }
    const decides = deciding.find(({ spec }) => lookups[spec.name] !== undefined);
    if (decides !== undefined) {
      const cleanedEmail = address?.cleaned === true ? address.key : null;
      const by = finding.length === 0 ? null : eachOf(finding, record, address, knowledge);
      return { lookups, cleanedEmail, decides: decides.spec.name, ...(by === null ? {} : { by }) };
    }
    if (used.has('email') && address === null && !isBlank(record.email)) return 'bad_email';
    if (used.has('phone') && !isBlank(record.person?.phone ?? '')) return 'bad_phone';
    return used.has('linkedin_url') && !isBlank(record.linkedinUrl) ? 'bad_profile_url' : 'no_key';
  };
}

/** The lookups of these steps by one key, each made when it is wanted. */
function eachOf(specs: readonly StepSpec[], record: KeyCells, address: AddressInText | null, knowledge: Knowledge): ByStep<LookupBy> {
  return Object.fromEntries(
    specs.map((spec): [Step, LookupBy] => [
      spec.name,
      (kind, found) => {
        if (found === undefined) return lookupBy(kind, spec, record, address, knowledge);
        const { person } = record;
        const country = person?.country ?? '';
        const cells = { email: found, domain: found, linkedinUrl: found, person: { name: '', company: '', phone: found, country } };
        return lookupBy(kind, spec, cells, kind === 'email' ? mailboxIn(found) : null, knowledge);
      },
    ]),
  );
}

function firstOf<T>(kinds: readonly KeyKind[], find: (kind: KeyKind) => T | null): T | null {
  for (const kind of kinds) {
    const found = find(kind);
    if (found !== null) return found;
  }
  return null;
}

function lookupBy(
  by: KeyKind,
  spec: StepSpec,
  cells: KeyCells,
  address: AddressInText | null,
  { isFreeProvider, countryOf }: Knowledge,
): Lookup | null {
  if (by === 'email' && spec.takesBadAddresses) return spelledLookup(cells.email, address);
  const mailbox = address?.key ?? null;
  const key =
    by === 'domain' && spec.takesDomainOfAddress ? companyKey(mailbox, cells.domain, isFreeProvider) : keyBy(by, cells, mailbox, countryOf);
  return key === null ? null : { by, key };
}

function keyBy(by: KeyKind, { domain, linkedinUrl, person }: KeyCells, mailbox: string | null, countryOf: CountryOf): string | null {
  switch (by) {
    case 'email':
      return mailbox;
    case 'domain':
      return domain === '' ? null : companyDomainIn(domain);
    case 'linkedin_url':
      return revealKey(linkedinUrl);
    case 'phone':
      return phoneIn(person?.phone ?? '', countryOf(person?.country ?? ''));
    case 'name':
      return nameKey(person?.name ?? '', domain === '' ? null : companyDomainIn(domain));
    case 'company':
      return nameKey(person?.name ?? '', companyName(person?.company ?? ''));
    default:
      return by satisfies never;
  }
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

/** The lookup of a single call: by a plausible address, else by the domain, else the reason why there is none. */
export function enrichKey(email: string, domain: string): Lookup | NoKey {
  const mailbox = mailboxIn(email)?.key ?? null;
  if (mailbox !== null) return { by: 'email', key: mailbox };
  const host = domain === '' ? null : companyDomainIn(domain);
  if (host !== null) return { by: 'domain', key: host };
  return isBlank(email) ? 'no_key' : 'bad_email';
}

/** The key of an address to verify: also a bad one, trimmed and in lower case; null for text without a local part and an `@`. */
export function verifyKey(email: string): string | null {
  return verifyKeyAsSpelled(email)?.key ?? null;
}

/** The same with its spelling: a mail host may distinguish upper and lower case. */
export function verifyKeyAsSpelled(email: string): SpelledLookup | null {
  return spelledLookup(email, mailboxIn(email));
}

function spelledLookup(email: string, address: AddressInText | null): SpelledLookup | null {
  const key = address?.key ?? badAddress(email);
  return key === null ? null : { by: 'email', key, spelled: spellingOf(address, key) };
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
