/** Rich rows: contacts with their whole company, as an enriched file has them. */
import type { LargeSet } from '../../fixtures/generate/large.ts';

export function* richContacts(set: LargeSet): Generator<Readonly<Record<string, unknown>>> {
  const companies = new Map<unknown, object>();
  for (const company of set.companies()) companies.set(company['domain'], company);
  for (const { company_domain: domain, ...contact } of set.contacts()) yield { ...contact, company: companies.get(domain) ?? { domain } };
}
