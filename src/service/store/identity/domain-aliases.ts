/** Further domains of companies, by which a company is found too. */
import { normaliseDomain } from '../../../verification/domain.ts';
import type { SparseRecord } from '../../records/whole-record.ts';
import type { Store } from '../store.ts';

export type WriteAliases = (domain: string, company: SparseRecord) => void;

/** Hears of each domain whose company may have changed. */
interface AliasIndex {
  alias(domain: string): void;
}

/** Replaces the stored aliases of a company by those of its record. Call it within a transaction that ends with a flush of `index`. */
export function domainAliasWriter(store: Store, index: AliasIndex): WriteAliases {
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

/** The domain of the one company that claims `alias`; null if none or several do. */
export function aliasReader(store: Store): (alias: string) => string | null {
  const find = store.prepare('SELECT domain FROM domain_aliases WHERE alias = ? LIMIT 2');
  return (alias) => {
    const found = find.all(alias);
    return found.length === 1 ? (found[0]?.['domain'] as string) : null;
  };
}

/** The domain of the company whose record is answered for this domain, if it is another company's; else null. */
export function ownerReader(store: Store): (domain: string) => string | null {
  const aliasOf = aliasReader(store);
  const own = store.prepare('SELECT 1 FROM companies WHERE domain = ?');
  return (domain) => {
    const owner = aliasOf(domain);
    return owner === null || own.get(domain) !== undefined ? null : owner;
  };
}

/** All domains under which a company's record is answered, its own first. */
export function domainsReader(store: Store): (company: string) => readonly string[] {
  const others = store.prepare(`
    SELECT alias FROM domain_aliases AS one WHERE domain = ?1 AND NOT EXISTS (SELECT 1 FROM companies WHERE companies.domain = alias)
    AND NOT EXISTS (SELECT 1 FROM domain_aliases AS other WHERE other.alias = one.alias AND other.domain <> ?1)`);
  return (company) => [company, ...others.all(company).map(({ alias }) => alias as string)];
}

/** Whether any company has an alias. */
export function anyAlias(store: Store): () => boolean {
  const any = store.prepare('SELECT 1 FROM domain_aliases LIMIT 1');
  return () => any.get() !== undefined;
}
