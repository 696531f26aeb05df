/** The company record as it is answered. */
import { COMPANY_TYPES } from '../../field-types.ts';
import { nullable, type Schema } from '../../openapi/schema.ts';
import { COMPANY_FIELDS } from '../../records.ts';
import { fieldSchema, type Saying } from './fields.ts';
import { SIGNAL_OF_COMPANY } from './signal.ts';

type Field = (typeof COMPANY_FIELDS)[number];

const SAYINGS: Readonly<Record<Exclude<Field, 'signals'>, Saying>> = {
  id: { says: 'Stable for as long as the company is known.', example: 'co_00001' },
  name: { says: 'The name it goes by.', example: 'Brückner Präzision' },
  legal_name: { says: 'The name it is registered by.', example: 'Brückner Präzision GmbH' },
  domain: { says: 'Its domain, in ASCII (A-labels).', example: 'xn--brckner-przision-4nb73b.example' },
  employees: { says: 'Headcount.', example: 11 },
  employees_range: { says: 'Headcount as a range.', example: '11-50' },
  revenue: { says: 'Revenue a year, as text.', example: '$1.9M' },
  revenue_usd: { says: 'Revenue a year, US dollars.', example: 1_903_000 },
  revenue_range: { says: 'Revenue as a range.', example: '$1M-$10M' },
  industry: { says: 'Industry.', example: 'Retail' },
  sector: { says: 'Sector.', example: 'Consumer Discretionary' },
  type: { says: 'Such as `private`, `public`, `nonprofit`; there may be others.', example: 'private' },
  description: { says: 'What it does.' },
  founded_year: { says: 'Year in which it was founded.', example: 1958 },
  stack: { says: 'Names of the technologies that it uses.', example: ['MySQL', 'Salesforce', 'SAP'] },
  technologies: { says: 'The same with what is known of each.' },
  hq: { says: 'Head office.' },
  locations: { says: 'Offices.' },
  phone: { says: 'Telephone number.' },
  logo_url: { says: 'Its logo.' },
  linkedin_url: { says: 'Its page there.', example: 'https://profiles.example/company/cobalt-materials' },
  linkedin_followers: { says: 'Who follow it there.', example: 33 },
  twitter_url: { says: 'Its page there.' },
  facebook_url: { says: 'Its page there.' },
  crunchbase_url: { says: 'Its page there.' },
  ticker: { says: 'Stock symbol.' },
  exchange: { says: 'Stock exchange.' },
  parent_domain: { says: 'Domain of the parent company.' },
  subsidiaries: { says: 'Companies that it owns.' },
  domain_aliases: { says: 'Other domains that it has.' },
  email_provider: { says: 'Who runs its mail, such as `google`, `microsoft`, `self_hosted`; there may be others.', example: 'google' },
  email_pattern: { says: 'How it writes its people\'s addresses.', example: '{first}.{last}' },
  accepts_all: { says: 'Whether its mail server takes mail for anybody.', example: false },
  naics: { says: 'NAICS codes.', example: ['455219'] },
  sic: { says: 'SIC codes.', example: ['5399'] },
  keywords: { says: 'Keywords.', example: ['e-commerce', 'loyalty'] },
  employees_by_department: { says: 'Headcount by department.' },
  employees_by_country: { says: 'Headcount by country.' },
  headcount_growth: { says: 'Growth within 3, 6, 12 and 24 months; 0.15 is 15 percent.' },
  funding: { says: 'What it has raised.' },
  hiring: { says: 'Whom it is looking for.' },
  updated_at: { says: 'When the newest of the record was reported.', example: '2025-06-13T00:00:00Z' },
};

const SIGNALS: Schema = { ...nullable({ type: 'array', items: SIGNAL_OF_COMPANY }), description: 'The newest of its signals; all are at `GET /v1/signals`.' };

export const COMPANY_PROPERTIES = Object.fromEntries(
  COMPANY_FIELDS.map((field) => [field, field === 'signals' ? SIGNALS : fieldSchema(field, COMPANY_TYPES[field], SAYINGS[field])]),
) as Readonly<Record<Field, Schema>>;

export const COMPANY_RECORD: Schema = { type: 'object', description: 'Everything that is known of a company; `null` where nothing is. New fields may come.', required: COMPANY_FIELDS, properties: COMPANY_PROPERTIES };
