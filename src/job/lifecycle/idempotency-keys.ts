import { hash } from 'node:crypto';
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';

/** The seed of a job's keys in one generation: attempts and resumes that send the same body repeat its key. */
export function keySeed({ job, generation }: Pick<Checkpoint, 'job' | 'generation'>): string {
  return `${job}\n${generation}\n`;
}

/** `Idempotency-Key` = hash(job, generation, request body). */
export function idempotencyKey(seed: string, body: string): string {
  return hash('sha256', seed + body, 'base64url');
}
