/** The fields of answers in the specification, with the types of those that Millrace itself reads or writes in columns. Pure. */

/**
 * `number`: mostly whole. `decimal`: any number. `percent`: a number from 0 to 100. `company`: an object with the fields of a company.
 * `any`: not checked.
 */
export type FieldType = 'text' | 'number' | 'decimal' | 'percent' | 'boolean' | 'texts' | 'company' | 'any';

/** By name. */
export type FieldTable = ReadonlyMap<string, FieldType>;

const fields = (table: Readonly<Record<string, FieldType>>): FieldTable => new Map(Object.entries(table));

/** The fields of a person: the answers of enrich and reveal. */
export const PERSON_FIELDS = fields({
  id: 'any',
  email: 'text',
  name: 'text',
  first_name: 'text',
  middle_name: 'text',
  last_name: 'text',
  name_aliases: 'texts',
  headline: 'text',
  title: 'text',
  seniority: 'text',
  department: 'text',
  sub_department: 'text',
  summary: 'text',
  role_started_on: 'any',
  tenure_months: 'number',
  years_experience: 'number',
  job_changed_at: 'any',
  email_status: 'text',
  email_type: 'text',
  email_confidence: 'number',
  email_verified_at: 'any',
  emails: 'any',
  personal_emails: 'texts',
  mobile: 'text',
  phones: 'any',
  location: 'any',
  time_zone: 'text',
  linkedin_url: 'text',
  linkedin_id: 'any',
  twitter_url: 'text',
  github_url: 'text',
  facebook_url: 'text',
  website_url: 'text',
  photo_url: 'text',
  skills: 'texts',
  languages: 'texts',
  certifications: 'any',
  education: 'any',
  employment_history: 'any',
  likelihood: 'number',
  matched_on: 'any',
  sources_count: 'any',
  first_seen_at: 'any',
  updated_at: 'any',
  verified: 'boolean',
  company: 'company',
});

/** The fields of a company: the answer of company, and `company` in a person. */
export const COMPANY_FIELDS = fields({
  id: 'any',
  name: 'text',
  legal_name: 'text',
  domain: 'text',
  employees: 'number',
  employees_range: 'text',
  revenue: 'text',
  revenue_usd: 'number',
  revenue_range: 'text',
  industry: 'text',
  sector: 'text',
  type: 'text',
  description: 'text',
  founded_year: 'number',
  stack: 'texts',
  technologies: 'texts',
  hq: 'any',
  locations: 'any',
  phone: 'text',
  logo_url: 'text',
  linkedin_url: 'text',
  linkedin_followers: 'number',
  twitter_url: 'text',
  facebook_url: 'text',
  crunchbase_url: 'text',
  ticker: 'text',
  exchange: 'text',
  parent_domain: 'text',
  subsidiaries: 'any',
  domain_aliases: 'texts',
  email_provider: 'any',
  email_pattern: 'text',
  accepts_all: 'boolean',
  naics: 'any',
  sic: 'any',
  keywords: 'texts',
  employees_by_department: 'any',
  employees_by_country: 'any',
  headcount_growth: 'any',
  funding: 'any',
  hiring: 'any',
  signals: 'any',
  updated_at: 'any',
});

/** The fields of a verdict: the answer of verify for one address. */
export const VERDICT_FIELDS = fields({
  email: 'text',
  normalized: 'any',
  result: 'text',
  reason: 'text',
  confidence: 'percent',
  verified: 'any',
  flags: 'any',
  did_you_mean: 'text',
  domain: 'any',
  mx: 'any',
  smtp: 'any',
  checks: 'any',
  score_factors: 'any',
  score_version: 'any',
  attempts: 'any',
  retry_at: 'any',
  verified_at: 'any',
  expires_at: 'any',
  cached: 'any',
});

/** The fields of objects in a verdict. */
export const VERDICT_OBJECTS: Readonly<Record<string, readonly string[]>> = {
  flags: ['disposable', 'relay', 'role', 'free', 'accept_all', 'mailbox_full', 'disabled', 'smtputf8'],
  domain: ['ascii', 'unicode', 'registrable'],
  mx: ['found', 'implicit', 'null_mx', 'records', 'provider'],
  smtp: ['stage', 'host', 'code', 'enhanced_code', 'message', 'tls', 'greylisted'],
};
