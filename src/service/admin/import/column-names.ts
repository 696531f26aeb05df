/** The column names for the fields of contacts, companies, signals and deliveries in files. Pure. */
import { ALIASES, normaliseColumnName } from '../../../formats/header-aliases.ts';
import { IMPORTED_COMPANY } from '../../records/company-fields.ts';
import { IMPORTED_PERSON } from '../../records/person-fields.ts';
import { SIGNAL_FIELDS } from '../../records/signal-fields.ts';

const IMPORT_KINDS = ['companies', 'contacts', 'signals', 'deliveries'] as const;
export type ImportKind = (typeof IMPORT_KINDS)[number];

/** The target of a value: a field of the record, or of the company that a contact works at (`company.name`). */
export type Target = string;

const PLACE = ['city', 'region', 'country', 'country_code', 'postal_code', 'lat', 'lng'];

const UPDATED = ['updated', 'last updated', 'last updated at', 'modified', 'last modified', 'last modified date'];

/** A revenue in dollars, and a column with the currency of another one. A number alone has no currency. */
const REVENUE_USD = [
  'annual revenue usd',
  'annual revenue (usd)',
  'annual revenue in usd',
  'revenue (usd)',
  'revenue in usd',
  'annual revenue ($)',
  'revenue ($)',
];
const CURRENCY = ['currency', 'currency code', 'currency iso code', 'revenue currency', 'annual revenue currency'];

/** Best first, by the names in exports of CRMs and other services. */
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
  'location.region': [
    'state',
    'province',
    'state/region',
    'state/province',
    'contact state',
    'person state',
    'mailing state',
    'mailing state/province',
  ],
  'location.country': ['country/region', 'contact country', 'person country', 'mailing country'],
  'location.postal_code': [
    'zip',
    'zip code',
    'postcode',
    'zip/postal code',
    'mailing zip',
    'mailing postal code',
    'mailing zip/postal code',
  ],
  'company.name': ['company', 'company name', 'organization', 'organization name', 'organisation', 'account', 'account name', 'employer'],
  'company.domain': ['company_domain'],
  'company.employees': ['employees', 'number of employees', '# employees', 'company size', 'headcount', 'employee count'],
  'company.industry': ['industry', 'company industry'],
  'company.revenue': ['revenue', 'annual revenue', 'company revenue'],
  'company.revenue_usd': ['revenue usd', ...REVENUE_USD],
  'company.revenue_currency': CURRENCY,
  'company.linkedin_url': ['company linkedin', 'company linkedin url'],
  'company.phone': ['company phone', 'company phone number', 'corporate phone'],
  'company.hq.country_code': ['company country'],
  'company.hq.region': ['company state', 'company region'],
  'company.hq.city': ['company city'],
};

/** Address columns that are the main address only when the row has no better one. */
const FURTHER_EMAILS = [
  'email 2',
  'email2',
  'secondary email',
  'secondary email address',
  'other email',
  'alternate email',
  'email 3',
  'email3',
];

/** Phone numbers other than mobile ones, by type. */
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
  revenue_usd: REVENUE_USD,
  revenue_currency: CURRENCY,
  founded_year: ['founded', 'year founded', 'year started'],
  ticker: ['ticker symbol'],
  naics: ['naics code', 'naics codes'],
  sic: ['sic code', 'sic codes'],
  stack: ['tech stack'],
  linkedin_url: ['linkedin', 'company linkedin', 'company linkedin url', 'linkedin company page'],
  phone: ['company phone', 'phone number'],
  updated_at: UPDATED,
  'hq.city': ['city', 'company city', 'billing city'],
  'hq.region': [
    'region',
    'state',
    'state/region',
    'state/province',
    'company state',
    'company region',
    'billing state',
    'billing state/province',
  ],
  'hq.country': ['country', 'country/region', 'company country', 'billing country'],
  'hq.country_code': ['country code'],
};

/** Best first, by the names in logs of mail services. */
const DELIVERY_NAMES: Readonly<Record<Target, readonly string[]>> = {
  email: ['email', 'recipient', 'recipient email', 'recipient address', 'final recipient', 'rcpt to', 'to'],
  event: ['event', 'event type', 'delivery event', 'record type', 'notification type'],
  status: ['status', 'delivery status', 'result', 'outcome'],
  bounce_type: ['bounce type', 'bounce', 'severity', 'type'],
  smtp_code: ['smtp code', 'smtp status', 'smtp reply code', 'reply code', 'response code', 'code'],
  enhanced_code: ['enhanced code', 'enhanced status', 'enhanced status code', 'dsn', 'dsn status'],
  diagnostic: ['diagnostic', 'diagnostic code', 'smtp response', 'smtp reply', 'response', 'reason', 'bounce reason', 'description'],
  at: [
    'at',
    'occurred at',
    'timestamp',
    'event time',
    'event date',
    'event at',
    'delivered at',
    'bounced at',
    'time',
    'date',
    'created at',
    'processed',
    'processed at',
  ],
};

/** The target list of a person, and the type of the item in it; null without a type. */
export interface ListItem {
  readonly list: 'emails' | 'personal_emails' | 'phones';
  readonly type: string | null;
}

export interface NameMeaning {
  readonly target: Target;
  readonly rank: number;
  /** The list for a value whose field has a better value already. When the target is the list, it always goes there. Null drops it. */
  readonly further: ListItem | null;
}

export interface NameTable {
  /** The names of one target in plain form, best first. */
  readonly byPlainName: ReadonlyMap<string, NameMeaning>;
  /** Every target, to suggest one for a misspelt target. */
  readonly targets: readonly Target[];
}

/**
 * The column names of one kind of file. A field's own name is best (`title`, `company.employees`), after the name in an enriched output of
 * Millrace (`enrich.title`): a bought value is better than the input's.
 */
export function nameTable(kind: ImportKind): NameTable {
  const names = targetNames(kind);
  const byPlainName = new Map<string, NameMeaning>();
  for (const [target, list] of Object.entries(names)) {
    for (const [rank, name] of list.entries()) {
      const plain = normaliseColumnName(name);
      const known = byPlainName.get(plain);
      if (known === undefined || rank < known.rank)
        byPlainName.set(plain, { target, rank, further: kind === 'contacts' ? furtherOf(target, name) : null });
    }
  }
  return { byPlainName, targets: Object.keys(names) };
}

/** A person may have several addresses and numbers. */
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

function targetNames(kind: ImportKind): Record<Target, string[]> {
  switch (kind) {
    case 'contacts': {
      const own = [
        ...Object.keys(IMPORTED_PERSON).filter((field) => !['company_domain', 'company_name', 'location'].includes(field)),
        ...PLACE.map((part) => `location.${part}`),
      ];
      const names: Record<Target, string[]> = {};
      for (const target of [...own, 'location', ...companyTargets().map((field) => `company.${field}`)]) {
        names[target] = [
          ...boughtNames(target),
          ...(target.startsWith('location.') ? [target.slice('location.'.length)] : []),
          ...(CONTACT_NAMES[target] ?? []),
        ];
      }
      names['email']?.push(...ALIASES.email, ...FURTHER_EMAILS);
      names['phones']?.push(...Object.values(OTHER_PHONES).flat());
      names['linkedin_url']?.push(...ALIASES.linkedin_url);
      names['company.domain']?.push(...ALIASES.domain);
      names['company'] = [];
      names['verified'] = ['enrich.verified', 'verified'];
      names['verify.result'] = ['verify.result'];
      names['verify.confidence'] = ['verify.confidence'];
      names['result.outcome'] = ['result.outcome'];
      return names;
    }
    case 'companies': {
      const names = Object.fromEntries(
        companyTargets().map((field): [Target, string[]] => [field, [field, ...(COMPANY_NAMES[field] ?? [])]]),
      );
      names['domain']?.push(...ALIASES.domain);
      // In a CRM, `Type` may mark a company as a customer. These columns name its ownership.
      names['type']?.unshift('ownership', 'company type');
      return names;
    }
    case 'signals':
      return Object.fromEntries([
        ...SIGNAL_FIELDS.map((field): [Target, string[]] => [field, [field]]),
        ['domain', ['domain', ...ALIASES.domain]],
      ]);
    case 'deliveries':
      return Object.fromEntries(
        Object.entries(DELIVERY_NAMES).map(([target, names]): [Target, string[]] => [
          target,
          [...names, ...(target === 'email' ? ALIASES.email : [])],
        ]),
      );
    default:
      return kind satisfies never;
  }
}

/**
 * Best first. A column such as `company.name` comes from a lookup of the company itself, which is more precise than `enrich.company.name`.
 */
function boughtNames(target: Target): string[] {
  const [bought, own] = [`enrich.${target}`, target];
  return [`reveal.${target}`, ...(target.startsWith('company.') ? [own, bought] : [bought, own])];
}

function companyTargets(): string[] {
  return [...Object.keys(IMPORTED_COMPANY), 'hq.city', 'hq.region', 'hq.country', 'hq.country_code', 'revenue_currency'];
}
