/** Normalises a company for the store: does everything that does not depend on stored data, so that another thread can do it. Pure. */
import { cleanInPlace } from '../../records/clean-record.ts';
import { alike } from '../../records/normalise.ts';
import { formatUsd, parseUsd, withCurrency } from '../../records/money.ts';
import { usdRange } from '../../records/parse-range.ts';
import { absentCompanyFields, type SparseRecord } from '../../records/whole-record.ts';
import { IMPORTED_COMPANY } from '../../records/company-fields.ts';
import { SKIPPED, type TermSpan } from '../index/term-table.ts';
import { companyTerms, NO_SIGNALS } from '../index/terms.ts';
import { isObject } from '../../../util/is-object.ts';
import { textOrNull } from '../../http/values.ts';
import { digest, preferredId } from '../identity/ids.ts';
import { fieldSources } from './record-columns.ts';
import type { Texts, TextSpan } from './text-blobs.ts';
import type { MergedRecord, Provenance } from '../merge/merge.ts';
import type { Collectors, ColumnValue } from './normalised.ts';
import { MAX_RECORD_CHARS, type Refusal } from './upsert-result.ts';

export const STORED_COMPANY_COLUMNS = [
  'accepts_all',
  'email_pattern',
  'employees',
  'country',
  'industry',
  'doc',
  'absent_fields',
  'source',
  'observed_at',
  'field_sources',
] as const;
/** Values that filters of signals need. */
export interface CountryAndIndustry {
  readonly country: string | null;
  readonly industry: string | null;
}

/** Values with columns of their own. */
interface CompanyFacets extends CountryAndIndustry {
  /** 0 or 1. */
  readonly acceptsAll: number | null;
  readonly emailPattern: string | null;
  readonly employees: number | null;
  readonly absentFields: number;
}

/** Plain values, each once, because it is passed between threads. The text is the record of a new company, with `newId`. */
export interface NormalisedCompany extends CompanyFacets, TermSpan, TextSpan {
  readonly domain: string;
  /** As reported. */
  readonly id: string | null;
  /** The preferred id of a new company. */
  readonly newId: string;
  readonly namesAliases: boolean;
  /** The text is longer than a record may be. */
  readonly isTooLarge: boolean;
  /** Time of the report, epoch milliseconds. */
  readonly atMs: number;
  /** Reports of a file with one number are the same, apart from their time; 0: the report is not compared with others. */
  readonly report: number;
  /** Fields with a bad value. */
  readonly dropped: readonly string[];
}

/** A clean company that is not in a batch yet. */
export interface CleanCompany extends Omit<NormalisedCompany, keyof TermSpan | keyof TextSpan | 'atMs' | 'report'> {
  readonly text: string;
  /** Terms of the dictionary; null when they are left out. */
  readonly terms: readonly number[] | null;
}

/**
 * Normalises a company, or returns why it is rejected. `terms` collects the search terms of a company without signals.
 * @param record is changed; do not use it afterwards
 */
export function normaliseCompany(record: Record<string, unknown>, atMs: number, collectors: Collectors): NormalisedCompany | Refusal {
  const company = cleanCompany(record, collectors.terms !== null);
  return 'code' in company ? company : collectCompany(company, atMs, collectors);
}

/** The first part of `normaliseCompany`, which no batch needs. */
export function cleanCompany(record: Record<string, unknown>, withTerms: boolean): CleanCompany | Refusal {
  const dropped = cleanInPlace(record, IMPORTED_COMPANY);
  const { domain } = record;
  if (typeof domain !== 'string')
    return { code: dropped.includes('domain') ? 'bad_domain' : 'no_identity', detail: 'a company needs a domain, such as acme.example' };
  addRevenue(record, dropped);
  const id = textOrNull(record['id']);
  const newId = preferredId(id, () => derivedId(domain));
  record['id'] = newId;
  const text = JSON.stringify(record);
  return {
    ...facetsOf(record),
    domain,
    id,
    newId,
    namesAliases: record['domain_aliases'] !== undefined,
    isTooLarge: text.length > MAX_RECORD_CHARS,
    dropped,
    text,
    terms: withTerms ? companyTerms(record, NO_SIGNALS) : null,
  };
}

/** Puts a clean company into a batch. @param report its number, as in `NormalisedCompany` */
export function collectCompany(
  company: CleanCompany,
  atMs: number,
  { terms: collector, texts }: Collectors,
  report = 0,
): NormalisedCompany {
  const { country, industry, acceptsAll, emailPattern, employees, absentFields, domain, id, newId, namesAliases, isTooLarge } = company;
  const { from, to } = company.terms === null ? SKIPPED : (collector?.add(company.terms) ?? SKIPPED);
  const { textFrom, textTo } = texts.add(company.text);
  const { dropped } = company;
  return {
    country,
    industry,
    acceptsAll,
    emailPattern,
    employees,
    absentFields,
    domain,
    id,
    newId,
    namesAliases,
    isTooLarge,
    atMs,
    report,
    dropped,
    from,
    to,
    textFrom,
    textTo,
  };
}

/** The id of a company that was reported without one. */
export function derivedId(domain: string): string {
  return `co_${digest(domain)}`;
}

function facetsOf(doc: SparseRecord): CompanyFacets {
  const { country, industry } = countryAndIndustry(doc);
  const acceptsAll = typeof doc['accepts_all'] === 'boolean' ? Number(doc['accepts_all']) : null;
  const employees = typeof doc['employees'] === 'number' ? doc['employees'] : null;
  return {
    country,
    industry,
    acceptsAll,
    emailPattern: textOrNull(doc['email_pattern']),
    employees,
    absentFields: absentCompanyFields(doc),
  };
}

/** Values of `STORED_COMPANY_COLUMNS`. @param text the record as JSON */
export function companyColumns(stored: MergedRecord, text: string): ColumnValue[] {
  return columnsOf(facetsOf(stored.doc), text, stored.base, fieldSources(stored));
}

/** Values of `STORED_COMPANY_COLUMNS` for a new company. @param text the record as JSON, possibly with another id */
export function newCompanyColumns(company: NormalisedCompany, source: number, text: string | Texts): (ColumnValue | Texts)[] {
  return columnsOf(company, text, { source, atMs: company.atMs }, null);
}

function columnsOf<Text>(of: CompanyFacets, text: Text, { source, atMs }: Provenance, sources: string | null): (ColumnValue | Text)[] {
  return [of.acceptsAll, of.emailPattern, of.employees, of.country, of.industry, text, of.absentFields, source, atMs, sources];
}

/** The country of the headquarters (ISO 3166-1 alpha-2), and the industry as filters compare it. */
export function countryAndIndustry({ hq, industry }: SparseRecord): CountryAndIndustry {
  const code = isObject(hq) ? hq['country_code'] : null;
  return { country: typeof code === 'string' ? code.toUpperCase() : null, industry: typeof industry === 'string' ? alike(industry) : null };
}

/**
 * The specification has revenue as text, filters need a number: each is derived from the other if it is missing. A text that is another
 * amount, or an amount in another currency, gives way to the dollars: a record never has two revenues.
 * @param dropped gets the field of a text that gave way
 */
function addRevenue(record: Record<string, unknown>, dropped: string[]): void {
  const { revenue, revenue_usd: usd } = record;
  if (typeof usd === 'number') {
    if (revenue === formatUsd(usd)) return;
    const span = usdRange(typeof revenue === 'string' ? withCurrency(revenue, 'USD') : revenue);
    const isSame = span !== null && span.least <= usd && usd <= span.most;
    if (isSame && typeof revenue === 'string' && parseUsd(revenue) !== null) return;
    record['revenue'] = formatUsd(usd);
    if (!isSame && revenue !== undefined) dropped.push('revenue');
    return;
  }
  const parsed = typeof revenue === 'string' ? parseUsd(revenue) : null;
  if (parsed === null) return;
  record['revenue'] = formatUsd(parsed);
  record['revenue_usd'] = parsed;
}
