/** The cells by which a person is looked up without an address. Pure. */
import type { PersonCells, PersonColumn } from './input-record.ts';

/** Names or indexes of a person's columns; undefined for columns that the job does not use. */
type PersonColumns<C> = Readonly<Partial<Record<PersonColumn, C>>>;

/** Null for a job that uses none of them. @param read the cell of a column; '' when the file lacks it */
export function personCells<C>(columns: PersonColumns<C>, read: (column: C | undefined) => string): PersonCells | null {
  const { name, first_name: first, last_name: last, company, phone, country } = columns;
  if (name === undefined && phone === undefined) return null;
  const full = read(name);
  return {
    name: full.trim() === '' ? joined(read(first), read(last)) : full,
    company: read(company),
    phone: read(phone),
    country: read(country),
  };
}

/** A first name alone is shared by too many people to be a key. */
function joined(first: string, last: string): string {
  return first.trim() === '' || last.trim() === '' ? '' : `${first} ${last}`;
}
