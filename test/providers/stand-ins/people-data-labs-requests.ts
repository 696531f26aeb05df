/** The two kinds of request of the People Data Labs stand-in: their parameters, the required ones, and how each is answered. */
import {
  companyId,
  companyRecord,
  included,
  isEnough,
  isTrue,
  personRecord,
  text,
  titlecase,
  type Params,
} from './people-data-labs-records.ts';
import type { StandInBook } from './stand-in.ts';
import { companyOf, findCompany, findPerson, personOf } from './world.ts';

/** A match: the answer, and the key by which it is charged. */
export interface Match {
  readonly body: Readonly<Record<string, unknown>>;
  readonly paidKey: string;
}

export interface Kind {
  readonly operation: 'enrich' | 'company';
  readonly creditsType: 'enrich' | 'enrich_company';
  readonly keys: ReadonlySet<string>;
  hasEnough(params: Params): boolean;
  match(book: StandInBook, params: Params): Match | null;
}

const PLACES = ['location', 'street_address', 'locality', 'region', 'country', 'postal_code'];
const FACTS = [...PLACES, 'company', 'school', 'birth_date'];
const EXACT = ['profile', 'email', 'phone', 'email_hash', 'lid', 'pdl_id'];
const NAMES = ['name', 'first_name', 'last_name', 'middle_name'];
const COMPANY_IDS = ['pdl_id', 'name', 'ticker', 'website', 'profile'];
const OUTPUT = ['titlecase', 'pretty', 'min_likelihood', 'required', 'data_include', 'include_if_matched', 'api_key'];

const EXACT_LIKELIHOOD = 10;
const NAME_LIKELIHOOD = 6;

export const PERSON: Kind = {
  operation: 'enrich',
  creditsType: 'enrich',
  keys: new Set([...EXACT, ...NAMES, ...FACTS, ...OUTPUT]),
  hasEnough: (params) => {
    const has = (key: string): boolean => text(params, key) !== undefined;
    return EXACT.some(has) || ((has('name') || (has('first_name') && has('last_name'))) && FACTS.some(has));
  },
  match: (book, params) => {
    const exact = numberOfId(text(params, 'pdl_id')) ?? findPerson(exactKeys(params));
    const index = exact ?? findPerson(nameKeys(params));
    const person = book.find(index);
    if (person === null || index === null) return null;
    const record = personRecord(person, index);
    const likelihood = exact === null ? NAME_LIKELIHOOD : EXACT_LIKELIHOOD;
    if (!isEnough(record, likelihood, params)) return null;
    return { body: { status: 200, likelihood, data: shaped(record, params) }, paidKey: personOf(index).email };
  },
};

export const COMPANY: Kind = {
  operation: 'company',
  creditsType: 'enrich_company',
  keys: new Set([...COMPANY_IDS, ...PLACES, ...OUTPUT]),
  hasEnough: (params) => COMPANY_IDS.some((key) => text(params, key) !== undefined),
  match: (book, params) => {
    const number = /^company-(\d+)$/.exec(text(params, 'pdl_id') ?? companyId(text(params, 'profile')?.replace(/^.*\//, '') ?? ''))?.[1];
    const keys = { domain: text(params, 'website'), name: text(params, 'name') };
    const company = book.findCompany(number === undefined ? findCompany(keys) : companyOf(Number(number)));
    if (company === null) return null;
    const record = companyRecord(company);
    if (!isEnough(record, EXACT_LIKELIHOOD, params)) return null;
    return { body: { status: 200, ...shaped(record, params), likelihood: EXACT_LIKELIHOOD }, paidKey: company.domain };
  },
};

const shaped = (record: Readonly<Record<string, unknown>>, params: Params): Record<string, unknown> =>
  included(isTrue(params, 'titlecase') ? titlecase(record) : record, params['data_include']);

const exactKeys = (params: Params): Parameters<typeof findPerson>[0] => ({
  email: text(params, 'email'),
  linkedinUrl: text(params, 'profile'),
  phone: text(params, 'phone'),
});

/** `company` is a name or a website. */
const nameKeys = (params: Params): Parameters<typeof findPerson>[0] => ({
  firstName: text(params, 'first_name'),
  lastName: text(params, 'last_name'),
  name: text(params, 'name'),
  company: text(params, 'company'),
  domain: text(params, 'company'),
});

function numberOfId(id: string | undefined): number | null {
  const number = /^person(\d+)_0000$/.exec(id ?? '')?.[1];
  return number === undefined ? null : Number(number);
}

/** True when every parameter is one the vendor lists, with a value of a listed type. */
export function areValid(params: Params, kind: Kind): boolean {
  return Object.entries(params).every(([key, value]) => {
    if (!kind.keys.has(key)) return false;
    if (key === 'min_likelihood') return Number.isInteger(Number(value)) && Number(value) >= 0 && Number(value) <= 10;
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    return values.every((one) => ['string', 'number', 'boolean'].includes(typeof one));
  });
}
