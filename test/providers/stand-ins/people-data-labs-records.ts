/** The records of the People Data Labs stand-in, in the form of its example person and company, and the parameters that shape them. */
import type { StandInCompany, StandInPerson } from './world.ts';

export type Params = Readonly<Record<string, unknown>>;

const SIZES = [10, 50, 200, 500, 1_000, 5_000, 10_000] as const;
/** Fields whose letter case is data. The vendor writes all other text in lower case. */
const AS_IT_IS = /(?:^id$|_id$|url|email|website|phone|size|address)/;

/** The first text of a parameter; undefined when it is missing or blank. Lists are how the vendor takes several values. */
export function text(params: Params, key: string): string | undefined {
  const value: unknown = Array.isArray(params[key]) ? params[key][0] : params[key];
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

export function isTrue(params: Params, key: string): boolean {
  return params[key] === true || params[key] === 'true';
}

/** A person as `data` shows it. Fields without a value are null. */
export function personRecord(person: StandInPerson, index: number): Record<string, unknown> {
  const { email, firstName, lastName, title, company, domain, linkedinUrl, phone, employees } = person;
  const lower = (value: string): string | null => (value === '' ? null : value.toLowerCase());
  const name = `${firstName} ${lastName}`.trim();
  return {
    id: personId(index),
    full_name: lower(name),
    first_name: lower(firstName),
    middle_initial: null,
    middle_name: null,
    last_initial: lower(lastName.slice(0, 1)),
    last_name: lower(lastName),
    sex: null,
    birth_year: null,
    birth_date: null,
    linkedin_url: linkedinUrl === '' ? null : linkedinUrl.replace('https://www.', ''),
    linkedin_username: linkedinUrl === '' ? null : `person-${index}`,
    linkedin_id: linkedinUrl === '' ? null : String(index),
    work_email: email === '' ? null : email,
    personal_emails: [],
    mobile_phone: phone === '' ? null : phone,
    industry: null,
    job_title: lower(title),
    job_title_role: null,
    job_title_levels: [],
    job_company_id: domain === '' ? null : companyId(domain),
    job_company_name: lower(company),
    job_company_website: domain === '' ? null : domain,
    job_company_size: employees === 0 ? null : sizeOf(employees),
    location_name: null,
    location_country: null,
    phone_numbers: phone === '' ? [] : [phone],
    emails: email === '' ? [] : [{ address: email, type: 'current_professional' }],
  };
}

/** A company as the Company Enrichment API shows it, without `status` and `likelihood`. */
export function companyRecord({ domain, name, employees, industry }: StandInCompany): Record<string, unknown> {
  const username = domain.replace(/\..*/, '');
  return {
    id: companyId(domain),
    name: name.toLowerCase(),
    display_name: name,
    size: sizeOf(employees),
    employee_count: employees,
    founded: null,
    industry: industry.toLowerCase(),
    naics: null,
    sic: null,
    location: null,
    website: domain,
    linkedin_id: null,
    linkedin_url: `linkedin.com/company/${username}`,
    type: 'private',
    ticker: null,
    summary: null,
    tags: [],
  };
}

export const personId = (index: number): string => `person${index}_0000`;
export const companyId = (domain: string): string => domain.replace(/\..*/, '');

export function titlecase(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const upper = (value: string): string => value.replace(/(?<![A-Za-z])[a-z]/g, (letter) => letter.toUpperCase());
  const entries = Object.entries(record).map(([key, value]) => [
    key,
    typeof value === 'string' && !AS_IT_IS.test(key) ? upper(value) : value,
  ]);
  return Object.fromEntries(entries) as Record<string, unknown>;
}

/** `data_include`: a list of fields to keep, or of fields to leave out when it begins with a minus. */
export function included(record: Readonly<Record<string, unknown>>, dataInclude: unknown): Record<string, unknown> {
  if (typeof dataInclude !== 'string') return { ...record };
  const isExcluding = dataInclude.startsWith('-');
  const names = (isExcluding ? dataInclude.slice(1) : dataInclude).split(',').map((name) => name.trim().split('.')[0]);
  return Object.fromEntries(Object.entries(record).filter(([key]) => names.includes(key) !== isExcluding));
}

/** True when a record satisfies `min_likelihood` and `required`; without that the vendor answers 404 and charges nothing. */
export function isEnough(record: Readonly<Record<string, unknown>>, likelihood: number, params: Params): boolean {
  if (likelihood < Number(params['min_likelihood'] ?? 0)) return false;
  const required = text(params, 'required');
  return required === undefined || isSatisfied(required.match(/[()]|[^\s()]+/g) ?? [], record);
}

/** Fields joined by AND and OR, with parentheses. AND binds more tightly. */
function isSatisfied(tokens: readonly string[], record: Readonly<Record<string, unknown>>): boolean {
  let at = 0;
  const isNext = (word: string): boolean => tokens[at]?.toUpperCase() === word && ++at > 0;
  const either = (): boolean => {
    let holds = both();
    while (isNext('OR')) holds = both() || holds;
    return holds;
  };
  const both = (): boolean => {
    let holds = one();
    while (isNext('AND')) holds = one() && holds;
    return holds;
  };
  const one = (): boolean => {
    if (!isNext('(')) return isFilled(record[(tokens[at++] ?? '').split('.')[0] ?? '']);
    const holds = either();
    isNext(')');
    return holds;
  };
  return either();
}

const isFilled = (value: unknown): boolean => value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);

function sizeOf(employees: number): string {
  const index = SIZES.findIndex((most) => employees <= most);
  const most = SIZES[index];
  return most === undefined ? '10001+' : `${index === 0 ? 1 : (SIZES[index - 1] ?? 0) + 1}-${most}`;
}
