/**
 * Detects job changes while people are written: another employer or title in a newer report. It works only while a webhook subscribes to
 * them.
 */
import { normalise } from '../../records/normalise.ts';
import type { NameAt } from '../merge/employer.ts';
import { ownerReader } from '../identity/domain-aliases.ts';
import { stampOf, type MergedRecord } from '../merge/merge.ts';
import { oncePerTransaction } from './once-per-transaction.ts';
import type { Store } from '../store.ts';
import { textOrNull } from '../../http/values.ts';
import { JobChangeRows, type Job } from './job-change-rows.ts';

const EMPLOYER = ['company_domain', 'company_name'] as const;

type RecordJobChange = (before: MergedRecord, after: MergedRecord, nameAt: NameAt) => void;

/**
 * Records a change within the transaction that writes the person.
 * @param index counts transactions
 * @param now epoch milliseconds
 */
export function jobChangeRecorder(store: Store, index: { readonly transactions: number }, now: () => number = Date.now): RecordJobChange {
  const rows = new JobChangeRows(store);
  const isWatched = oncePerTransaction(index, () => rows.isWatched());
  const ownerOf = ownerReader(store);
  const companyOf = (domain: string): string => ownerOf(domain) ?? domain;
  return (before, after, nameAt) => {
    if (!isWatched()) return;
    const [from, to] = [jobOf(before, nameAt), jobOf(after, nameAt)];
    // A reported employer in the place of a derived one is no change.
    const isGuess = before.mergeState?.employer?.isDerived === true;
    const worksElsewhere = !isGuess && isNewer(before, after, EMPLOYER) && isAnotherEmployer(from, to, companyOf);
    if (worksElsewhere || (isNewer(before, after, ['title']) && isAnother(from.title, to.title)))
      rows.add(after.doc['id'] as string, from, to, now());
  };
}

function jobOf({ doc }: MergedRecord, nameAt: NameAt): Job {
  const domain = textOrNull(doc['company_domain']);
  return {
    title: textOrNull(doc['title']),
    company_name: textOrNull(doc['company_name']) ?? (domain === null ? null : nameAt(domain)),
    company_domain: domain,
  };
}

/** Whether the newer record has newer values of these fields. */
function isNewer(before: MergedRecord, after: MergedRecord, fields: readonly string[]): boolean {
  return timeOf(after, fields) > timeOf(before, fields);
}

function timeOf(record: MergedRecord, fields: readonly string[]): number {
  return Math.max(...fields.map((field) => (record.doc[field] === undefined ? -Infinity : stampOf(record, field)[1])));
}

/** Compares domains if both are known; two domains of one company, or of companies with one name, are the same employer. */
function isAnotherEmployer(from: Job, to: Job, companyOf: (domain: string) => string): boolean {
  const [one, other] = [from.company_domain, to.company_domain];
  if (one !== null && other !== null)
    return (
      companyOf(one) !== companyOf(other) &&
      (from.company_name === null || to.company_name === null || isAnother(from.company_name, to.company_name))
    );
  return isAnother(from.company_name, to.company_name);
}

/** Whether both are known and differ. */
function isAnother(one: string | null, other: string | null): boolean {
  return one !== null && other !== null && normalise(one) !== normalise(other);
}
