/** What is told of values that are none of their field. Pure. */
import { COMPANY_TYPES, PERSON_TYPES, type FieldType } from '../field-types.ts';
import { SIGNAL_FIELD_TYPES } from '../store/signal-writer.ts';
import type { ImportCounts } from './counts.ts';
import type { ImportKind } from './names.ts';

const OF_COMPANY = 'company.';
const TIME = 'a day or a time of ISO 8601, such as 2026-01-31 (01/02/2026 may be two days)';
const LIST = 'a list, in a table with semicolons between, of 1,000 at most';
const PLACE = 'a city, a country and so on, which are texts of 10,000 characters at most';

const WANTED: Readonly<Record<FieldType, string>> = {
  string: 'a text of 10,000 characters at most', word: 'a word', integer: 'a whole number from 0, such as 1200 or 1,200', number: 'a number', boolean: 'true or false', date: TIME, time: TIME,
  email: 'an e-mail address', domain: 'a domain', phone: 'a number with its country, such as +12125550100', strings: LIST, objects: 'a list of objects, 1,000 at most, which only JSON lines have', object: 'an object, which only JSON lines have',
};
const WANTED_BY_FIELD: Readonly<Record<string, string>> = {
  updated_at: `${TIME}; without it the row is of --as-of, else of now`, email_status: 'verified, risky, unverified or bounced, beside the address that it is of', email_type: 'work or personal', linkedin_url: 'the address of a profile (the page of a company is none of a person)', emails: 'e-mail addresses, 1,000 at most', phones: 'numbers with their country, such as +12125550100, 1,000 at most', location: PLACE, hq: PLACE,
};
const TYPES: Readonly<Record<ImportKind, Readonly<Record<string, FieldType>>>> = { contacts: PERSON_TYPES, companies: COMPANY_TYPES, signals: SIGNAL_FIELD_TYPES, deliveries: {} };

/** A sentence a field, those with most such values first. */
export function leftOut(kind: ImportKind, { dropped, firstDropped }: Pick<ImportCounts, 'dropped' | 'firstDropped'>): string[] {
  const fields = Object.entries(dropped).toSorted(([, one], [, other]) => other - one);
  return fields.map(([field, count]) => `${field}: ${count === 1 ? 'a value was' : `${count} values were`} left out (${count === 1 ? '' : 'the first in '}line ${firstDropped.get(field)}); it takes ${wantedOf(kind, field)}`);
}

function wantedOf(kind: ImportKind, field: string): string {
  const [types, name] = field.startsWith(OF_COMPANY) ? [COMPANY_TYPES, field.slice(OF_COMPANY.length)] : [TYPES[kind], field];
  return WANTED_BY_FIELD[name] ?? WANTED[(types as Readonly<Record<string, FieldType>>)[name] ?? 'string'];
}
