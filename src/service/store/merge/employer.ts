/** Merges the employer of a person: reported with its domain, by its name alone, or derived from the e-mail address. Pure. */
import { normalise } from '../../records/normalise.ts';
import type { SparseRecord } from '../../records/whole-record.ts';
import { textOrNull } from '../../http/values.ts';
import { stampOf, type EmployerMergeState, type ReportedEmployer, type MergedRecord, type Stamp } from './merge.ts';

/** The newest report of each kind. */
export interface Employer {
  readonly domain: ReportedEmployer | null;
  readonly name: ReportedEmployer | null;
  readonly derived: ReportedEmployer | null;
}

/** The name of the company at a domain; null if it is unknown. */
export type NameAt = (domain: string) => string | null;

export function employerOf(record: MergedRecord): Employer {
  const mergeState = record.mergeState?.employer ?? {};
  const [is, name] = [textOrNull(record.doc['company_domain']), textOrNull(record.doc['company_name'])];
  const [ofDomain, ofName] = [stampOf(record, 'company_domain'), stampOf(record, 'company_name')];
  if (mergeState.isDerived === true && is !== null) return { domain: null, name: null, derived: { is, stamp: ofDomain } };
  const areOne = name !== null && ofDomain[0] === ofName[0] && ofDomain[1] === ofName[1];
  return {
    domain: is === null ? (mergeState.domain ?? null) : { is, ...(areOne ? { name } : {}), stamp: ofDomain },
    name: name === null || (is !== null && areOne) ? (mergeState.name ?? null) : { is: name, stamp: ofName },
    derived: null,
  };
}

/** The newer report of each kind. */
export function mergeEmployers(one: Employer, other: Employer): Employer {
  return { domain: newer(one.domain, other.domain), name: newer(one.name, other.name), derived: newer(one.derived, other.derived) };
}

/** An equal report of the same time changes nothing. */
function newer(one: ReportedEmployer | null, other: ReportedEmployer | null): ReportedEmployer | null {
  if (one === null || other === null) return one ?? other;
  const [beforeMs, atMs] = [one.stamp[1], other.stamp[1]];
  return atMs > beforeMs || (atMs === beforeMs && (one.is !== other.is || one.name !== other.name)) ? other : one;
}

/**
 * The employer of the answer, its stamp, and the state to keep for later merges. A reported employer takes precedence over a derived one,
 * and the newer report over the older. A name that belongs to the domain's company keeps the domain.
 */
export function shownEmployer(
  { domain, name, derived }: Employer,
  nameAt: NameAt,
): { fields: SparseRecord; stamp: Stamp | null; mergeState: EmployerMergeState | null } {
  if (domain === null && name === null) return { ...shown(derived), mergeState: derived === null ? null : { isDerived: true } };
  if (name === null || (domain !== null && domain.stamp[1] >= name.stamp[1])) return { ...shown(domain), mergeState: null };
  if (domain === null) return { fields: { company_name: name.is }, stamp: name.stamp, mergeState: null };
  const allNames = domain.name ?? nameAt(domain.is);
  return allNames !== null && normalise(allNames) === normalise(name.is)
    ? { ...shown(domain), mergeState: { name } }
    : { fields: { company_name: name.is }, stamp: name.stamp, mergeState: { domain } };
}

function shown(formerVerdicts: ReportedEmployer | null): { fields: SparseRecord; stamp: Stamp | null } {
  if (formerVerdicts === null) return { fields: {}, stamp: null };
  const { is, name, stamp } = formerVerdicts;
  return { fields: { company_domain: is, ...(name === undefined ? {} : { company_name: name }) }, stamp };
}
