import { PatientRedis } from '../../redis/patient.ts';
import type { LedgerEntry, LedgerOptions, SharedAnswer, Teller } from '../options.ts';
import { FileLedger, type LedgerListener, type Told } from '../run-ledger.ts';
import { WorkingFile, type SharedTotals } from '../working-file.ts';
import { digestOf, LEDGER_RIGHTS, mayUse, packAnswer, PURGED_KEY, RedisNames, type Rights } from './answers.ts';
import { Claims } from './claims.ts';
import { Holder } from './holder.ts';
import { TRY } from './scripts.ts';
import { AnswerWriter } from './writer.ts';

/** At the start nobody waits for long: a name that is wrong is as silent as a server that is down. */
const OPEN_MS = 30_000;
/** Whoever was told to stop has no more time than this. */
const STOP_MS = 5_000;
/** How long letting go may take. */
const GOODBYE_MS = 1_000;

export interface RedisLedgerOptions extends LedgerOptions {
  /** When this run, or its retry, began, milliseconds since 1970. */
  readonly since: number;
  /** See `RunLedgerOptions.keySeed`. */
  readonly keySeed: string;
  readonly maxOutageMs: number;
  readonly tell: Teller;
  /** Aborted when the run is to end soon. */
  readonly drain: AbortSignal | undefined;
  readonly abort: AbortSignal | undefined;
}

/**
 * A ledger in Redis, shared by runs that go on at the same time: the run works in a file, asks Redis about each lookup that
 * the file does not know and claims it in the same round trip, and brings what it is told there as it comes.
 */
export class RedisLedger extends FileLedger {
  readonly #options: RedisLedgerOptions;
  readonly #working: WorkingFile;
  readonly #redis: PatientRedis;
  readonly #names: RedisNames;
  readonly #rights: Rights;
  readonly #claims: Claims;
  readonly #writer: AnswerWriter;
  readonly #holder: Holder;
  readonly #scopes = new Map<number, SharedAnswer['scope']>();
  #listener: LedgerListener = { moved: () => undefined, failed: () => undefined };
  #lastAt = 0;

  private constructor(working: WorkingFile, redis: PatientRedis, options: RedisLedgerOptions) {
    super(working.ledger);
    this.#options = options;
    this.#working = working;
    this.#redis = redis;
    this.#rights = options;
    this.#names = new RedisNames(options);
    const failed = (error: unknown): void => this.#listener.failed(error);
    this.#claims = new Claims({ redis, names: this.#names, holder: options.run, keySeed: options.keySeed, adopt: (ask, found) => this.#adopt(ask, found), moved: () => this.#listener.moved(), failed });
    this.#writer = new AnswerWriter({ redis, names: this.#names, job: options.job, run: options.run, failed });
    this.#holder = new Holder(redis, this.#holderKey, () => this.#claims.claimAgain(), failed);
  }

  /** @throws StorageError when Redis does not answer, ConfigError for what waiting does not mend, or 77 without the right password */
  static async open(uri: string, options: RedisLedgerOptions): Promise<RedisLedger> {
    let maxOutageMs = (): number => Math.min(OPEN_MS, options.maxOutageMs);
    const redis = new PatientRedis(uri, LEDGER_RIGHTS, {
      maxOutageMs: () => (options.drain?.aborted === true ? STOP_MS : maxOutageMs()),
      wentDown: (said) => options.tell.warn('ledger_down', `the ledger in Redis does not answer (${said}); waiting for it, ${Math.round(options.maxOutageMs / 1_000)} s at most`),
      cameBack: (afterMs) => options.tell.info('ledger_back', `the ledger in Redis is back after ${Math.round(afterMs / 1_000)} s`),
      signal: options.abort,
    });
    let ledger: RedisLedger | null = null;
    try {
      const mark = (await redis.ask((client) => client.get(PURGED_KEY))) ?? '';
      ledger = new RedisLedger(WorkingFile.open(options, { mark, segments: new Map() }), redis, options);
      await ledger.#begin();
      maxOutageMs = () => options.maxOutageMs;
      return ledger;
    } catch (error) {
      await ledger?.close().catch(() => undefined);
      redis.close();
      throw error;
    }
  }

  override get waiting(): number {
    return this.#claims.waiting;
  }

  override listen(listener: LedgerListener): void {
    this.#listener = listener;
  }

  override scope(origin: string, step: string, options: string): number {
    const scope = super.scope(origin, step, options);
    this.#scopes.set(scope, [origin, step, options]);
    return scope;
  }

  override ask(scope: number, key: string, told: Told): void {
    const named = this.#named(scope);
    this.#claims.ask({ scope, named, key, digest: digestOf(named, key), told });
  }

  override put(entries: readonly LedgerEntry[]): void {
    super.put(entries);
    const { job, run, now, failedUpTo = 0 } = this.#options;
    // What a retry is told is younger than what it asks again for.
    const at = Math.max(now(), failedUpTo + 1);
    this.#write(entries.map(({ scope, key, answer }) => ({ scope: this.#named(scope), key, job, run, at, answer })));
  }

  override room(): Promise<void> | null {
    return this.#claims.room();
  }

  override mayCall(): true | Promise<void> {
    return this.#holder.holds();
  }

  override async keep(): Promise<void> {
    this.file.flush();
    const upTo = this.file.lastAnswer();
    // What was used of others since the last answer counts, too.
    this.#writer.put([], this.#totals());
    await this.#writer.written();
    this.#working.published(upTo, new Map());
  }

  /** By the time: what failed for others, and was used here, is meant as well, up to now. */
  override lastAnswer(): number {
    return Math.max(this.#lastAt, this.#options.now());
  }

  override async close(): Promise<void> {
    this.#holder.stop();
    this.#claims.close();
    try {
      await super.close();
    } finally {
      const left = new AbortController();
      const late = setTimeout(() => left.abort(), GOODBYE_MS);
      const gone = this.#redis.commands?.del(this.#holderKey) ?? Promise.resolve(0);
      await Promise.race([gone.catch(() => 0), new Promise((resolve) => left.signal.addEventListener('abort', resolve))]);
      clearTimeout(late);
      this.#redis.close();
    }
  }

  /** What Redis knows of the run, and what it does not: a run before may not have lived to send it. */
  async #begin(): Promise<void> {
    await this.#redis.ask((client) => client.eval(TRY, 1, `${this.#holderKey}:try`));
    const known = await this.#redis.ask((client) => client.hgetall(this.#names.run(this.#options.run)));
    const number = (name: string): number => Number(known[name] ?? 0);
    this.#working.raise({ lookups: number('lookups'), reused: number('reused'), lastAt: number('lastAt') });
    this.#lastAt = this.#working.totals().lastAt;
    await this.#holder.start();
    const upTo = this.file.lastAnswer();
    for (const { answers } of this.#working.unpublished(upTo)) {
      this.#write(answers);
      await this.#writer.written();
    }
    this.#working.published(upTo, new Map());
    const warning = await storeWarning(this.#redis);
    if (warning !== null) this.#options.tell.warn('ledger_not_safe', warning);
  }

  /** What is being asked for stays in the file: it is of no use to other runs, and the claim has to stand. */
  #write(all: readonly SharedAnswer[]): void {
    const answers = all.filter(({ answer }) => answer.kind !== 'asking');
    for (const { at } of answers) this.#lastAt = Math.max(this.#lastAt, at);
    const kept = answers.map((answer) => ({ digest: digestOf(answer.scope, answer.key), value: packAnswer(answer) }));
    for (const { digest } of kept) this.#claims.answered(digest);
    this.#writer.put(kept, this.#totals());
  }

  #adopt({ scope, named, key }: { readonly scope: number; readonly named: SharedAnswer['scope']; readonly key: string }, found: SharedAnswer): SharedAnswer['answer'] | null {
    const same = found.key === key && found.scope.every((part, i) => part === named[i]);
    if (!same) return null;
    if (!mayUse(found, this.#rights)) {
      // A retry asks again for what was counted before.
      if (found.run === this.#options.run && !this.file.hasFailed(scope, key)) this.file.take([found], () => undefined);
      return null;
    }
    this.file.adopt({ scope, key, answer: found.answer }, found);
    return found.answer;
  }

  get #holderKey(): string {
    return `${this.#names.holders}${this.#options.run}`;
  }

  #totals(): SharedTotals {
    return { ...this.file.totals(), lastAt: this.#lastAt };
  }

  #named(scope: number): SharedAnswer['scope'] {
    const named = this.#scopes.get(scope);
    if (named === undefined) throw new Error(`no scope ${scope}`);
    return named;
  }
}

/** What would make a ledger of this server forget: null, or a sentence. A server that does not tell is believed. */
async function storeWarning(redis: PatientRedis): Promise<string | null> {
  const info = await redis.ask((client) => client.info()).catch(() => '');
  const of = (name: string): string | undefined => new RegExp(`^${name}:(\\S*)`, 'm').exec(info)?.[1];
  if ((of('maxmemory_policy') ?? 'noeviction') !== 'noeviction' && of('maxmemory') !== '0') return `Redis evicts what it was told when its memory is full (maxmemory-policy ${of('maxmemory_policy')}): what it forgets is paid for again`;
  return of('aof_enabled') === '0' ? 'Redis keeps no append-only file (appendonly no): what it forgets when it is restarted is paid for again' : null;
}
