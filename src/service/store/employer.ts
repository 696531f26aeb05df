/** Where somebody works, by several reports: given with its domain, by its name alone, or no more than derived from their address. Pure. */
import { fold } from '../fold.ts';
import type { SparseRecord } from '../records.ts';
import { textOrNull } from '../values.ts';
import { stampOf, type EmployerAside, type EmployerTold, type KeptRecord, type Stamp } from './merge.ts';

/** The newest report of each kind. */
export interface Employer {
  readonly domain: EmployerTold | null;
  readonly name: EmployerTold | null;
  readonly derived: EmployerTold | null;
}

/** What a company at a domain is called; null: that is not known. */
export type NameAt = (domain: string) => string | null;

export function employerOf(record: KeptRecord): Employer {
  const aside = record.aside?.employer ?? {};
  const [is, name] = [textOrNull(record.doc['company_domain']), textOrNull(record.doc['company_name'])];
  const [ofDomain, ofName] = [stampOf(record, 'company_domain'), stampOf(record, 'company_name')];
  if (aside.isDerived === true && is !== null) return { domain: null, name: null, derived: { is, stamp: ofDomain } };
  const areOne = name !== null && ofDomain[0] === ofName[0] && ofDomain[1] === ofName[1];
  return {
    domain: is === null ? (aside.domain ?? null) : { is, ...(areOne ? { name } : {}), stamp: ofDomain },
    name: name === null || (is !== null && areOne) ? (aside.name ?? null) : { is: name, stamp: ofName },
    derived: null,
  };
}

/** Of each kind the newer report. */
export function mergeEmployers(one: Employer, other: Employer): Employer {
  return { domain: newer(one.domain, other.domain), name: newer(one.name, other.name), derived: newer(one.derived, other.derived) };
}

/** What comes again of the same time is no news. */
function newer(one: EmployerTold | null, other: EmployerTold | null): EmployerTold | null {
  if (one === null || other === null) return one ?? other;
  const [beforeMs, atMs] = [one.stamp[1], other.stamp[1]];
  return atMs > beforeMs || (atMs === beforeMs && (one.is !== other.is || one.name !== other.name)) ? other : one;
}

/** The one that is shown, with its stamp, and what is to be known of it beside that. One that was given comes before a derived one, and of those given the newer; a name that is the domain's keeps the domain. */
export function shownEmployer({ domain, name, derived }: Employer, nameAt: NameAt): { fields: SparseRecord; stamp: Stamp | null; aside: EmployerAside | null } {
  if (domain === null && name === null) return { ...shown(derived), aside: derived === null ? null : { isDerived: true } };
  if (name === null || (domain !== null && domain.stamp[1] >= name.stamp[1])) return { ...shown(domain), aside: null };
  if (domain === null) return { fields: { company_name: name.is }, stamp: name.stamp, aside: null };
  const called = domain.name ?? nameAt(domain.is);
  return called !== null && fold(called) === fold(name.is) ? { ...shown(domain), aside: { name } } : { fields: { company_name: name.is }, stamp: name.stamp, aside: { domain } };
}

function shown(told: EmployerTold | null): { fields: SparseRecord; stamp: Stamp | null } {
  if (told === null) return { fields: {}, stamp: null };
  const { is, name, stamp } = told;
  return { fields: { company_domain: is, ...(name === undefined ? {} : { company_name: name }) }, stamp };
}
