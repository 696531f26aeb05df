/** Encodes normalised batches for the other thread: people and companies as columns, other rows unchanged. Pure. */
import { encodeCompanies, decodeCompanies } from '../../store/rows/companies-codec.ts';
import { encodePeople, decodePeople } from '../../store/rows/people-codec.ts';
import type { EncodedRecords } from '../../store/rows/record-codec.ts';
import type { NormalisedCompany } from '../../store/rows/normalised-company.ts';
import type { NormalisedPerson } from '../../store/rows/normalised-person.ts';
import type { NormalisedBatch, NormalisedRow } from './normalise-rows.ts';

/** The parts of a row. */
const OTHER = 0;
const CONTACT = 1;
const CONTACT_AND_COMPANY = 2;
const COMPANY = 3;
const EMPLOYER = 4;

export interface EncodedBatch extends Omit<NormalisedBatch, 'rows'> {
  readonly kinds: Uint8Array<ArrayBuffer>;
  readonly lines: Float64Array<ArrayBuffer>;
  readonly people: EncodedRecords;
  readonly companies: EncodedRecords;
  /** Rows of other kinds. */
  readonly others: readonly NormalisedRow[];
}

/** A batch for the other thread, with the buffers that are transferred without a copy. */
export function encodeBatch({ rows, ...rest }: NormalisedBatch): { message: EncodedBatch; moved: ArrayBuffer[] } {
  const kinds = new Uint8Array(rows.length);
  const lines = new Float64Array(rows.length);
  const people: NormalisedPerson[] = [];
  const companies: NormalisedCompany[] = [];
  const others: NormalisedRow[] = [];
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
  const message: EncodedBatch = { ...rest, kinds, lines, people: encodePeople(people), companies: encodeCompanies(companies), others };
  const moved = [
    kinds,
    lines,
    message.people.numbers,
    message.companies.numbers,
    rest.personTerms.numbers,
    rest.companyTerms.numbers,
    rest.texts,
  ].map(({ buffer }) => buffer);
  return { message, moved };
}

/** Decodes a batch from the other thread. */
export function decodeBatch({
  kinds,
  lines,
  people: encodePeople,
  companies: encodeCompanies,
  others,
  ...rest
}: EncodedBatch): NormalisedBatch {
  const [people, companies, further] = [decodePeople(encodePeople).values(), decodeCompanies(encodeCompanies).values(), others.values()];
  const rows = Array.from(kinds, (kind, at): NormalisedRow => {
    const line = lines[at] as number;
    if (kind === OTHER) return further.next().value as NormalisedRow;
    if (kind === COMPANY || kind === EMPLOYER)
      return { line, kind: kind === COMPANY ? 'company' : 'employer', company: companies.next().value as NormalisedCompany };
    const person = people.next().value as NormalisedPerson;
    return { line, kind: 'contact', person, company: kind === CONTACT ? null : (companies.next().value as NormalisedCompany) };
  });
  return { ...rest, rows };
}
