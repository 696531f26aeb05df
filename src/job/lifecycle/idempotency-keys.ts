import { hash } from 'node:crypto';
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { specOf, type Step } from '../../steps/registry.ts';

/** Earlier versions counted generations from 1, and their keys name no step. Jobs under way keep those keys. */
const LEAST_BY_CLOCK = 1e12;

/**
 * The generation of a job without a checkpoint, or with a damaged one: the clock in milliseconds since 1970, above any count of retries.
 * Another job of this name, and the same job on another day, have other Idempotency-Keys: a service gives them no old answers.
 */
export function firstGeneration(now: Date): number {
  return now.getTime();
}

/** The seed of a job's keys in one generation: attempts and resumes that send the same body repeat its key. */
export function keySeed({ job, generation }: Pick<Checkpoint, 'job' | 'generation'>): string {
  return `${job}\n${generation}\n`;
}

/**
 * `Idempotency-Key` = hash(job, generation, request body). Steps beside the usual ones are named too, because two steps may send the same
 * body to two paths.
 */
export function idempotencyKey(seed: string, step: Step, body: string): string {
  const generation = Number(seed.split('\n').at(-2));
  const named = specOf(step).isUsual || generation < LEAST_BY_CLOCK ? '' : `${step}\n`;
  return hash('sha256', `${seed}${named}${body}`, 'base64url');
}
