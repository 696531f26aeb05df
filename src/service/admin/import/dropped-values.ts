/** Messages about dropped values: those that do not fit their field, and those under unknown names. Pure. */
import type { FieldType } from '../../records/field-types.ts';
import { IMPORTED_COMPANY } from '../../records/company-fields.ts';
import { fieldOf, type Field, type Members } from '../../records/field.ts';
import { IMPORTED_PERSON } from '../../records/person-fields.ts';
import { SIGNAL } from '../../records/signal-fields.ts';
import type { ImportCounts } from './import-counts.ts';
import type { ImportKind } from './column-names.ts';
import { truncatedName } from './unknown-names.ts';

const OF_COMPANY = 'company.';
const TIME = 'a day or a time, such as 2026-01-31 (01/02/2026 may be two days, unless another date of its column tells), after 1900';
const CUT = 'e-mail addresses and numbers with their country are cut out of texts';
const LIST = `a list, in a table with semicolons between, of 1,000 at most; ${CUT}`;
const TEXT = `a text of 10,000 characters at most; ${CUT}`;
const COMPANY_PAGE = "the address of the company's page, without an e-mail address in it";
const NUMBER = 'a number with its country, such as +12125550100';
const PLACE = 'a city, a country and so on, which are texts of 10,000 characters at most';

const WANTED: Readonly<Record<FieldType, string>> = {
  string: TEXT,
  word: 'a word',
  integer: 'a whole number from 0, such as 1200 or 1,200',
  number: 'a number',
  boolean: 'true or false',
  date: TIME,
  partial_date: `${TIME}, or a month or a year`,
  time: TIME,
  email: 'an e-mail address',
  address: 'an e-mail address',
  domain: 'a domain',
  phone: NUMBER,
  telephone: 'a telephone number',
  strings: LIST,
  addresses: 'e-mail addresses, 1,000 at most',
  objects: 'a list of objects, 1,000 at most, which only JSON lines have',
  object: 'an object, which only JSON lines have',
  text_or_object: `a text, or an object with name, domain and title; ${CUT}`,
};
const WANTED_BY_FIELD: Readonly<Record<string, string>> = {
  updated_at: `${TIME}; without it the row is of --as-of, else it replaces no value that has a time`,
  email_status: 'verified, risky, unverified or bounced, beside the address that it is of',
  email_type: 'work or personal',
  revenue: 'an amount such as $12M; beside revenue_usd it must be the same',
  linkedin_url: 'the address of a profile (the page of a company is none of a person)',
  emails: 'e-mail addresses, 1,000 at most',
  phones: 'numbers with their country, such as +12125550100, 1,000 at most',
  location: PLACE,
  hq: PLACE,
};
const FIELDS: Readonly<Record<ImportKind, Members>> = {
  contacts: IMPORTED_PERSON,
  companies: IMPORTED_COMPANY,
  signals: SIGNAL,
  deliveries: {},
};
/** How many unknown names are shown. */
const MAX_SHOWN = 20;

type Dropped = Pick<ImportCounts, 'dropped' | 'firstDropped'>;

/**
 * One sentence per field, the most frequent first, and one about the unknown names.
 * @param columns columns without a meaning, which have a message of their own
 */
export function describeDropped(kind: ImportKind, { dropped, firstDropped }: Dropped, columns: readonly string[] = []): string[] {
  const counted = Object.entries(dropped)
    .toSorted(([, one], [, other]) => other - one)
    .map(([path, count]) => ({ path, count, field: fieldAt(kind, path) }));
  const isReported = new Set(columns.map(truncatedName));
  const unknown = counted.filter(({ path, field }) => field === null && !isReported.has(path));
  return [
    ...counted.flatMap(({ path, count, field }) =>
      field === null
        ? []
        : `${path}: ${count === 1 ? 'a value was' : `${count} values were`} left out (${count === 1 ? '' : 'the first in '}line ` +
          `${firstDropped.get(path)}); it takes ${wantedOf(kind, path, field)}`,
    ),
    ...(unknown.length === 0
      ? []
      : [
          `left out, for there is no such field: ${unknown
            .slice(0, MAX_SHOWN)
            .map(({ path, count }) => `${JSON.stringify(path)} (${count}, line ${firstDropped.get(path)})`)
            .join(', ')}${unknown.length > MAX_SHOWN ? ` and ${unknown.length - MAX_SHOWN} more` : ''}`,
        ]),
  ];
}

/** The field at a path such as `education.school`; null when it does not exist. */
function fieldAt(kind: ImportKind, path: string): Field | null {
  const isOfCompany = kind === 'contacts' && path.startsWith(OF_COMPANY);
  const [name = '', ...names] = (isOfCompany ? path.slice(OF_COMPANY.length) : path).split('.');
  let field = memberOf(isOfCompany ? IMPORTED_COMPANY : FIELDS[kind], name);
  for (const one of names) field = field === null || (field.each !== undefined && one === '*') ? field : memberOf(field.fields ?? {}, one);
  return field;
}

function memberOf(members: Members, name: string): Field | null {
  return Object.hasOwn(members, name) ? fieldOf(members[name] as Field) : null;
}

function wantedOf(kind: ImportKind, path: string, { type, each }: Field): string {
  const isOfCompany = kind === 'companies' || path.startsWith(OF_COMPANY);
  const name = path.startsWith(OF_COMPANY) ? path.slice(OF_COMPANY.length) : path;
  if (isOfCompany && name === 'linkedin_url') return COMPANY_PAGE;
  return WANTED_BY_FIELD[name] ?? (each === undefined ? WANTED[type] : `${WANTED[each]} for each name`);
}
