/** Whether a job may go on with its checkpoint, by what was asked for then and now. */
import type { Checkpoint } from '../checkpoint/checkpoint-file.ts';
import { describeDifference, WRITTEN_INPUT } from './definition/compile-job.ts';
import type { CompiledJob } from './types.ts';

type Fingerprint = Readonly<Record<string, unknown>>;

/** Where the service is and how it is asked. They may be corrected until the job has an answer: there is nothing to mix it with. */
const ADDRESS: readonly string[] = ['service.baseUrl', 'service.embedded', 'service.fields.domain'];

/** What a job has been so far. */
export type Begun = Pick<Checkpoint, 'fingerprint' | 'limit' | 'state' | 'retry'> & Answers;

/** What tells whether a job has an answer, of this service or of the ledger. */
export interface Answers {
  readonly answered: boolean;
  readonly totals: { readonly credits: number; readonly lookups: { readonly unique: number } };
}

/** Whether anything was answered or paid, by any of the processes of a job. */
function hasAnswers({ answered, totals }: Answers): boolean {
  return answered || totals.credits > 0 || totals.lookups.unique > 0;
}

/** The part of a definition that may be corrected. */
export function addressIn(fingerprint: Fingerprint): Record<string, unknown> {
  return Object.fromEntries(ADDRESS.map((key) => [key, fingerprint[key]]));
}

/**
 * The first difference that keeps the job from going on: a sentence naming the key, or null.
 *
 * Once a run is finished, other names for what is written alike (`{date}`, `{env:NAME}`) are a changed input, and no
 * changed job: `docs/decisions/dated-input.md`.
 */
export function changedDefinition(job: Pick<CompiledJob, 'fingerprint' | 'limits'>, found: Begun): string | null {
  const over = found.state === 'finished' || found.state === 'finishing' || found.retry !== null;
  const ignored = over && same(found.fingerprint[WRITTEN_INPUT], job.fingerprint[WRITTEN_INPUT]) ? ['input.uri', WRITTEN_INPUT] : [WRITTEN_INPUT];
  if (!hasAnswers(found)) ignored.push(...ADDRESS);
  const difference = describeDifference(without(found.fingerprint, ignored), without(job.fingerprint, ignored));
  if (difference !== null) return difference;
  const now = job.limits.limit ?? Infinity;
  if (now >= (found.limit ?? Infinity)) return null;
  return `limits.limit was ${found.limit ?? 'not set'} and is now ${now}; it can only be raised`;
}

function same(one: unknown, other: unknown): boolean {
  return one !== undefined && JSON.stringify(one) === JSON.stringify(other);
}

function without(fingerprint: Fingerprint, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fingerprint).filter(([key]) => !keys.includes(key)));
}
