/** Batches of rows as they pass from thread to thread: people and companies as columns, whatever else there is as it is. Pure. */
import { packedCompanies, unpackedCompanies } from '../store/packed-companies.ts';
import { packedPeople, unpackedPeople } from '../store/packed-people.ts';
import type { PackedRecords } from '../store/packed.ts';
import type { PreparedCompany } from '../store/prepared-company.ts';
import type { PreparedPerson } from '../store/prepared-person.ts';
import type { PreparedBatch, PreparedRow } from './prepared-rows.ts';

/** What a row is made of. */
const OTHER = 0;
const CONTACT = 1;
const CONTACT_AND_COMPANY = 2;
const COMPANY = 3;
const EMPLOYER = 4;

export interface PackedBatch extends Omit<PreparedBatch, 'rows'> {
  readonly kinds: Uint8Array<ArrayBuffer>;
  readonly lines: Float64Array<ArrayBuffer>;
  readonly people: PackedRecords;
  readonly companies: PackedRecords;
  /** Rows that are neither. */
  readonly others: readonly PreparedRow[];
}

/** A batch to be handed over, and what of it may be moved and need not be copied. */
export function packed({ rows, ...rest }: PreparedBatch): { message: PackedBatch; moved: ArrayBuffer[] } {
  const kinds = new Uint8Array(rows.length);
  const lines = new Float64Array(rows.length);
  const people: PreparedPerson[] = [];
  const companies: PreparedCompany[] = [];
  const others: PreparedRow[] = [];
  for (const [at, row] of rows.entries()) {
    lines[at] = row.line;
    if (row.kind === 'contact') {
      people.push(row.person);
      if (row.company !== null) companies.push(row.company);
      kinds[at] = row.company === null ? CONTACT : CONTACT_AND_COMPANY;
    } else if (row.kind === 'company' || row.kind === 'employer') {
      companies.push(row.company);
      kinds[at] = row.kind === 'company' ? COMPANY : EMPLOYER;
    } else others.push(row);
  }
  const message: PackedBatch = { ...rest, kinds, lines, people: packedPeople(people), companies: packedCompanies(companies), others };
  const moved = [kinds, lines, message.people.numbers, message.companies.numbers, rest.personTerms.numbers, rest.companyTerms.numbers, rest.texts].map(({ buffer }) => buffer);
  return { message, moved };
}

/** The batch as it was. */
export function unpacked({ kinds, lines, people: packedPeople, companies: packedCompanies, others, ...rest }: PackedBatch): PreparedBatch {
  const [people, companies, further] = [unpackedPeople(packedPeople).values(), unpackedCompanies(packedCompanies).values(), others.values()];
  const rows = Array.from(kinds, (kind, at): PreparedRow => {
    const line = lines[at] as number;
    if (kind === OTHER) return further.next().value as PreparedRow;
    if (kind === COMPANY || kind === EMPLOYER) return { line, kind: kind === COMPANY ? 'company' : 'employer', company: companies.next().value as PreparedCompany };
    const person = people.next().value as PreparedPerson;
    return { line, kind: 'contact', person, company: kind === CONTACT ? null : (companies.next().value as PreparedCompany) };
  });
  return { ...rest, rows };
}
