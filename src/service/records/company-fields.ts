/**
 * The company record: the one table of its fields, in the order of the answers. Pure.
 * A new field comes right before `signals`, because stored records know fields by their position (`stored-text.ts`). It needs no more.
 */
import { COUNTS, importedFields, PLACE, USD, type Field, type RecordFields } from './field.ts';

export const COMPANY = {
  id: { type: 'string', description: 'Stable for as long as the company is known.', example: 'co_00001' },
  name: { type: 'string', description: 'The name it goes by.', example: 'Brückner Präzision' },
  legal_name: { type: 'string', description: 'The name it is registered by.', example: 'Brückner Präzision GmbH' },
  domain: { type: 'domain', description: 'Its domain, in ASCII (A-labels).', example: 'xn--brckner-przision-4nb73b.example' },
  employees: { type: 'integer', description: 'Headcount.', example: 11 },
  employees_range: { type: 'string', description: 'Headcount as a range.', example: '11-50' },
  revenue: { type: 'string', description: 'Revenue a year, as text.', example: '$1.9M' },
  revenue_usd: { type: 'integer', isUsd: true, description: 'Revenue a year, US dollars.', example: 1_903_000 },
  revenue_range: { type: 'string', description: 'Revenue as a range.', example: '$1M-$10M' },
  industry: { type: 'string', description: 'Industry.', example: 'Retail' },
  sector: { type: 'string', description: 'Sector.', example: 'Consumer Discretionary' },
  type: { type: 'word', description: 'Such as `private`, `public`, `nonprofit`; there may be others.', example: 'private' },
  description: { type: 'string', description: 'What it does.' },
  founded_year: { type: 'integer', description: 'Year in which it was founded.', example: 1958 },
  stack: { type: 'strings', description: 'Names of the technologies that it uses.', example: ['MySQL', 'Salesforce', 'SAP'] },
  technologies: {
    type: 'objects',
    description: 'The same with what is known of each.',
    fields: { name: 'string', category: 'string', first_seen_on: 'partial_date', last_seen_on: 'partial_date' },
  },
  hq: { type: 'object', description: 'Head office.', fields: PLACE },
  locations: { type: 'objects', description: 'Offices.', fields: PLACE },
  phone: { type: 'telephone', description: 'Telephone number.' },
  logo_url: { type: 'string', description: 'Its logo.' },
  linkedin_url: { type: 'string', description: 'Its page there.', example: 'https://profiles.example/company/cobalt-materials' },
  linkedin_followers: { type: 'integer', description: 'Who follow it there.', example: 33 },
  twitter_url: { type: 'string', description: 'Its page there.' },
  facebook_url: { type: 'string', description: 'Its page there.' },
  crunchbase_url: { type: 'string', description: 'Its page there.' },
  ticker: { type: 'string', description: 'Stock symbol.' },
  exchange: { type: 'string', description: 'Stock exchange.' },
  parent_domain: { type: 'domain', description: 'Domain of the parent company.' },
  subsidiaries: { type: 'objects', description: 'Companies that it owns.', fields: { name: 'string', domain: 'string' } },
  domain_aliases: { type: 'strings', description: 'Other domains that it has.' },
  email_provider: {
    type: 'word',
    description: 'Who runs its mail, such as `google`, `microsoft`, `self_hosted`; there may be others.',
    example: 'google',
  },
  email_pattern: { type: 'string', description: "How it writes its people's addresses.", example: '{first}.{last}' },
  accepts_all: { type: 'boolean', description: 'Whether its mail server takes mail for anybody.', example: false },
  naics: { type: 'strings', description: 'NAICS codes.', example: ['455219'] },
  sic: { type: 'strings', description: 'SIC codes.', example: ['5399'] },
  keywords: { type: 'strings', description: 'Keywords.', example: ['e-commerce', 'loyalty'] },
  employees_by_department: { ...COUNTS, description: 'Headcount by department.' },
  employees_by_country: { ...COUNTS, description: 'Headcount by country.' },
  headcount_growth: {
    type: 'object',
    description: 'Growth within 3, 6, 12 and 24 months; 0.15 is 15 percent.',
    fields: { m3: 'number', m6: 'number', m12: 'number', m24: 'number' },
  },
  funding: {
    type: 'object',
    description: 'What it has raised.',
    fields: {
      total_usd: USD,
      rounds_count: 'integer',
      last_stage: 'string',
      last_amount_usd: USD,
      last_date: 'partial_date',
      investors: 'strings',
      rounds: {
        type: 'objects',
        fields: {
          round_type: 'string',
          announced_on: 'partial_date',
          amount: 'number',
          currency: 'string',
          amount_usd: USD,
          investors: 'strings',
          lead_investors: 'strings',
        },
      },
    },
  },
  hiring: {
    type: 'object',
    description: 'Whom it is looking for.',
    fields: { open_roles: 'integer', by_department: COUNTS, by_country: COUNTS, delta_30d: 'number', last_posted_on: 'partial_date' },
  },
  signals: { type: 'objects', isComputed: true, description: 'The newest of its signals; all are at `GET /v1/signals`.' },
  updated_at: { type: 'time', description: 'When the newest of the record was reported.', example: '2025-06-13T00:00:00Z' },
} as const satisfies RecordFields;

export type CompanyField = keyof typeof COMPANY;

/** Every field of a company record. */
export const COMPANY_FIELDS = Object.keys(COMPANY) as readonly CompanyField[];

export const IMPORTED_COMPANY: Readonly<Record<string, Field>> = importedFields<string>(COMPANY);
