/** Compares a job with the definition in its checkpoint: may the job go on with it? */
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { describeDifference, WRITTEN_INPUT } from '../../definition/compile-job.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';

type Fingerprint = Readonly<Record<string, unknown>>;

/** The address of the service. It may be corrected until the job has an answer, because no answers of two services can mix before. */
const SERVICE_ADDRESS: readonly string[] = ['service.baseUrl', 'service.embedded', 'service.fields.domain'];

/** A job's state so far, from its checkpoint or its shards. */
export type JobSoFar = Pick<Checkpoint, 'fingerprint' | 'limit' | 'state' | 'retry'> & JobAnswers;

/** Shows whether a job has an answer, from this service or from the ledger. */
interface JobAnswers {
  readonly answered: boolean;
  readonly totals: { readonly credits: number; readonly lookups: { readonly unique: number } };
}

/** Whether anything was answered or paid, by any of the processes of a job. */
function hasAnswers({ answered, totals }: JobAnswers): boolean {
  return answered || totals.credits > 0 || totals.lookups.unique > 0;
}

/** The part of a definition that may be corrected. */
export function serviceAddressIn(fingerprint: Fingerprint): Record<string, unknown> {
  return Object.fromEntries(SERVICE_ADDRESS.map((key) => [key, fingerprint[key]]));
}

/**
 * The first difference that keeps the job from going on: a sentence with the key, or null when it may go on.
 * Once a run is finished, an `input.uri` that is written alike (`{date}`, `{env:NAME}`) and expands differently is a changed input, and not
 * a changed job: `docs/decisions/dated-input.md`.
 */
export function changedDefinition(job: Pick<CompiledJob, 'fingerprint' | 'limits'>, found: JobSoFar): string | null {
  const over = found.state === 'finished' || found.state === 'finishing' || found.retry !== null;
  const ignored =
    over && same(found.fingerprint[WRITTEN_INPUT], job.fingerprint[WRITTEN_INPUT]) ? ['input.uri', WRITTEN_INPUT] : [WRITTEN_INPUT];
  if (!hasAnswers(found)) ignored.push(...SERVICE_ADDRESS);
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
