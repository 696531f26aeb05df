/** Under which names files keep the fields of contacts, companies, signals and deliveries. Pure. */
import { IMPORTED_COMPANY } from '../records/company.ts';
import { IMPORTED_PERSON } from '../records/person.ts';
import { SIGNAL_FIELDS } from '../records/signal.ts';

export const IMPORT_KINDS = ['companies', 'contacts', 'signals', 'deliveries'] as const;
export type ImportKind = (typeof IMPORT_KINDS)[number];

/** Where a value goes: a field of the record, or of the company that a contact works at (`company.name`). */
export type Target = string;

/** What the pipeline calls its key columns; the reader owns the lists. */
export type KeyAliases = Readonly<Record<'email' | 'domain' | 'linkedin_url', readonly string[]>>;

const PLACE = ['city', 'region', 'country', 'country_code', 'postal_code', 'lat', 'lng'];

const UPDATED = ['updated', 'last updated', 'last updated at', 'modified', 'last modified', 'last modified date'];

/** Best first, as exports of CRMs and other services call them. */
const CONTACT_NAMES: Readonly<Record<Target, readonly string[]>> = {
  id: ['contact id', 'person id', 'record id'],
  name: ['full name', 'contact name', 'person name', 'contact'],
  first_name: ['first name', 'firstname', 'given name', 'forename'],
  last_name: ['last name', 'lastname', 'surname', 'family name'],
  title: ['job title', 'position', 'role', 'job', 'current title'],
  seniority: ['seniority level', 'management level'],
  department: ['departments', 'function', 'job function'],
  mobile: ['mobile phone', 'mobile number', 'mobile phone number', 'cell', 'cell phone', 'phone', 'phone number', 'telephone'],
  skills: ['skill'],
  updated_at: UPDATED,
  email_status: ['email verification', 'email verification status', 'email validation status'],
  emails: ['additional email addresses', 'additional emails', 'other emails'],
  'location.city': ['contact city', 'person city', 'mailing city'],
  'location.region': ['state', 'province', 'state/region', 'state/province', 'contact state', 'person state', 'mailing state', 'mailing state/province'],
  'location.country': ['country/region', 'contact country', 'person country', 'mailing country'],
  'location.postal_code': ['zip', 'zip code', 'postcode', 'zip/postal code', 'mailing zip', 'mailing postal code', 'mailing zip/postal code'],
  'company.name': ['company', 'company name', 'organization', 'organization name', 'organisation', 'account', 'account name', 'employer'],
  'company.domain': ['company_domain'],
  'company.employees': ['employees', 'number of employees', '# employees', 'company size', 'headcount', 'employee count'],
  'company.industry': ['industry', 'company industry'],
  'company.revenue': ['revenue', 'annual revenue', 'company revenue'],
  'company.linkedin_url': ['company linkedin', 'company linkedin url'],
  'company.phone': ['company phone', 'company phone number', 'corporate phone'],
  'company.hq.country_code': ['company country'],
  'company.hq.region': ['company state', 'company region'],
  'company.hq.city': ['company city'],
};

/** Columns of addresses that are somebody's main one only where there is no better. */
const FURTHER_EMAILS = ['email 2', 'email2', 'secondary email', 'secondary email address', 'other email', 'alternate email', 'email 3', 'email3'];

/** Numbers of somebody that are no mobile ones, by what they are. */
const OTHER_PHONES: Readonly<Record<string, readonly string[]>> = {
  work: ['work phone', 'work phone number', 'business phone', 'office phone'],
  direct: ['work direct phone', 'direct phone', 'direct phone number', 'direct dial', 'direct line'],
  home: ['home phone', 'home phone number'],
  other: ['other phone', 'other phone number'],
};

const COMPANY_NAMES: Readonly<Record<Target, readonly string[]>> = {
  id: ['company id', 'account id', 'record id'],
  name: ['company', 'company name', 'organization', 'organization name', 'account name'],
  employees: ['number of employees', '# employees', 'company size', 'headcount', 'employee count'],
  revenue: ['annual revenue'],
  founded_year: ['founded', 'year founded', 'year started'],
  ticker: ['ticker symbol'],
  naics: ['naics code', 'naics codes'],
  sic: ['sic code', 'sic codes'],
  stack: ['tech stack'],
  linkedin_url: ['linkedin', 'company linkedin', 'company linkedin url', 'linkedin company page'],
  phone: ['company phone', 'phone number'],
  updated_at: UPDATED,
  'hq.city': ['city', 'company city', 'billing city'],
  'hq.region': ['region', 'state', 'state/region', 'state/province', 'company state', 'company region', 'billing state', 'billing state/province'],
  'hq.country': ['country', 'country/region', 'company country', 'billing country'],
  'hq.country_code': ['country code'],
};

/** Best first, as mail services call them in their logs. */
const DELIVERY_NAMES: Readonly<Record<Target, readonly string[]>> = {
  email: ['email', 'recipient', 'recipient email', 'recipient address', 'final recipient', 'rcpt to', 'to'],
  event: ['event', 'event type', 'delivery event', 'record type', 'notification type'],
  status: ['status', 'delivery status', 'result', 'outcome'],
  bounce_type: ['bounce type', 'bounce', 'severity', 'type'],
  smtp_code: ['smtp code', 'smtp status', 'smtp reply code', 'reply code', 'response code', 'code'],
  enhanced_code: ['enhanced code', 'enhanced status', 'enhanced status code', 'dsn', 'dsn status'],
  diagnostic: ['diagnostic', 'diagnostic code', 'smtp response', 'smtp reply', 'response', 'reason', 'bounce reason', 'description'],
  at: ['at', 'occurred at', 'timestamp', 'event time', 'event date', 'event at', 'delivered at', 'bounced at', 'time', 'date', 'created at', 'processed', 'processed at'],
};

/** A list of somebody's into which a value goes, and what its item is called there; null: nothing. */
export interface ListItem {
  readonly list: 'emails' | 'personal_emails' | 'phones';
  readonly type: string | null;
}

export interface NameMeaning {
  readonly target: Target;
  readonly rank: number;
  /** Where a value goes when a better name has given one already, or always, when the list is the target; null: nowhere. */
  readonly further: ListItem | null;
}

export interface NameTable {
  /** Names of one target, best first, in plain form. */
  readonly byPlainName: ReadonlyMap<string, NameMeaning>;
  /** Every target, for the advice on a misspelt one. */
  readonly targets: readonly Target[];
}

/**
 * The names of a kind of file. A field's own name stands first (`title`, `company.employees`), what an enriched output of Millrace calls
 * it before that (`enrich.title`): what was bought is better than what was asked with. @param plainName what is left when case, spaces and signs do not count
 */
export function nameTable(kind: ImportKind, aliases: KeyAliases, plainName: (name: string) => string): NameTable {
  const names = targetNames(kind, aliases);
  const byPlainName = new Map<string, NameMeaning>();
  for (const [target, list] of Object.entries(names)) {
    for (const [rank, name] of list.entries()) {
      const plain = plainName(name);
      const known = byPlainName.get(plain);
      if (known === undefined || rank < known.rank) byPlainName.set(plain, { target, rank, further: kind === 'contacts' ? furtherOf(target, name) : null });
    }
  }
  return { byPlainName, targets: Object.keys(names) };
}

/** Of somebody there may be several addresses and numbers. */
function furtherOf(target: Target, name: string): ListItem | null {
  switch (target) {
    case 'email':
      return /^(?:personal|home) /.test(name) ? { list: 'personal_emails', type: null } : { list: 'emails', type: null };
    case 'mobile':
      return { list: 'phones', type: /mobile|cell/.test(name) ? 'mobile' : null };
    case 'phones': {
      const type = Object.keys(OTHER_PHONES).find((one) => OTHER_PHONES[one]?.includes(name) === true);
      return type === undefined ? null : { list: 'phones', type };
    }
    default:
      return null;
  }
}

function targetNames(kind: ImportKind, aliases: KeyAliases): Record<Target, string[]> {
  switch (kind) {
    case 'contacts': {
      const own = [...Object.keys(IMPORTED_PERSON).filter((field) => !['company_domain', 'company_name', 'location'].includes(field)), ...PLACE.map((part) => `location.${part}`)];
      const names: Record<Target, string[]> = {};
      for (const target of [...own, 'location', ...companyTargets().map((field) => `company.${field}`)]) {
        names[target] = [...boughtNames(target), ...(target.startsWith('location.') ? [target.slice('location.'.length)] : []), ...(CONTACT_NAMES[target] ?? [])];
      }
      names['email']?.push(...aliases.email, ...FURTHER_EMAILS);
      names['phones']?.push(...Object.values(OTHER_PHONES).flat());
      names['linkedin_url']?.push(...aliases.linkedin_url);
      names['company.domain']?.push(...aliases.domain);
      names['company'] = [];
      names['verified'] = ['enrich.verified', 'verified'];
      names['verify.result'] = ['verify.result'];
      names['verify.confidence'] = ['verify.confidence'];
      names['result.outcome'] = ['result.outcome'];
      return names;
    }
    case 'companies': {
      const names = Object.fromEntries(companyTargets().map((field): [Target, string[]] => [field, [field, ...(COMPANY_NAMES[field] ?? [])]]));
      names['domain']?.push(...aliases.domain);
      // In a CRM `Type` may say whether it is a customer, and this who owns it.
      names['type']?.unshift('ownership', 'company type');
      return names;
    }
    case 'signals':
      return Object.fromEntries([...SIGNAL_FIELDS.map((field): [Target, string[]] => [field, [field]]), ['domain', ['domain', ...aliases.domain]]]);
    case 'deliveries':
      return Object.fromEntries(Object.entries(DELIVERY_NAMES).map(([target, names]): [Target, string[]] => [target, [...names, ...(target === 'email' ? aliases.email : [])]]));
    default:
      return kind satisfies never;
  }
}

/** Best first. A column such as `company.name` is of the company looked up by itself, which is more than `enrich.company.name` came with. */
function boughtNames(target: Target): string[] {
  const [bought, own] = [`enrich.${target}`, target];
  return [`reveal.${target}`, ...(target.startsWith('company.') ? [own, bought] : [bought, own])];
}

function companyTargets(): string[] {
  return [...Object.keys(IMPORTED_COMPANY), 'hq.city', 'hq.region', 'hq.country', 'hq.country_code'];
}
