/** Whether a job may go on with its checkpoint, by what was asked for then and now. */
import type { Checkpoint } from '../checkpoint/checkpoint-file.ts';
import { describeDifference, WRITTEN_INPUT } from './definition/compile-job.ts';
import type { CompiledJob } from './types.ts';

type Fingerprint = Readonly<Record<string, unknown>>;

/**
 * The first difference that keeps the job from going on: a sentence naming the key, or null.
 *
 * Once a run is finished, other names for what is written alike (`{date}`, `{env:NAME}`) are a changed input, and no
 * changed job: `docs/decisions/dated-input.md`.
 */
export function changedDefinition(job: Pick<CompiledJob, 'fingerprint' | 'limits'>, found: Pick<Checkpoint, 'fingerprint' | 'limit' | 'state' | 'retry'>): string | null {
  const over = found.state === 'finished' || found.state === 'finishing' || found.retry !== null;
  const ignored = over && same(found.fingerprint[WRITTEN_INPUT], job.fingerprint[WRITTEN_INPUT]) ? ['input.uri', WRITTEN_INPUT] : [WRITTEN_INPUT];
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
