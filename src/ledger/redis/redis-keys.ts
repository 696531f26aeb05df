/** The keys and values of a ledger in Redis, and which answers a run may use. Pure. */
import { hash } from 'node:crypto';
import { decodeAnswer, encodeAnswer, noteOf } from '../answer.ts';
import type { LedgerOptions, SharedAnswer } from '../options.ts';
import { mayReuse } from '../reuse.ts';

const ROOT = 'millrace:ledger:';
/** Another value after each purge. */
export const PURGED_KEY = `${ROOT}purged`;
/** Every answer's key matches. */
export const ANSWER_PATTERN = `${ROOT}*:a:*`;
/** Every claim's key matches. */
export const CLAIM_PATTERN = `${ROOT}*:c:*`;
/**
 * The rights that a ledger needs, as ACL SETUSER takes them: SELECT for another database than 0, CLUSTER SLOTS for a cluster, SCAN for
 * stats and purge.
 */
export const LEDGER_RIGHTS = `~${ROOT}* +info +select +cluster|slots +eval +get +mget +set +del +exists +hset +hgetall +scan`;
/** 132 bits: two lookups never share a name. */
const DIGEST_CHARS = 22;

/**
 * The names of one ledger's keys. Answers that jobs share are apart from each job's own. All keys have one hash tag, so that a cluster
 * keeps them on one node: a script reads an answer, its claim and the holder at once.
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

  /** The prefix of the keys of living runs. */
  get holders(): string {
    return `${this.#prefix}h:`;
  }
}

/** The hash tag: a cluster keeps keys with one tag together. */
export function tagOf(key: string): string {
  return /\{([^}]+)\}/.exec(key)?.[1] ?? key;
}

/** The digest that names a lookup. */
export function digestOf(scope: SharedAnswer['scope'], key: string): string {
  return hash('sha256', JSON.stringify([...scope, key]), 'base64url').slice(0, DIGEST_CHARS);
}

type Value = readonly [
  origin: string,
  step: string,
  options: string,
  key: string,
  at: number,
  kind: number,
  body: string,
  job: string,
  run: string,
];

export function packAnswer({ scope: [origin, step, options], key, at, answer, job, run }: SharedAnswer): string {
  const { kind, body } = encodeAnswer(answer);
  return JSON.stringify([origin, step, options, key, at, kind, body, job, run] satisfies Value);
}

/** null for a value that is not an answer. */
export function unpackAnswer(value: string): SharedAnswer | null {
  try {
    const [origin, step, options, key, at, kind, body, job, run] = JSON.parse(value) as Value;
    return { scope: [origin, step, options], key, at, answer: decodeAnswer(kind, body), job, run };
  } catch {
    return null;
  }
}

/** Ends holder and seed in the value of a claim. */
const PROMISE_BEGINS = '\u001f';

/**
 * The open promise in the value of a claim (see `CLAIM`), and the value without it. Null where none is open. Older versions named no
 * lookup.
 */
export function promiseIn(claim: string): { readonly promise: SharedAnswer; readonly rest: string } | null {
  const end = claim.indexOf(PROMISE_BEGINS);
  if (end === -1) return null;
  const text = claim.slice(end + 1);
  return { promise: unpackAnswer(text) ?? unnamed(text), rest: claim.slice(0, end) };
}

/** The note in what a claim says of its promise. */
export function noteIn(promise: string): string {
  return noteOf((unpackAnswer(promise) ?? unnamed(promise)).answer) ?? promise;
}

function unnamed(text: string): SharedAnswer {
  return { scope: ['', 'unknown', ''], key: '', at: Infinity, job: '', run: '', answer: { kind: 'asking', text } };
}

export interface Rights extends Pick<LedgerOptions, 'job' | 'run' | 'maxAgeDays' | 'now' | 'failedUpTo'> {
  /** Answers that other runs get from then on count for this one too, milliseconds since 1970. */
  readonly since: number;
}

/** Whether a run may use an answer: its own, a reusable one of an earlier run, and any that another run gets while it goes on. */
export function mayUse({ answer, at, job, run }: SharedAnswer, own: Rights): boolean {
  if (run === own.run) return answer.kind !== 'failed' || at > (own.failedUpTo ?? 0);
  return mayReuse(answer.kind, at, job, own) || (at >= own.since && (own.maxAgeDays > 0 || job === own.job));
}
