/** Stage 3 of an import row, normalising: clean records with their keys and search terms, in batches that are cheap to clone. Pure. */
import { IMPORTED_COMPANY } from '../../records/company-fields.ts';
import { datePlan, DateOrders, readDates } from '../../records/date-orders.ts';
import { timeOf } from '../../records/field-types.ts';
import { IMPORTED_PERSON } from '../../records/person-fields.ts';
import { SIGNAL } from '../../records/signal-fields.ts';
import type { SparseRecord } from '../../records/whole-record.ts';
import { TermCollector, type TermTable } from '../../store/index/term-table.ts';
import type { MailEvent } from '../../store/rows/delivery-writer.ts';
import { TextCollector, type Texts } from '../../store/rows/text-blobs.ts';
import { observedAt, undatedAt } from '../../store/merge/observed-at.ts';
import { normaliseCompany, type NormalisedCompany } from '../../store/rows/normalised-company.ts';
import { normalisePerson, type NormalisedPerson } from '../../store/rows/normalised-person.ts';
import type { Refusal } from '../../store/rows/upsert-result.ts';
import { companyOf, contactOf, type ReportedCompany } from './contact.ts';
import { mailEventOf } from './mail-event.ts';
import type { ImportKind } from './column-names.ts';
import type { RowMapper, MappedRow } from './map-row.ts';
import { RepeatedCompanies } from './repeated-companies.ts';
import { UnknownNames, type OnUnknown, type UnknownName } from './unknown-names.ts';

/** Stage 1 of an import row, parsed: the cells of a table row, or a JSON object. */
export interface ParsedRow {
  /** From 1. */
  readonly line: number;
  readonly cells: readonly string[] | null;
  /** The normaliser owns it and may change it. */
  readonly object: Record<string, unknown> | null;
  /** Why the row could not be parsed; null when it could. */
  readonly bad: string | null;
  /** The row has text beyond the header's last column, which is not in `cells`. */
  readonly surplus: boolean;
  /** Approximate number of characters. */
  readonly size: number;
}

export type NormalisedRow = { readonly line: number } & (
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** The row has nothing to store. */
  | { readonly kind: 'skipped' }
  | { readonly kind: 'contact'; readonly person: NormalisedPerson; readonly company: NormalisedCompany | null }
  /** The row is an enriched row without a match: it has only a company. */
  | { readonly kind: 'employer'; readonly company: NormalisedCompany }
  | { readonly kind: 'company'; readonly company: NormalisedCompany }
  | { readonly kind: 'signal'; readonly signal: SparseRecord }
  | { readonly kind: 'delivery'; readonly event: MailEvent }
);

/** Rows in the order of the file. */
export interface NormalisedBatch {
  readonly rows: readonly NormalisedRow[];
  /** Line numbers of rows that had text beyond the header's last column. */
  readonly surplus: readonly number[];
  /** Names that are not a field, with the number of values under each. */
  readonly unknown: readonly UnknownName[];
  /** The search terms of the people and of the companies in these rows. */
  readonly personTerms: TermTable;
  readonly companyTerms: TermTable;
  /** The stored texts of these people and companies. */
  readonly texts: Texts;
  /** Approximate number of characters. */
  readonly size: number;
}

export interface NormaliseOptions {
  readonly kind: ImportKind;
  /** The header of a table; empty for JSON lines. */
  readonly header: readonly string[];
  readonly mapper: RowMapper;
  /** The time of rows without a time, epoch milliseconds; null when not given. Then records have none, and deliveries are refused. */
  readonly asOfMs: number | null;
  readonly nowMs: number;
  /** The order of day and month in the columns of the file. Undefined when no order is known. */
  readonly orders?: DateOrders;
  /** Whether to make search terms, which only new records need. */
  readonly expectsNew: () => boolean;
}

/** Normalises rows one by one, and gives them in batches. */
interface RowNormaliser {
  /** The number of rows since the last `take`, and their approximate number of characters. */
  readonly count: number;
  readonly size: number;
  /**
   * False, and nothing is added: a date of the row is two days, and `orders` is asked. Read the orders of the file, parse the row anew,
   * since it was changed, and add it then.
   */
  add(row: ParsedRow): boolean;
  /** Returns the rows since the last `take`. */
  take(): NormalisedBatch;
}

/** Normalises the rows of one file, each as soon as it is parsed, so that its temporary objects die young in the garbage collector. */
export function rowNormaliser(options: NormaliseOptions): RowNormaliser {
  const [people, companies, texts] = [new TermCollector(), new TermCollector(), new TextCollector()];
  const [unknown, employers] = [new UnknownNames(), new RepeatedCompanies()];
  const normalise = normaliser(options, people, companies, texts, unknown, employers);
  let rows: NormalisedRow[] = [];
  let surplus: number[] = [];
  let size = 0;
  let withTerms = true;
  return {
    get count() {
      return rows.length;
    },
    get size() {
      return size;
    },
    add(row) {
      if (rows.length === 0) withTerms = options.expectsNew();
      const normalised = normalise(row, withTerms);
      if (normalised === null) return false;
      size += row.size;
      if (row.surplus) surplus.push(row.line);
      rows.push(normalised);
      return true;
    },
    take() {
      const batch: NormalisedBatch = {
        rows,
        surplus,
        unknown: unknown.take(),
        personTerms: people.take(),
        companyTerms: companies.take(),
        texts: texts.take(),
        size,
      };
      employers.nextBatch();
      [rows, surplus, size] = [[], [], 0];
      return batch;
    },
  };
}

const DATES = {
  person: datePlan(IMPORTED_PERSON),
  employer: datePlan(IMPORTED_COMPANY, 'company.'),
  companies: datePlan(IMPORTED_COMPANY),
  signals: datePlan(SIGNAL),
  deliveries: datePlan({ at: 'time' }),
};

/** Normalises one row; null as in `add`. With `withTerms`, search terms are made too. */
function normaliser(
  { kind, header, mapper, asOfMs, nowMs, orders = new DateOrders(true) }: NormaliseOptions,
  people: TermCollector,
  companies: TermCollector,
  texts: TextCollector,
  unknown: UnknownNames,
  employers: RepeatedCompanies,
): (row: ParsedRow, withTerms: boolean) => NormalisedRow | null {
  const momentOf = (record: SparseRecord): number => Math.min(observedAt(record) ?? asOfMs ?? undatedAt(nowMs), nowMs);
  const companyIn = (record: Record<string, unknown>, atMs: number, withTerms: boolean): NormalisedCompany | Refusal =>
    normaliseCompany(record, atMs, { terms: withTerms ? companies : null, texts });
  const contact = (line: number, row: MappedRow, withTerms: boolean): NormalisedRow | null => {
    const found = contactOf(row);
    if (found === null) return { line, kind: 'skipped' };
    readDates(found.person, DATES.person, orders);
    const reported = found.company;
    const collectors = { terms: withTerms ? companies : null, texts };
    const known = reported === null ? null : employers.find(reported, withTerms);
    const record = reported === null || known !== null ? null : companyOf(reported.values, reported.domain);
    if (record !== null) readDates(record, DATES.employer, orders);
    if (orders.state === 'asked') return null;
    const verdictAt = timeOf(found.verdictAt);
    const verdictMs = verdictAt === undefined ? null : Math.min(Date.parse(verdictAt), nowMs);
    const atMs = momentOf(found.person);
    const ownMs = record !== null && Object.hasOwn(record, 'updated_at') ? momentOf(record) : null;
    const person = found.isFound
      ? normalisePerson(
          found.person,
          { atMs, verdictMs, isEmployerDerived: found.isEmployerDerived },
          { terms: withTerms ? people : null, texts },
        )
      : null;
    const isPerson = person !== null && !('code' in person);
    const employerIn = (): NormalisedCompany | Refusal | null => {
      if (known !== null) return employers.again(known, atMs, collectors);
      return reported === null || record === null ? null : employers.normalise(record, { reported, ownMs, atMs }, collectors);
    };
    const result = isPerson || row.isOutput ? employerIn() : null;
    const company = result === null || 'code' in result ? null : result;
    if (isPerson) return { line, kind: 'contact', person, company };
    // The company was paid for, so it is stored without a person.
    if (company !== null) return { line, kind: 'employer', company };
    return person === null ? { line, kind: 'skipped' } : { line, kind: 'refused', refusal: person };
  };
  const normalised = (line: number, mapped: MappedRow, withTerms: boolean): NormalisedRow | null => {
    switch (kind) {
      case 'contacts':
        return contact(line, mapped, withTerms);
      case 'companies': {
        const record = mapped.isOutput ? reportedCompany(contactOf(mapped)?.company ?? null) : (companyOf(mapped.values) ?? mapped.values);
        if (record === null) return { line, kind: 'skipped' };
        readDates(record, DATES.companies, orders);
        if (orders.state === 'asked') return null;
        const company = companyIn(record, momentOf(record), withTerms);
        return 'code' in company ? { line, kind: 'refused', refusal: company } : { line, kind: 'company', company };
      }
      case 'signals':
        readDates(mapped.values, DATES.signals, orders);
        return orders.state === 'asked' ? null : { line, kind: 'signal', signal: mapped.values };
      case 'deliveries': {
        readDates(mapped.values, DATES.deliveries, orders);
        if (orders.state === 'asked') return null;
        const event = mailEventOf(mapped, asOfMs);
        if (event === null) return { line, kind: 'skipped' };
        return 'code' in event
          ? { line, kind: 'refused', refusal: event }
          : { line, kind: 'delivery', event: { ...event, atMs: Math.min(event.atMs, nowMs) } };
      }
      default:
        return kind satisfies never;
    }
  };
  /** Names without a field in the current row. */
  const names: string[] = [];
  // Other columns of a mail service's log are not fields of a record.
  const onUnknown = kind === 'deliveries' ? undefined : (name: string): number => names.push(name);
  return (row, withTerms) => {
    const { line, bad } = row;
    if (bad !== null) return { line, kind: 'refused', refusal: { code: 'bad_row', detail: bad } };
    names.length = 0;
    const found = normalised(line, mapRow(row, header, mapper, onUnknown), withTerms);
    if (found !== null) for (const name of names) unknown.add(name, line);
    return found;
  };
}

function reportedCompany(reported: ReportedCompany | null): Record<string, unknown> | null {
  return reported === null ? null : companyOf(reported.values, reported.domain);
}

/**
 * Reads the orders of day and month in a file.
 * @param rows all rows of the file
 */
export async function readOrders(orders: DateOrders, options: NormaliseOptions, rows: AsyncIterable<readonly ParsedRow[]>): Promise<void> {
  orders.state = 'reading';
  const reader = rowNormaliser({ ...options, orders, expectsNew: () => false });
  for await (const some of rows) {
    for (const row of some) reader.add(row);
    reader.take();
  }
  orders.state = 'known';
}

function mapRow(row: ParsedRow, header: readonly string[], mapper: RowMapper, onUnknown: OnUnknown | undefined): MappedRow {
  if (row.cells !== null) return mapper.mapCells(row.cells, header, onUnknown);
  return mapper.mapObject(row.object ?? {}, onUnknown);
}
