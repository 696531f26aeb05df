/** The operations of the Apollo stand-in, after the key, the scope and the limit were checked. */
import type { ApolloPhones } from './apollo-phones.ts';
import { findOrganization, numberOfId, organizationBody, personBody } from './apollo-records.ts';
import type { StandInBook, StandInCall, StandInReply } from './stand-in.ts';
import { findPerson, personOf, type StandInPerson } from './world.ts';

export type Operation = (call: StandInCall, book: StandInBook, phones: ApolloPhones) => StandInReply;

type Words = Readonly<Record<string, string | undefined>>;

const MAX_BATCH = 10;
const PHONE_CREDITS = 8;
const PERSON_KEYS = ['first_name', 'last_name', 'name', 'email', 'hashed_email', 'organization_name', 'domain', 'id', 'linkedin_url'];
const REVEALS = ['reveal_personal_emails', 'reveal_phone_number', 'webhook_url'];
const ORGANIZATION_KEYS = ['domain', 'linkedin_url', 'name', 'website'];
const TOO_FEW_CREDITS: StandInReply = { status: 422, body: { error: 'Insufficient credits. Please upgrade your plan.' } };

export const matchPerson: Operation = (call, book, phones) => {
  const words = wordsOf({ ...Object.fromEntries(call.query), ...jsonOf(call) });
  const problem = unknownKey(words, [...PERSON_KEYS, ...REVEALS]) ?? missingWebhook(words);
  if (problem !== null) return { status: 422, body: { error: problem } };
  if (!PERSON_KEYS.some((key) => words[key])) return { status: 422, body: { error: "Required parameter 'email' missing" } };
  const found = find([words], book, isTrue(words['reveal_phone_number']));
  if (found === null) return TOO_FEW_CREDITS;
  return answered({ person: found.bodies[0] ?? null }, found, words, book, phones);
};

export const matchPeople: Operation = (call, book, phones) => {
  const body = jsonOf(call);
  const { details } = body;
  if (!Array.isArray(details) || details.length === 0) return failed(400, 'INVALID_REQUEST', 'invalid request, missing details');
  if (details.length > MAX_BATCH) return failed(400, 'RECORD_LIMIT_EXCEEDED', 'cannot enrich more than 10 in a single request');
  if (!details.every(isObject)) return failed(422, 'UNKNOWN_ERROR', 'no implicit conversion of Symbol into Integer');
  const flags = wordsOf(Object.fromEntries(call.query));
  const entries = details.map(wordsOf);
  const problem =
    unknownKey(flags, REVEALS) ??
    unknownKey(body, ['details']) ??
    missingWebhook(flags) ??
    entries.map((entry) => unknownKey(entry, PERSON_KEYS)).find((problem) => problem !== null);
  if (typeof problem === 'string') return failed(422, 'UNKNOWN_ERROR', problem);
  const found = find(entries, book, isTrue(flags['reveal_phone_number']));
  if (found === null) return TOO_FEW_CREDITS;
  const answer = {
    status: 'success',
    error_code: null,
    error_message: null,
    total_requested_enrichments: entries.length,
    unique_enriched_records: found.charged,
    missing_records: found.bodies.filter((body) => body === null).length,
    credits_consumed: found.credits,
    matches: found.bodies,
  };
  return answered(answer, found, flags, book, phones);
};

export const enrichOrganization: Operation = (call, book) => {
  const words = wordsOf(Object.fromEntries(call.query));
  const problem = unknownKey(words, ORGANIZATION_KEYS);
  if (problem !== null) return { status: 422, body: { error: problem } };
  if (!ORGANIZATION_KEYS.some((key) => words[key])) return { status: 422, body: { error: "Required parameter 'domain' missing" } };
  const bodies = findOrganizations([words], book);
  return bodies === null ? TOO_FEW_CREDITS : { status: 200, body: { organization: bodies[0] ?? null } };
};

export const enrichOrganizations: Operation = (call, book) => {
  const { details } = jsonOf(call);
  const domains = call.query.getAll('domains[]');
  if (!Array.isArray(details) && domains.length === 0) {
    // The page shows this one error as text.
    const { status, body } = failed(400, 'INVALID_REQUEST', 'invalid request, missing domains');
    return { status, body: JSON.stringify(body) };
  }
  if (Array.isArray(details) && !details.every(isObject))
    return failed(422, 'UNKNOWN_ERROR', 'no implicit conversion of Symbol into Integer');
  const entries = Array.isArray(details) ? details.map(wordsOf) : domains.map((domain) => ({ domain }));
  if (entries.length > MAX_BATCH) return failed(400, 'RECORD_LIMIT_EXCEEDED', 'domain count cannot be more than 10');
  const bodies = findOrganizations(entries, book);
  if (bodies === null) return TOO_FEW_CREDITS;
  const unique = new Set(entries.map((entry) => JSON.stringify(entry))).size;
  const byDetails = Array.isArray(details);
  const answer = {
    status: 'success',
    error_code: null,
    error_message: null,
    total_requested_records: byDetails ? entries.length : null,
    total_requested_domains: byDetails ? null : entries.length,
    unique_domains: byDetails ? null : unique,
    unique_records: byDetails ? unique : null,
    unique_enriched_records: new Set(bodies.map((body) => body?.['id']).filter((id) => id !== undefined)).size,
    missing_records: bodies.filter((body) => body === null).length,
    organizations: bodies,
  };
  return { status: 200, body: answer };
};

interface Found {
  readonly bodies: readonly (Record<string, unknown> | null)[];
  readonly people: readonly StandInPerson[];
  readonly indexes: readonly number[];
  readonly credits: number;
  /** Distinct people that consumed credits. */
  readonly charged: number;
}

/** Finds, counts and charges the people of a request; null when the balance is too low, and then nothing is charged. */
function find(entries: readonly Words[], book: StandInBook, withPhones: boolean): Found | null {
  const found = entries.map((entry) => {
    const index = indexOf(entry);
    return { index, person: book.find(index) };
  });
  const unique = new Map(found.flatMap(({ index, person }) => (index === null || person === null ? [] : [[index, person]])));
  const paid = [...unique].filter(([, person]) => hasData(person));
  const withPhone = withPhones ? [...unique].filter(([, { phone }]) => phone !== '') : [];
  const credits = paid.length + PHONE_CREDITS * withPhone.length;
  if (book.balance < Math.max(1, credits)) return null;
  for (const { person } of found) book.count(person !== null);
  for (const [index] of paid) book.charge('enrich', personOf(index).email);
  for (const [index] of withPhone) book.charge('reveal', personOf(index).email, PHONE_CREDITS);
  const bodies = found.map(({ index, person }) => (index === null || person === null ? null : personBody(person, index)));
  return { bodies, people: [...unique.values()], indexes: [...unique.keys()], credits, charged: paid.length };
}

function findOrganizations(entries: readonly Words[], book: StandInBook): (Record<string, unknown> | null)[] | null {
  const found = entries.map((entry) => book.findCompany(findOrganization(entry)));
  const domains = new Set(found.flatMap((company) => (company === null ? [] : [company.domain])));
  if (book.balance < Math.max(1, domains.size)) return null;
  for (const company of found) book.count(company !== null);
  for (const domain of domains) book.charge('company', domain);
  return found.map((company) => (company === null ? null : organizationBody(company)));
}

/** Adds a request id when phones were asked for. It is written as an integer that exceeds the numbers of JavaScript. */
function answered(body: object, { people, indexes }: Found, flags: Words, book: StandInBook, phones: ApolloPhones): StandInReply {
  if (!isTrue(flags['reveal_phone_number'])) return { status: 200, body };
  const id = phones.open(people, indexes, book.now());
  const text = JSON.stringify({ ...body, request_id: 0 }).replace(/"request_id":0\}$/, `"request_id":${id}}`);
  return { status: 200, body: text, headers: { 'content-type': 'application/json; charset=utf-8' } };
}

function indexOf(keys: Words): number | null {
  const exact = numberOfId(keys['id']) ?? findPerson({ email: keys['email'], linkedinUrl: keys['linkedin_url'] });
  const { first_name: firstName, last_name: lastName, name, domain, organization_name: company } = keys;
  return exact ?? findPerson({ firstName, lastName, name, domain, company });
}

const hasData = ({ email, title, company, firstName, lastName, linkedinUrl }: StandInPerson): boolean =>
  [email, title, company, firstName, lastName, linkedinUrl].some((value) => value !== '');

function failed(status: number, code: string, message: string): StandInReply {
  return { status, body: { status: 'failed', error_code: code, error_message: message } };
}

function unknownKey(words: object, known: readonly string[]): string | null {
  const key = Object.keys(words).find((key) => !known.includes(key));
  return key === undefined ? null : `Unknown parameter '${key}'`;
}

function missingWebhook(words: Words): string | null {
  const isThere = (words['webhook_url'] ?? '').startsWith('https://');
  return isTrue(words['reveal_phone_number']) && !isThere ? "Required parameter 'webhook_url' missing" : null;
}

const isTrue = (value: string | undefined): boolean => value === 'true';

/** The body of a request that says it is JSON. */
function jsonOf({ body, headers }: StandInCall): Readonly<Record<string, unknown>> {
  return /^application\/json\b/i.test(headers['content-type'] ?? '') && isObject(body) ? body : {};
}

function wordsOf(values: Readonly<Record<string, unknown>>): Words {
  const isPlain = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value);
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, isPlain(value) ? String(value) : undefined]));
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
