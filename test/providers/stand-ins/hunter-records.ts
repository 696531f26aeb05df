/** The bodies of Hunter's answers, shaped as https://hunter.io/api-documentation/v2 shows them (read on 2026-11-26). */
import type { StandInCompany, StandInPerson } from './world.ts';

export type VerifierStatus = 'valid' | 'invalid' | 'accept_all' | 'webmail' | 'disposable' | 'unknown';

const SCORES: Readonly<Record<VerifierStatus, number>> = {
  valid: 100,
  invalid: 0,
  accept_all: 70,
  webmail: 50,
  disposable: 50,
  unknown: 0,
};
const FINDER_STATUS = { deliverable: 'valid', undeliverable: 'unknown', risky: 'accept_all', unknown: 'unknown' } as const;
const FINDER_PARAMETERS = ['first_name', 'last_name', 'full_name', 'domain', 'company', 'max_duration'];
/** The upper ends of Hunter's company sizes. */
const SIZES = [10, 50, 200, 500, 1_000, 5_000, 10_000];

const orNull = (text: string): string | null => (text === '' ? null : text);

/** A find; a miss has null in place of the email and its score. */
export function finderBody(person: StandInPerson | null, query: URLSearchParams): object {
  const params = Object.fromEntries(FINDER_PARAMETERS.map((name) => [name, query.get(name)]));
  const status = person === null ? null : (FINDER_STATUS[person.verdict] ?? 'unknown');
  const data = {
    first_name: orNull(person?.firstName ?? query.get('first_name') ?? ''),
    last_name: orNull(person?.lastName ?? query.get('last_name') ?? ''),
    email: person?.email ?? null,
    score: person === null ? null : 97,
    domain: orNull(person?.domain ?? query.get('domain') ?? ''),
    accept_all: status === 'accept_all',
    position: orNull(person?.title ?? ''),
    twitter: null,
    linkedin_url: orNull(person?.linkedinUrl ?? ''),
    phone_number: orNull(person?.phone ?? ''),
    company: orNull(person?.company ?? query.get('company') ?? ''),
    sources: [],
    verification: { date: status === null ? null : '2026-11-01', status },
  };
  return { data, meta: { params } };
}

export function verifierBody(email: string, status: VerifierStatus): object {
  const isReached = status === 'valid' || status === 'accept_all' || status === 'webmail' || status === 'disposable';
  const data = {
    status,
    result: status === 'valid' ? 'deliverable' : status === 'invalid' ? 'undeliverable' : 'risky',
    score: SCORES[status],
    email,
    regexp: true,
    gibberish: false,
    disposable: status === 'disposable',
    webmail: status === 'webmail',
    mx_records: true,
    smtp_server: status !== 'unknown',
    smtp_check: isReached,
    accept_all: status === 'accept_all',
    block: status === 'unknown',
    sources: [],
  };
  return { data, meta: { params: { email } } };
}

export function personBody({ email, firstName, lastName, title, company, domain, linkedinUrl, phone }: StandInPerson): object {
  const seniority = title === '' ? null : /^(?:Chief|Head)/.test(title) ? 'executive' : 'senior';
  return {
    id: `person-${email || linkedinUrl}`,
    name: { fullName: orNull(`${firstName} ${lastName}`.trim()), givenName: orNull(firstName), familyName: orNull(lastName) },
    email: orNull(email),
    location: null,
    timeZone: null,
    utcOffset: null,
    geo: { city: null, state: null, stateCode: null, country: null, countryCode: null, lat: null, lng: null },
    employment: { domain: orNull(domain), name: orNull(company), title: orNull(title), role: null, subRole: null, seniority },
    twitter: { handle: null },
    linkedin: { handle: orNull(linkedinUrl.split('/').at(-1) ?? '') },
    fuzzy: false,
    emailProvider: null,
    indexedAt: '2026-10-01',
    phone: orNull(phone),
    activeAt: '2026-10-01',
    inactiveAt: null,
  };
}

export function companyBody({ number, domain, name, employees, industry }: StandInCompany): object {
  return {
    id: `company-${number}`,
    name,
    legalName: name,
    domain,
    category: { sector: industry, industryGroup: industry, industry, subIndustry: null },
    tags: [industry.toLowerCase()],
    description: `${name} works in ${industry.toLowerCase()}.`,
    foundedYear: 1950 + (number % 70),
    location: null,
    logo: null,
    linkedin: { handle: `company/company-${number}` },
    type: 'private',
    company_type: 'privately held',
    metrics: { employees: sizeOf(employees), trafficRank: null },
    tech: ['http-3'],
    fundingRounds: [],
  };
}

function sizeOf(employees: number): string {
  const to = SIZES.findIndex((size) => employees <= size);
  if (to < 0) return '10001+';
  return `${to === 0 ? 1 : (SIZES[to - 1] ?? 0) + 1}-${SIZES[to]}`;
}
