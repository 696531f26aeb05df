/** Part of a migration: other domains of companies that are there already, for search. */
import { IndexWriter } from '../search/index-writer.ts';
import { anyAlias } from './domain-aliases.ts';
import type { Store } from './store.ts';

/** Domains after which the index is written: what it collects is in memory. */
const AT_ONCE = 8_192;

/** In order of their numbers, so that a chunk is written once or twice; those that have none yet are given the next ones, and come last. Looks at all domains, but only where there is an alias. */
export function putAliasCompanies(store: Store): void {
  if (!anyAlias(store)()) return;
  const index = new IndexWriter(store);
  let done = 0;
  for (const domains of [
    'SELECT domain FROM domains WHERE EXISTS (SELECT 1 FROM domain_aliases WHERE alias = domains.domain) ORDER BY id',
    'SELECT DISTINCT alias AS domain FROM domain_aliases WHERE NOT EXISTS (SELECT 1 FROM domains WHERE domains.domain = alias) ORDER BY alias',
  ]) {
    for (const { domain } of store.prepare(domains).iterate()) {
      index.alias(domain as string);
      if (++done % AT_ONCE === 0) index.flush();
    }
    index.flush();
  }
}
