/** What a ledger in Redis holds, under which names, and what of it a run may use. Pure. */
import { hash } from 'node:crypto';
import { decode, encode } from '../answer.ts';
import type { LedgerOptions, SharedAnswer } from '../options.ts';
import { maySpare } from '../reuse.ts';

const ROOT = 'millrace:ledger:';
/** Another value after each purge. */
export const PURGED_KEY = `${ROOT}purged`;
/** Every answer's key matches. */
export const ANSWER_PATTERN = `${ROOT}*:a:*`;
/** Before the id of a run that is alive. */
export const HOLDER_PREFIX = 'millrace:holder:';
/** 132 bits: never two lookups under one name. */
const DIGEST_CHARS = 22;

/** Names of one ledger's keys: what jobs keep for each other lies apart from what each keeps for itself. */
export class RedisNames {
  readonly #prefix: string;

  constructor({ job, maxAgeDays }: Pick<LedgerOptions, 'job' | 'maxAgeDays'>) {
    this.#prefix = maxAgeDays > 0 ? `${ROOT}shared:` : `${ROOT}job-${hash('sha256', job, 'base64url').slice(0, DIGEST_CHARS)}:`;
  }

  answer(digest: string): string {
    return `${this.#prefix}a:${digest}`;
  }

  claim(digest: string): string {
    return `${this.#prefix}c:${digest}`;
  }

  run(run: string): string {
    return `${this.#prefix}r:${run}`;
  }
}

/** What stands for a lookup in the names. */
export function digestOf(scope: SharedAnswer['scope'], key: string): string {
  return hash('sha256', JSON.stringify([...scope, key]), 'base64url').slice(0, DIGEST_CHARS);
}

type Value = readonly [origin: string, step: string, options: string, key: string, at: number, kind: number, body: string, job: string, run: string];

export function packAnswer({ scope: [origin, step, options], key, at, answer, job, run }: SharedAnswer): string {
  const { kind, body } = encode(answer);
  return JSON.stringify([origin, step, options, key, at, kind, body, job, run] satisfies Value);
}

/** Null for what is no answer. */
export function unpackAnswer(value: string): SharedAnswer | null {
  try {
    const [origin, step, options, key, at, kind, body, job, run] = JSON.parse(value) as Value;
    return { scope: [origin, step, options], key, at, answer: decode(kind, body), job, run };
  } catch {
    return null;
  }
}

export interface Rights extends Pick<LedgerOptions, 'job' | 'run' | 'maxAgeDays' | 'now' | 'failedUpTo'> {
  /** What other runs are told from then on counts for this one as if it had asked, milliseconds since 1970. */
  readonly since: number;
}

/** Whether a run may use an answer: what it was told itself, what it may use of earlier runs, and all that is told to others while it goes on. */
export function mayUse({ answer, at, job, run }: SharedAnswer, own: Rights): boolean {
  if (run === own.run) return answer.kind !== 'failed' || at > (own.failedUpTo ?? 0);
  return maySpare(answer.kind, at, job, own) || (at >= own.since && (own.maxAgeDays > 0 || job === own.job));
}
