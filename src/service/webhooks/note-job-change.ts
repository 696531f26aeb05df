/** Notices, while people are put into the store, who works elsewhere or as something else by a newer report; only where somebody wants to be told. */
import { fold } from '../fold.ts';
import type { NameAt } from '../store/employer.ts';
import { ownerReader } from '../store/domain-aliases.ts';
import { stampOf, type KeptRecord } from '../store/merge.ts';
import { onceATransaction } from '../store/once.ts';
import type { Store } from '../store/store.ts';
import { textOrNull } from '../values.ts';
import { JobChangeRows, type Job } from './job-change-rows.ts';

const EMPLOYER = ['company_domain', 'company_name'] as const;

export type NoteJobChange = (before: KeptRecord, after: KeptRecord, nameAt: NameAt) => void;

/** Notes a change within the transaction in which the person is written. @param index is asked for its transactions @param now epoch milliseconds */
export function jobChangeNoter(store: Store, index: { readonly transactions: number }, now: () => number = Date.now): NoteJobChange {
  const rows = new JobChangeRows(store);
  const isWatched = onceATransaction(index, () => rows.isWatched());
  const ownerOf = ownerReader(store);
  const companyOf = (domain: string): string => ownerOf(domain) ?? domain;
  return (before, after, nameAt) => {
    if (!isWatched()) return;
    const [from, to] = [jobOf(before, nameAt), jobOf(after, nameAt)];
    // Where one works who was only guessed to work somewhere is no change.
    const isGuess = before.aside?.employer?.isDerived === true;
    const worksElsewhere = !isGuess && isNewer(before, after, EMPLOYER) && isAnotherEmployer(from, to, companyOf);
    if (worksElsewhere || (isNewer(before, after, ['title']) && isAnother(from.title, to.title))) rows.add(after.doc['id'] as string, from, to, now());
  };
}

function jobOf({ doc }: KeptRecord, nameAt: NameAt): Job {
  const domain = textOrNull(doc['company_domain']);
  return { title: textOrNull(doc['title']), company_name: textOrNull(doc['company_name']) ?? (domain === null ? null : nameAt(domain)), company_domain: domain };
}

/** Whether what is said of it is of later than before. */
function isNewer(before: KeptRecord, after: KeptRecord, fields: readonly string[]): boolean {
  return timeOf(after, fields) > timeOf(before, fields);
}

function timeOf(record: KeptRecord, fields: readonly string[]): number {
  return Math.max(...fields.map((field) => (record.doc[field] === undefined ? -Infinity : stampOf(record, field)[1])));
}

/** By their domains, where both are known: two of one company, or of companies of one name, are the same. */
function isAnotherEmployer(from: Job, to: Job, companyOf: (domain: string) => string): boolean {
  const [one, other] = [from.company_domain, to.company_domain];
  if (one !== null && other !== null) return companyOf(one) !== companyOf(other) && (from.company_name === null || to.company_name === null || isAnother(from.company_name, to.company_name));
  return isAnother(from.company_name, to.company_name);
}

/** Whether both are known, and say different things. */
function isAnother(one: string | null, other: string | null): boolean {
  return one !== null && other !== null && fold(one) !== fold(other);
}
