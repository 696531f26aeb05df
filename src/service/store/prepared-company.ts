/** A company made ready for the store: all that does not depend on what the store has, so that it can be done elsewhere and ahead. Pure. */
import { cleanOwn } from '../clean-record.ts';
import { alike } from '../fold.ts';
import { formatUsd, parseUsd } from '../money.ts';
import { lackingInCompany, type SparseRecord } from '../records.ts';
import { IMPORTED_COMPANY } from '../records/company.ts';
import { LEFT_OUT, type TermSpan } from '../search/term-table.ts';
import { companyTerms, NO_SIGNALS } from '../search/terms.ts';
import { isObject, textOrNull } from '../values.ts';
import { digest, wantedId } from './ids.ts';
import { fieldSources } from './kept-columns.ts';
import type { Texts, TextSpan } from './kept-texts.ts';
import type { KeptRecord } from './merge.ts';
import type { Collectors, ColumnValue } from './prepared.ts';
import { MAX_DOC, type Refusal } from './put.ts';

export const COMPANY_KEPT_COLUMNS = ['accepts_all', 'email_pattern', 'employees', 'country', 'industry', 'doc', 'lacks', 'source', 'observed_at', 'field_sources'] as const;
/** By which filters of signals go. */
export interface PlaceAndTrade {
  readonly country: string | null;
  readonly industry: string | null;
}

/** What is kept of a record in columns of their own. */
interface CompanyFacets extends PlaceAndTrade {
  /** 0 or 1. */
  readonly acceptsAll: number | null;
  readonly emailPattern: string | null;
  readonly employees: number | null;
  readonly lacks: number;
}

/** Plain values alone, and each once: it is handed from thread to thread. Its text is the record as it is kept of a new one, `newId` in it. */
export interface PreparedCompany extends CompanyFacets, TermSpan, TextSpan {
  readonly domain: string;
  /** As it was given. */
  readonly id: string | null;
  /** What a new one is named by, where it is free. */
  readonly newId: string;
  readonly namesAliases: boolean;
  /** The text is longer than a record may be. */
  readonly isTooLarge: boolean;
  /** Of when it is, epoch milliseconds. */
  readonly atMs: number;
  /** Fields whose value was none. */
  readonly dropped: readonly string[];
}

/** Makes a company ready, or says why it cannot be kept. `terms` is told what one is found by that has no signals. @param record it is changed, and of no use to others then */
export function prepareCompany(record: Record<string, unknown>, atMs: number, { terms, texts }: Collectors): PreparedCompany | Refusal {
  const dropped = cleanOwn(record, IMPORTED_COMPANY);
  const { domain } = record;
  if (typeof domain !== 'string') return { code: dropped.includes('domain') ? 'bad_domain' : 'no_identity', detail: 'a company needs a domain, such as acme.example' };
  addRevenue(record);
  const id = textOrNull(record['id']);
  const newId = wantedId(id, () => derivedId(domain));
  record['id'] = newId;
  const { from, to } = terms?.add(companyTerms(record, NO_SIGNALS)) ?? LEFT_OUT;
  const text = JSON.stringify(record);
  const { textFrom, textTo } = texts.add(text);
  const { country, industry, acceptsAll, emailPattern, employees, lacks } = facetsOf(record);
  return {
    country, industry, acceptsAll, emailPattern, employees, lacks, domain, id, newId, namesAliases: record['domain_aliases'] !== undefined, isTooLarge: text.length > MAX_DOC, atMs, dropped,
    from, to, textFrom, textTo,
  };
}

/** The id of a company that came with none of its own. */
export function derivedId(domain: string): string {
  return `co_${digest(domain)}`;
}

function facetsOf(doc: SparseRecord): CompanyFacets {
  const { country, industry } = placeAndTrade(doc);
  const acceptsAll = typeof doc['accepts_all'] === 'boolean' ? Number(doc['accepts_all']) : null;
  const employees = typeof doc['employees'] === 'number' ? doc['employees'] : null;
  return { country, industry, acceptsAll, emailPattern: textOrNull(doc['email_pattern']), employees, lacks: lackingInCompany(doc) };
}

/** `COMPANY_KEPT_COLUMNS` of a record. @param text it as JSON */
export function companyColumns(kept: KeptRecord, text: string): ColumnValue[] {
  const { acceptsAll, emailPattern, employees, country, industry, lacks } = facetsOf(kept.doc);
  return [acceptsAll, emailPattern, employees, country, industry, text, lacks, kept.base.source, kept.base.atMs, fieldSources(kept)];
}

/** The same of a new one as it was made ready. @param text it as JSON, in which it may have another id */
export function newCompanyColumns(company: PreparedCompany, source: number, text: string | Texts): (ColumnValue | Texts)[] {
  const { acceptsAll, emailPattern, employees, country, industry, lacks, atMs } = company;
  return [acceptsAll, emailPattern, employees, country, industry, text, lacks, source, atMs, null];
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
