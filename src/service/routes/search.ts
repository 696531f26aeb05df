/** GET and POST /v1/contacts/search: filters in, a page of contacts out, without the addresses and numbers that reveal is for. */
import type { Endpoint, ServiceContext } from '../context.ts';
import { nearest } from '../nearest.ts';
import { COMPANY_ROW, PERSON_ROW, ROW_FIELDS } from '../operations/records/contact.ts';
import { readLimit } from '../operations/paging.ts';
import { MAX_KEYS, MAX_VALUES, SEARCH_LIMIT, SEARCH_PARAMETERS } from '../operations/search.ts';
import type { Filled, SparseRecord } from '../records.ts';
import { BadValue, MAX_VALUE_LENGTH } from '../search/bad-value.ts';
import { FILTERS, type Clause } from '../search/filters.ts';
import type { After } from '../search/order.ts';
import type { SearchIndex, SearchRequest } from '../search/search-index.ts';
import { SORTS } from '../search/sort-keys.ts';
import type { Directory } from '../store/directory.ts';
import { PersonRow } from '../store/person-row.ts';
import { isObject } from '../values.ts';
import { BAD_CURSOR, nextUrl, questionId, readCursor, writeCursor } from './cursor.ts';
import { Findings, type Origin } from './findings.ts';


type SearchContext = Pick<ServiceContext, 'search' | 'directory'>;

/** What was given, by name, and where it came from. */
interface Given {
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly origin: Origin;
}

export function searchByQuery(context: SearchContext): Endpoint {
  return (_body, request) => {
    const values = new Map<string, readonly string[]>();
    for (const [name, value] of Object.entries(request.query as Readonly<Record<string, string | string[]>>)) {
      const list = Array.isArray(value) ? value : [value];
      // A filter that takes no list of its own, such as a circle, has commas within.
      values.set(name, isDivided(name) ? list.flatMap((one) => one.split(',')) : list);
    }
    const page = findPage(context, { values, origin: 'query' });
    const link = page.next === null ? {} : { link: `<${nextUrl(request.url, page.next)}>; rel="next"` };
    return { status: 200, text: pageText(page), credits: 0, headers: link };
  };
}

export function searchByBody(context: SearchContext): Endpoint {
  return (body) => {
    const page = searchPage(context, body);
    return { status: 200, text: pageText(page), credits: 0, named: { people: page.contacts.map(({ id }) => id) } };
  };
}

/** A page of a search. */
export interface ContactPage {
  readonly contacts: readonly ShownContact[];
  readonly total: number;
  readonly limit: number;
  /** Where the next page begins; null: this is the last. */
  readonly next: string | null;
}

interface ShownContact {
  readonly id: string;
  readonly record: Filled;
  /** From which whoever comes after is found. */
  readonly cursor: () => string;
}

/** Searches by names and values as JSON has them. @throws ServiceError */
export function searchPage(context: SearchContext, body: unknown): ContactPage {
  return findPage(context, readBody(body));
}

function pageText({ contacts, total, limit, next }: ContactPage): string {
  return JSON.stringify({ data: contacts.map(({ record }) => record), meta: { total, total_relation: 'eq', limit, next_cursor: next } });
}

function isDivided(name: string): boolean {
  return name === 'fields' || (Object.hasOwn(FILTERS, name) && FILTERS[name]?.divided === true);
}

function readBody(body: unknown): Given {
  const findings = new Findings('body');
  if (!isObject(body)) {
    findings.add('', 'type', 'the body must be a JSON object');
    throw findings.refusal();
  }
  const values = new Map<string, readonly string[]>();
  for (const [name, value] of Object.entries(body)) {
    if (findings.full) break;
    if (value === null) continue;
    if (!Object.hasOwn(SEARCH_PARAMETERS, name)) {
      const near = nearest(name, Object.keys(SEARCH_PARAMETERS));
      findings.add(name, 'unknown_field', `unknown field ${JSON.stringify(name.slice(0, 64))}${near === null ? '' : `; did you mean ${near}?`}`);
      continue;
    }
    const list = Array.isArray(value) ? (value as readonly unknown[]) : [value];
    // An empty list asks for nothing in particular.
    if (list.length === 0 && SEARCH_PARAMETERS[name]?.most !== undefined) continue;
    if (Array.isArray(value) && SEARCH_PARAMETERS[name]?.most === undefined) findings.add(name, 'type', `${name} takes one value, and no list`);
    else if (list.every((one) => typeof one === 'string' || typeof one === 'number' || typeof one === 'boolean')) values.set(name, list.map(String));
    else findings.add(name, 'type', `${name} must be a string, a number, true, false, or an array of these`);
  }
  findings.finish();
  return { values, origin: 'body' };
}

function findPage({ search, directory }: SearchContext, given: Given): ContactPage {
  const findings = new Findings(given.origin);
  const clauses = readFilters(search, given, findings);
  const options = readOptions(given, findings);
  findings.finish();
  const { rows, total, next } = search.find({ ...options, clauses });
  const cursorOf = ({ key, id }: After): string => writeCursor(options.question, [key, id]);
  const contacts = rows.map(({ row, place }) => ({ id: place.id, record: cut(shownContact(PersonRow.of(row), directory), options.fields), cursor: () => cursorOf(place) }));
  return { contacts, total, limit: options.limit, next: next === null ? null : cursorOf(next) };
}

function readFilters(search: SearchIndex, { values }: Given, findings: Findings): Clause[] {
  const clauses: Clause[] = [];
  let count = 0;
  for (const [name, list] of values) {
    const filter = FILTERS[name];
    if (filter === undefined) continue;
    const trimmed = list.map((value) => value.trim());
    const { most = MAX_KEYS } = filter;
    if (filter.many !== true) count += trimmed.length;
    if (trimmed.includes('')) findings.add(name, 'empty', `${name} has an empty value`);
    else if (filter.single === true && trimmed.length > 1) findings.add(name, 'repeated', `${name} is given more than once`);
    else if (trimmed.length > most) findings.add(name, 'too_many', `${name} has ${trimmed.length} values; at most ${most} are allowed`);
    else if (filter.many !== true && count > MAX_VALUES) findings.add(name, 'too_many', `the filters have more than ${MAX_VALUES} values in all, keys such as domain aside`);
    else if (trimmed.some((value) => value.length > MAX_VALUE_LENGTH)) findings.add(name, 'too_long', `a value of ${name} is longer than ${MAX_VALUE_LENGTH} characters`);
    else {
      try {
        const meaning = filter.compile(trimmed, search.context, (other) => (values.get(other) ?? []).map((value) => value.trim()));
        for (const one of [meaning].flat()) if (one.person !== undefined || one.company !== undefined) clauses.push({ ...one, exclude: filter.exclude });
      } catch (error) {
        if (!(error instanceof BadValue)) throw error;
        findings.add(name, error.code, `${name} ${error.message}`);
      }
    }
  }
  return clauses;
}

interface Options extends Omit<SearchRequest, 'clauses'> {
  readonly fields: readonly string[] | null;
  readonly question: string;
}

function readOptions(given: Given, findings: Findings): Options {
  const one = (name: 'limit' | 'cursor' | 'sort'): string | null => {
    const [value, ...more] = given.values.get(name) ?? [];
    if (more.length > 0) findings.add(name, 'repeated', `${name} is given more than once`);
    return value ?? null;
  };
  const { maximum: mostRows, default: usual } = SEARCH_LIMIT.schema;
  const limit = readLimit(SEARCH_LIMIT, one('limit') ?? String(usual));
  if (limit === null) findings.add('limit', 'range', `limit must be a whole number from 1 to ${mostRows}`);
  const sorting = one('sort') ?? 'relevance';
  const name = sorting.replace(/^-/, '');
  const sort = SORTS.find((known) => known === name);
  if (sort === undefined) findings.add('sort', 'enum', `sort must be one of ${SORTS.join(', ')}, with a leading - for descending`);
  const fields = given.values.get('fields') ?? null;
  if (fields !== null && fields.length > ROW_FIELDS.length) findings.add('fields', 'too_many', `fields has ${fields.length} names; there are ${ROW_FIELDS.length}`);
  else for (const field of fields ?? []) {
    if (ROW_FIELDS.includes(field)) continue;
    if (field === '') {
      findings.add('fields', 'empty', 'fields has an empty value');
      continue;
    }
    const near = nearest(field, ROW_FIELDS);
    findings.add('fields', 'enum', `unknown name ${JSON.stringify(field.slice(0, 64))} in fields${near === null ? '' : `; did you mean ${near}?`}`);
  }
  const asked = questionOf(given.values, sorting);
  const cursor = one('cursor');
  const after = cursor === null ? null : placeOf(cursor, asked, sort === 'name' ? 'string' : 'number');
  if (cursor !== null && after === null) findings.add('cursor', 'invalid_cursor', BAD_CURSOR);
  // The most relevant come first; `-` turns each order round.
  const descending = sorting.startsWith('-') !== (sort === 'relevance');
  return { sort: sort ?? 'relevance', descending, after, limit: limit ?? usual, fields, question: asked };
}

/** What a cursor is of: a search by its filters and its order, however they are written. */
export function questionOf(values: Given['values'], sorting: string): string {
  const filters = [...values].filter(([name]) => Object.hasOwn(FILTERS, name)).map(([name, list]) => [name, [...list].sort()] as const);
  return questionId([sorting, filters.sort(([one], [other]) => (one < other ? -1 : 1))]);
}

function placeOf(cursor: string, of: string, keys: 'string' | 'number'): After | null {
  const [key, id, ...more] = readCursor(cursor, of) ?? [];
  return typeof key === keys && typeof id === 'string' && more.length === 0 ? { key: key as After['key'], id } : null;
}

/** A contact as a search shows them. */
export function shownContact(found: PersonRow, directory: Directory): Filled {
  const { person } = found;
  const record: Filled = {};
  for (const field of PERSON_ROW) record[field] = person[field] ?? null;
  record['has_email'] = typeof person['email'] === 'string';
  record['has_mobile'] = typeof person['mobile'] === 'string';
  const text = directory.companyOf(found);
  const company = text === null ? null : (JSON.parse(text) as SparseRecord);
  record['company'] = company === null ? null : Object.fromEntries(COMPANY_ROW.map((field) => [field, company[field] ?? null]));
  return record;
}

function cut(record: Filled, fields: readonly string[] | null): Filled {
  return fields === null ? record : Object.fromEntries(ROW_FIELDS.filter((field) => fields.includes(field)).map((field) => [field, record[field]]));
}
