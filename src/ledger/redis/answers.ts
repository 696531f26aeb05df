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
/** What a ledger needs, as ACL SETUSER takes it: SELECT for another database than 0, CLUSTER SLOTS for a cluster, SCAN for stats and purge. */
export const LEDGER_RIGHTS = `~${ROOT}* +info +select +cluster|slots +eval +get +mget +set +del +exists +hset +hgetall +scan`;
/** 132 bits: never two lookups under one name. */
const DIGEST_CHARS = 22;

/**
 * Names of one ledger's keys: what jobs keep for each other lies apart from what each keeps for itself. All keys of one ledger
 * have one hash tag, so that a cluster keeps them on one node: a script sees an answer, its claim and the claim's holder at once.
 */
export class RedisNames {
  readonly #prefix: string;

  constructor({ job, maxAgeDays }: Pick<LedgerOptions, 'job' | 'maxAgeDays'>) {
    this.#prefix = maxAgeDays > 0 ? `${ROOT}{shared}:` : `${ROOT}{job-${hash('sha256', job, 'base64url').slice(0, DIGEST_CHARS)}}:`;
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

  /** Before the id of a run that is alive. */
  get holders(): string {
    return `${this.#prefix}h:`;
  }
}

/** Which keys a cluster keeps together. */
export function tagOf(key: string): string {
  return /\{([^}]+)\}/.exec(key)?.[1] ?? key;
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
