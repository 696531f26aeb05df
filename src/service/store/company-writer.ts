/** Companies into the store: recognised by their domain, merged with what is known of them. */
import { hash } from 'node:crypto';
import type { StatementSync } from 'node:sqlite';
import { COMPANY_TYPES, cleanRecord } from '../field-types.ts';
import { alike } from '../fold.ts';
import type { IndexWriter } from '../search/index-writer.ts';
import { formatUsd, parseUsd } from '../money.ts';
import { lackingInCompany, type SparseRecord } from '../records.ts';
import { isObject, textOrNull } from '../values.ts';
import { aliasWriter, type AliasWriter } from './domain-aliases.ts';
import { fieldSources, readKept } from './kept-columns.ts';
import { merge, type KeptRecord, type Merged, type Provenance } from './merge.ts';
import type { Store } from './store.ts';

/** What became of a record; `dropped` names fields whose value was none. */
export type Put = { readonly kind: 'put'; readonly change: Merged['change']; readonly dropped: readonly string[] } | { readonly kind: 'rejected'; readonly code: string; readonly detail: string };

export type PutCompany = (raw: SparseRecord, from: Provenance) => Put;

/** Larger records are somebody's mistake. Characters of JSON. */
export const MAX_DOC = 256 * 1024;

export const COMPANY_KEPT_COLUMNS = ['accepts_all', 'email_pattern', 'employees', 'country', 'industry', 'doc', 'lacks', 'source', 'observed_at', 'field_sources'] as const;

/** Replaces what is kept of the company at a domain, which comes last. */
export function companyUpdate(store: Store): StatementSync {
  return store.prepare(`UPDATE companies SET ${COMPANY_KEPT_COLUMNS.map((name) => `${name} = ?`).join(', ')} WHERE domain = ?`);
}

/** `COMPANY_KEPT_COLUMNS` of a record. @param text it as JSON */
export function companyColumns(kept: KeptRecord, text: string): (string | number | null)[] {
  const { doc, base } = kept;
  const { country, industry } = placeAndTrade(doc);
  const acceptsAll = typeof doc['accepts_all'] === 'boolean' ? Number(doc['accepts_all']) : null;
  return [acceptsAll, textOrNull(doc['email_pattern']), (doc['employees'] as number | undefined) ?? null, country, industry, text, lackingInCompany(doc), base.source, base.atMs, fieldSources(kept)];
}

/** Puts one company; within a transaction, at whose end `index` is flushed. @param putAliases told of the other domains of each */
export function companyWriter(store: Store, index: IndexWriter, putAliases: AliasWriter = aliasWriter(store)): PutCompany {
  const find = store.prepare('SELECT * FROM companies WHERE domain = ?');
  const taken = store.prepare('SELECT 1 FROM companies WHERE id = ?');
  const insert = store.prepare(`INSERT INTO companies (${COMPANY_KEPT_COLUMNS.join(', ')}, domain, id) VALUES (${COMPANY_KEPT_COLUMNS.map(() => '?').join(', ')}, ?, ?)`);
  const update = companyUpdate(store);
  const ofSignals = store.prepare('UPDATE signals SET country = ?, industry = ? WHERE company_domain = ?');
  return (raw, from) => {
    const { record, dropped } = cleanRecord(raw, COMPANY_TYPES);
    const domain = record['domain'] as string | undefined;
    if (domain === undefined) return { kind: 'rejected', code: dropped.includes('domain') ? 'bad_domain' : 'no_identity', detail: 'a company needs a domain, such as acme.example' };
    const found = find.get(domain);
    const { updated_at: _time, ...known } = withRevenue(record);
    const kept = found === undefined ? null : readKept(found);
    if (kept === null) known['id'] = ownId(known['id'], (id) => taken.get(id) === undefined, () => `co_${digest(domain)}`);
    const { record: merged, change } = merge(kept, known, from);
    if (change === 'same') return { kind: 'put', change, dropped };
    const { doc } = merged;
    const text = JSON.stringify(doc);
    if (text.length > MAX_DOC) return { kind: 'rejected', code: 'too_large', detail: `the record is longer than ${MAX_DOC} characters` };
    const columns = companyColumns(merged, text);
    if (kept === null) insert.run(...columns, domain, doc['id'] as string);
    else update.run(...columns, domain);
    if (change !== 'times') index.company(domain);
    if (known['domain_aliases'] !== undefined) putAliases(domain, doc);
    // Filters of signals go by what is known of the company now.
    const { country, industry } = placeAndTrade(doc);
    if (found === undefined || found['country'] !== country || found['industry'] !== industry) ofSignals.run(country, industry, domain);
    return { kind: 'put', change, dropped };
  };
}

/** Where a company's headquarters are (ISO 3166-1 alpha-2), and its industry, as it is compared. */
function placeAndTrade({ hq, industry }: SparseRecord): { country: string | null; industry: string | null } {
  const code = isObject(hq) ? hq['country_code'] : null;
  return { country: typeof code === 'string' ? code.toUpperCase() : null, industry: typeof industry === 'string' ? alike(industry) : null };
}

/** What a record is named by from now on: the id that it came with where that is free, else one that follows from its identity. */
export function ownId(given: unknown, isFree: (id: string) => boolean, identity: () => string): string {
  if (typeof given === 'string' && given.length <= 128 && isFree(given)) return given;
  const derived = identity();
  return isFree(derived) ? derived : `${derived}_${digest(`${derived}\n${String(given)}`)}`;
}

/** Enough of a SHA-256 to tell any two identities apart. */
export function digest(identity: string): string {
  return hash('sha256', identity, 'buffer').subarray(0, 12).toString('base64url');
}

/** The specification wants a text, filters want a number: each is made of the other where it is missing. */
function withRevenue(record: SparseRecord): Record<string, unknown> {
  const { revenue, revenue_usd: usd } = record;
  if (typeof usd === 'number' && revenue === undefined) return { ...record, revenue: formatUsd(usd) };
  if (typeof revenue !== 'string' || usd !== undefined) return { ...record };
  const parsed = parseUsd(revenue);
  if (parsed === null) return { ...record };
  return { ...record, revenue: formatUsd(parsed), revenue_usd: parsed };
}
