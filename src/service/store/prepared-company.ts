/** A company made ready for the store: all that does not depend on what the store has, so that it can be done elsewhere and ahead. Pure. */
import { COMPANY_TYPES, cleanRecord } from '../field-types.ts';
import { alike } from '../fold.ts';
import { formatUsd, parseUsd } from '../money.ts';
import { lackingInCompany, type SparseRecord } from '../records.ts';
import { LEFT_OUT, type TermCollector, type TermSpan } from '../search/term-table.ts';
import { companyTerms, NO_SIGNALS } from '../search/terms.ts';
import { isObject, textOrNull } from '../values.ts';
import { digest, wantedId } from './ids.ts';
import { fieldSources } from './kept-columns.ts';
import type { KeptRecord } from './merge.ts';
import type { Refusal } from './put.ts';

export const COMPANY_KEPT_COLUMNS = ['accepts_all', 'email_pattern', 'employees', 'country', 'industry', 'doc', 'lacks', 'source', 'observed_at', 'field_sources'] as const;
export type ColumnValue = string | number | null;

/** By which filters of signals go. */
export interface PlaceAndTrade {
  readonly country: string | null;
  readonly industry: string | null;
}

/** Plain values alone: it is handed from thread to thread. */
export interface PreparedCompany extends PlaceAndTrade, TermSpan {
  /** `COMPANY_KEPT_COLUMNS` of a new one, but for its source. */
  readonly columns: readonly ColumnValue[];
  readonly employees: number | null;
  readonly domain: string;
  /** As it was given. */
  readonly id: string | null;
  /** What a new one is named by, where it is free. */
  readonly newId: string;
  readonly namesAliases: boolean;
  /** JSON of the record as it is kept of a new one, `newId` in it. */
  readonly text: string;
  /** Of when it is, epoch milliseconds. */
  readonly atMs: number;
  /** Fields whose value was none. */
  readonly dropped: readonly string[];
}

/** Makes a company ready, or says why it cannot be kept. @param terms is told what one is found by that has no signals; null: that is left out */
export function prepareCompany(raw: SparseRecord, atMs: number, terms: TermCollector | null): PreparedCompany | Refusal {
  const { record, dropped } = cleanRecord(raw, COMPANY_TYPES);
  const { domain } = record;
  if (typeof domain !== 'string') return { code: dropped.includes('domain') ? 'bad_domain' : 'no_identity', detail: 'a company needs a domain, such as acme.example' };
  addRevenue(record);
  const id = textOrNull(record['id']);
  const newId = wantedId(id, () => derivedId(domain));
  record['id'] = newId;
  const { from, to } = terms?.add(companyTerms(record, NO_SIGNALS)) ?? LEFT_OUT;
  const text = JSON.stringify(record);
  const columns = companyColumns({ doc: record, base: { source: 0, atMs }, others: {} }, text);
  const { country, industry } = placeAndTrade(record);
  const employees = typeof record['employees'] === 'number' ? record['employees'] : null;
  return { columns, country, industry, employees, domain, id, newId, namesAliases: record['domain_aliases'] !== undefined, text, atMs, dropped, from, to };
}

/** The id of a company that came with none of its own. */
export function derivedId(domain: string): string {
  return `co_${digest(domain)}`;
}

/** `COMPANY_KEPT_COLUMNS` of a record. @param text it as JSON */
export function companyColumns(kept: KeptRecord, text: string): ColumnValue[] {
  const { doc, base } = kept;
  const { country, industry } = placeAndTrade(doc);
  const acceptsAll = typeof doc['accepts_all'] === 'boolean' ? Number(doc['accepts_all']) : null;
  return [acceptsAll, textOrNull(doc['email_pattern']), (doc['employees'] as number | undefined) ?? null, country, industry, text, lackingInCompany(doc), base.source, base.atMs, fieldSources(kept)];
}

/** Where a company's headquarters are (ISO 3166-1 alpha-2), and its industry, as it is compared. */
export function placeAndTrade({ hq, industry }: SparseRecord): PlaceAndTrade {
  const code = isObject(hq) ? hq['country_code'] : null;
  return { country: typeof code === 'string' ? code.toUpperCase() : null, industry: typeof industry === 'string' ? alike(industry) : null };
}

/** The specification wants a text, filters want a number: each is made of the other where it is missing. */
function addRevenue(record: Record<string, unknown>): void {
  const { revenue, revenue_usd: usd } = record;
  if (typeof usd === 'number' && revenue === undefined) record['revenue'] = formatUsd(usd);
  if (typeof revenue !== 'string' || usd !== undefined) return;
  const parsed = parseUsd(revenue);
  if (parsed === null) return;
  record['revenue'] = formatUsd(parsed);
  record['revenue_usd'] = parsed;
}
