/** The people and organizations of the Apollo stand-in, in the form of the examples of its OpenAPI document. */
import { createHash } from 'node:crypto';
import { companyOf, findCompany, PEOPLE_OF_A_COMPANY, type StandInCompany, type StandInPerson } from './world.ts';

const orNull = (value: string): string | null => (value === '' ? null : value);

/** A person as `person` and as an entry of `matches` show it. */
export function personBody(person: StandInPerson, index: number): Record<string, unknown> {
  const { email, firstName, lastName, title, company, domain, linkedinUrl, verdict, employees } = person;
  const employer = companyOf(Math.floor(index / PEOPLE_OF_A_COMPANY));
  const hasEmployer = company !== '' || domain !== '';
  return {
    id: personId(index),
    first_name: orNull(firstName),
    last_name: orNull(lastName),
    name: orNull(`${firstName} ${lastName}`.trim()),
    linkedin_url: orNull(linkedinUrl.replace('https:', 'http:')),
    title: orNull(title),
    email_status: email === '' ? 'unavailable' : verdict === 'deliverable' ? 'verified' : 'unverified',
    photo_url: null,
    twitter_url: null,
    github_url: null,
    facebook_url: null,
    extrapolated_email_confidence: null,
    headline: title === '' || company === '' ? null : `${title} at ${company}`,
    email: orNull(email),
    organization_id: hasEmployer ? organizationId(employer.number) : null,
    employment_history: [],
    state: null,
    city: null,
    country: null,
    revealed_for_current_team: true,
    organization: hasEmployer ? organizationBody({ ...employer, name: company, domain, employees }) : null,
    is_likely_to_engage: false,
    show_intent: false,
    departments: [],
    subdepartments: [],
    functions: [],
    seniority: null,
  };
}

/** A company as `organization` shows it. */
export function organizationBody({ number, name, domain, employees, industry }: StandInCompany): Record<string, unknown> {
  return {
    id: organizationId(number),
    name: orNull(name),
    website_url: domain === '' ? null : `http://www.${domain}`,
    blog_url: null,
    linkedin_url: `http://www.linkedin.com/company/company-${number}`,
    twitter_url: null,
    facebook_url: null,
    primary_phone: {},
    languages: [],
    phone: null,
    founded_year: null,
    primary_domain: orNull(domain),
    industry: industry.toLowerCase(),
    keywords: [],
    estimated_num_employees: employees === 0 ? null : employees,
    industries: [industry.toLowerCase()],
    secondary_industries: [],
    street_address: null,
    city: null,
    state: null,
    country: null,
    annual_revenue: null,
    annual_revenue_printed: null,
    technology_names: [],
  };
}

/** An Apollo ID: 24 hexadecimal digits that end with the number. */
export const personId = (index: number): string => `a0${index.toString(16).padStart(22, '0')}`;
const organizationId = (number: number): string => `c0${number.toString(16).padStart(22, '0')}`;

export function numberOfId(id: string | undefined): number | null {
  const digits = /^a0([\da-f]{22})$/.exec(id ?? '')?.[1];
  return digits === undefined ? null : Number.parseInt(digits, 16);
}

/** The company behind any of the four keys of an organization; null for others. */
export function findOrganization(keys: Readonly<Record<string, string | undefined>>): StandInCompany | null {
  const number = /^(?:https?:\/\/)?(?:www\.)?linkedin\.com\/company\/company-(\d+)\/?$/.exec(keys['linkedin_url'] ?? '')?.[1];
  if (number !== undefined) return companyOf(Number(number));
  return findCompany({ domain: keys['domain'] }) ?? findCompany({ domain: keys['website'], name: keys['name'] });
}

/** The result of a phone reveal, as the poll of its webhook result shows it. */
export function phoneResult(requestId: string, people: readonly StandInPerson[], indexes: readonly number[]): Record<string, unknown> {
  const withPhone = people.filter(({ phone }) => phone !== '').length;
  return {
    request_id: requestId,
    webhook_status: 'success',
    request_type: 'phone',
    failure_reason: null,
    webhook_result: {
      status: 'success',
      total_requested_enrichments: people.length,
      unique_enriched_records: withPhone,
      missing_records: people.length - withPhone,
      credits_consumed: 8 * withPhone,
      people: people.map(({ phone }, at) => ({
        id: personId(indexes[at] ?? 0),
        status: 'success',
        phone_numbers: phone === '' ? [] : [phoneNumber(phone)],
      })),
    },
  };
}

function phoneNumber(phone: string): Record<string, unknown> {
  const id = createHash('sha256').update(phone).digest('hex').slice(0, 24);
  return {
    id,
    raw_number: phone,
    sanitized_number: phone,
    type_cd: 'mobile',
    status_cd: 'valid_number',
    confidence_cd: 'high',
    position: 0,
  };
}
