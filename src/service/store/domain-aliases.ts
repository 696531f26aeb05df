/** Other domains of companies: by which of them a company is found, too. */
import { normaliseDomain } from '../../verification/domain.ts';
import type { SparseRecord } from '../records.ts';
import type { Store } from './store.ts';

export type PutAliases = (domain: string, company: SparseRecord) => void;

/** What is told of each domain of which it may have changed whose it is. */
export interface AliasIndex {
  alias(domain: string): void;
}

/** Keeps the aliases that a company's record names, in place of those before; within a transaction, at whose end `index` is flushed. */
export function aliasPutter(store: Store, index: AliasIndex): PutAliases {
  const forget = store.prepare('DELETE FROM domain_aliases WHERE domain = ? RETURNING alias');
  const add = store.prepare('INSERT OR IGNORE INTO domain_aliases (alias, domain) VALUES (?, ?)');
  return (domain, company) => {
    for (const { alias } of forget.all(domain)) index.alias(alias as string);
    const named = company['domain_aliases'];
    for (const alias of Array.isArray(named) ? (named as readonly unknown[]) : []) {
      const other = typeof alias === 'string' ? normaliseDomain(alias) : null;
      if (other === null || other === domain) continue;
      add.run(other, domain);
      index.alias(other);
    }
  };
}

/** The domain of the company that has `alias` as another one; null when none has it, or several do. */
export function aliasReader(store: Store): (alias: string) => string | null {
  const find = store.prepare('SELECT domain FROM domain_aliases WHERE alias = ? LIMIT 2');
  return (alias) => {
    const found = find.all(alias);
    return found.length === 1 ? (found[0]?.['domain'] as string) : null;
  };
}

/** The domain of the company whose record is shown where this one is asked for; null when that is no other company's. */
export function ownerReader(store: Store): (domain: string) => string | null {
  const aliasOf = aliasReader(store);
  const own = store.prepare('SELECT 1 FROM companies WHERE domain = ?');
  return (domain) => {
    const owner = aliasOf(domain);
    return owner === null || own.get(domain) !== undefined ? null : owner;
  };
}

/** All domains where a company's record is shown, its own first. */
export function domainsReader(store: Store): (company: string) => readonly string[] {
  const others = store.prepare(`
    SELECT alias FROM domain_aliases AS one WHERE domain = ?1 AND NOT EXISTS (SELECT 1 FROM companies WHERE companies.domain = alias)
    AND NOT EXISTS (SELECT 1 FROM domain_aliases AS other WHERE other.alias = one.alias AND other.domain <> ?1)`);
  return (company) => [company, ...others.all(company).map(({ alias }) => alias as string)];
}

/** Whether any company has another domain. */
export function anyAlias(store: Store): () => boolean {
  const any = store.prepare('SELECT 1 FROM domain_aliases LIMIT 1');
  return () => any.get() !== undefined;
}

/** Part of a migration: the aliases of companies that are there already. What they stand for in search is a later step. */
export function putAliases(store: Store): void {
  const put = aliasPutter(store, { alias: () => undefined });
  for (const { domain, doc } of store.prepare("SELECT domain, doc FROM companies WHERE doc LIKE '%\"domain_aliases\":%'").iterate()) put(domain as string, JSON.parse(doc as string) as SparseRecord);
}
