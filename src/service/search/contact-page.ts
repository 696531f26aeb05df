/** Use case: a contact search. Filters in, a page of contacts out. Addresses and numbers are left to reveal. */
import { nearest } from '../../util/nearest.ts';
import { counted, type Steps } from '../../util/steps.ts';
import { COMPANY_ROW, PERSON_ROW, ROW_FIELDS } from '../records/schemas/contact-schema.ts';
import { readLimit } from '../http/paging.ts';
import { MAX_KEYS, MAX_VALUES, SEARCH_LIMIT, SEARCH_PARAMETERS } from './search-operations.ts';
import type { CompleteRecord, SparseRecord } from '../records/whole-record.ts';
import { BadValue, MAX_VALUE_LENGTH } from '../records/filter-value.ts';
import { FILTERS } from './filters.ts';
import type { FilterGroup } from './predicate.ts';
import type { QueryEngine, SearchRequest } from './query-engine.ts';
import type { CursorPosition } from './sort-orders.ts';
import { SORTS } from '../store/index/sort-keys.ts';
import type { Directory } from '../store/directory.ts';
import type { Turns } from '../guards/turns.ts';
import { PersonRow } from '../store/rows/person-row.ts';
import { isObject } from '../../util/is-object.ts';
import { BAD_CURSOR, questionId, readCursor, writeCursor } from '../http/cursor.ts';
import { RequestFindings, type ParameterOrigin } from '../http/findings.ts';

/** Writing a contact with its employer takes this many units of work. */
const CONTACT_UNITS = 6;

export interface SearchDependencies {
  readonly search: QueryEngine;
  readonly directory: Directory;
  readonly turns: Turns;
}

/** The values of a request by parameter, and whether they came in the query or the body. */
interface SearchParameters {
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly origin: ParameterOrigin;
}

export interface ContactPage {
  readonly contacts: readonly ShownContact[];
  readonly total: number;
  readonly limit: number;
  /** Cursor of the next page; null on the last page. */
  readonly next: string | null;
  /** The work that it took; see `search-price.ts`. */
  readonly units: number;
}

interface ShownContact {
  readonly id: string;
  readonly record: CompleteRecord;
  /** A cursor behind this contact. */
  readonly cursor: () => string;
}

/** Searches by a JSON body. @throws ServiceError */
export function searchPage(dependencies: SearchDependencies, body: unknown): Steps<ContactPage> {
  return findContacts(dependencies, readBody(body));
}

function readBody(body: unknown): SearchParameters {
  const findings = new RequestFindings('body');
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
      findings.add(
        name,
        'unknown_field',
        `unknown field ${JSON.stringify(name.slice(0, 64))}${near === null ? '' : `; did you mean ${near}?`}`,
      );
      continue;
    }
    const list = Array.isArray(value) ? (value as readonly unknown[]) : [value];
    // An empty list counts as absent.
    if (list.length === 0 && SEARCH_PARAMETERS[name]?.most !== undefined) continue;
    if (Array.isArray(value) && SEARCH_PARAMETERS[name]?.most === undefined)
      findings.add(name, 'type', `${name} takes one value, and no list`);
    else if (list.every((one) => typeof one === 'string' || typeof one === 'number' || typeof one === 'boolean'))
      values.set(name, list.map(String));
    else findings.add(name, 'type', `${name} must be a string, a number, true, false, or an array of these`);
  }
  findings.finish();
  return { values, origin: 'body' };
}

/** One page of contacts. @throws ServiceError at once, naming each parameter that is wrong */
export function findContacts(dependencies: SearchDependencies, given: SearchParameters): Steps<ContactPage> {
  const findings = new RequestFindings(given.origin);
  const predicates = parsePredicates(dependencies.search, given, findings);
  const options = readOptions(given, findings);
  findings.finish();
  return pageOf(dependencies, predicates, options);
}

function* pageOf({ search, directory }: SearchDependencies, predicates: readonly FilterGroup[], options: Options): Steps<ContactPage> {
  const { result, units } = yield* counted(search.find({ ...options, predicates }));
  const { rows, total, next } = result;
  const cursorOf = ({ key, id }: CursorPosition): string => writeCursor(options.question, [key, id]);
  const contacts: ShownContact[] = [];
  for (const { row, position } of rows) {
    const record = cut(shownContact(PersonRow.of(row), directory), options.fields);
    contacts.push({ id: position.id, record, cursor: () => cursorOf(position) });
    yield CONTACT_UNITS;
  }
  return {
    contacts,
    total,
    limit: options.limit,
    next: next === null ? null : cursorOf(next),
    units: units + CONTACT_UNITS * rows.length,
  };
}

function parsePredicates(search: QueryEngine, { values }: SearchParameters, findings: RequestFindings): FilterGroup[] {
  const predicates: FilterGroup[] = [];
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
    else if (filter.many !== true && count > MAX_VALUES)
      findings.add(name, 'too_many', `the filters have more than ${MAX_VALUES} values in all, keys such as domain aside`);
    else if (trimmed.some((value) => value.length > MAX_VALUE_LENGTH))
      findings.add(name, 'too_long', `a value of ${name} is longer than ${MAX_VALUE_LENGTH} characters`);
    else {
      try {
        const parsed = filter.parse(trimmed, search.context, (other) => (values.get(other) ?? []).map((value) => value.trim()));
        for (const one of [parsed].flat())
          if (one.person !== undefined || one.company !== undefined) predicates.push({ ...one, exclude: filter.exclude });
      } catch (error) {
        if (!(error instanceof BadValue)) throw error;
        findings.add(name, error.code, `${name} ${error.message}`);
      }
    }
  }
  return predicates;
}

interface Options extends Omit<SearchRequest, 'predicates'> {
  readonly fields: readonly string[] | null;
  readonly question: string;
}

function readOptions(given: SearchParameters, findings: RequestFindings): Options {
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
  if (fields !== null && fields.length > ROW_FIELDS.length)
    findings.add('fields', 'too_many', `fields has ${fields.length} names; there are ${ROW_FIELDS.length}`);
  else
    for (const field of fields ?? []) {
      if (ROW_FIELDS.includes(field)) continue;
      if (field === '') {
        findings.add('fields', 'empty', 'fields has an empty value');
        continue;
      }
      const near = nearest(field, ROW_FIELDS);
      findings.add(
        'fields',
        'enum',
        `unknown name ${JSON.stringify(field.slice(0, 64))} in fields${near === null ? '' : `; did you mean ${near}?`}`,
      );
    }
  const asked = questionOf(given.values, sorting);
  const cursor = one('cursor');
  const after = cursor === null ? null : positionOf(cursor, asked, sort === 'name' ? 'string' : 'number');
  if (cursor !== null && after === null) findings.add('cursor', 'invalid_cursor', BAD_CURSOR);
  // `relevance` is descending by default; `-` reverses each order.
  const descending = sorting.startsWith('-') !== (sort === 'relevance');
  return { sort: sort ?? 'relevance', descending, after, limit: limit ?? usual, fields, question: asked };
}

/** Identifies a search by its filters and order, so that a cursor of another search is refused. */
export function questionOf(values: SearchParameters['values'], sorting: string): string {
  const filters = [...values].filter(([name]) => Object.hasOwn(FILTERS, name)).map(([name, list]) => [name, [...list].sort()] as const);
  return questionId([sorting, filters.sort(([one], [other]) => (one < other ? -1 : 1))]);
}

function positionOf(cursor: string, of: string, keys: 'string' | 'number'): CursorPosition | null {
  const [key, id, ...more] = readCursor(cursor, of) ?? [];
  return typeof key === keys && typeof id === 'string' && more.length === 0 ? { key: key as CursorPosition['key'], id } : null;
}

/** A contact as a search answers it. */
export function shownContact(found: PersonRow, directory: Directory): CompleteRecord {
  const { person } = found;
  const record: CompleteRecord = {};
  for (const field of PERSON_ROW) record[field] = person[field] ?? null;
  record['has_email'] = typeof person['email'] === 'string';
  record['has_mobile'] = typeof person['mobile'] === 'string';
  const text = directory.companyOf(found);
  const company = text === null ? null : (JSON.parse(text) as SparseRecord);
  record['company'] = company === null ? null : Object.fromEntries(COMPANY_ROW.map((field) => [field, company[field] ?? null]));
  return record;
}

function cut(record: CompleteRecord, fields: readonly string[] | null): CompleteRecord {
  return fields === null
    ? record
    : Object.fromEntries(ROW_FIELDS.filter((field) => fields.includes(field)).map((field) => [field, record[field]]));
}
