/** Other domains of companies: by which of them a company is found, too. */
import { normaliseDomain } from '../../verification/domain.ts';
import type { SparseRecord } from '../records.ts';
import type { Store } from './store.ts';

export type AliasWriter = (domain: string, company: SparseRecord) => void;

/** Keeps the aliases that a company's record names, in place of those before; within a transaction. */
export function aliasWriter(store: Store): AliasWriter {
  const forget = store.prepare('DELETE FROM domain_aliases WHERE domain = ?');
  const add = store.prepare('INSERT OR IGNORE INTO domain_aliases (alias, domain) VALUES (?, ?)');
  return (domain, company) => {
    forget.run(domain);
    const named = company['domain_aliases'];
    for (const alias of Array.isArray(named) ? (named as readonly unknown[]) : []) {
      const other = typeof alias === 'string' ? normaliseDomain(alias) : null;
      if (other !== null && other !== domain) add.run(other, domain);
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

/** Part of a migration: the aliases of companies that are there already. */
export function putAliases(store: Store): void {
  const put = aliasWriter(store);
  for (const { domain, doc } of store.prepare("SELECT domain, doc FROM companies WHERE doc LIKE '%\"domain_aliases\":%'").iterate()) put(domain as string, JSON.parse(doc as string) as SparseRecord);
}
