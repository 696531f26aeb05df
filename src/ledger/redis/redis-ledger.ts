import { RetryingRedis } from '../../redis/retry.ts';
import { hasTicket } from '../answer.ts';
import type { LedgerEntry, LedgerOptions, SharedAnswer, Teller } from '../options.ts';
import { FileLedger, type LedgerListener, type LookupListener } from '../run-ledger.ts';
import { WorkingFile, type SharedTotals } from '../working-file.ts';
import { digestOf, LEDGER_RIGHTS, mayUse, packAnswer, PURGED_KEY, RedisNames, type Rights } from './redis-keys.ts';
import { RedisClaims } from './redis-claims.ts';
import { ClaimHolder } from './claim-holder.ts';
import { TRY } from './scripts.ts';
import { AnswerWriter } from './redis-writer.ts';
import { present } from '../../util/assert.ts';

/** A short timeout at the start: a wrong host name looks like a server that is down. */
const OPEN_MS = 30_000;
/** The most time for the last answers after a stop. */
const STOP_MS = 5_000;
/** The most time for releasing claims. */
const GOODBYE_MS = 1_000;

interface RedisLedgerOptions extends LedgerOptions {
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
 * A ledger in Redis, shared by runs at the same time. The run works in a local file. A lookup that the file does not know is looked up and
 * claimed in Redis in one round trip. New answers go to Redis as they come.
 */
export class RedisLedger extends FileLedger {
  readonly #options: RedisLedgerOptions;
  readonly #working: WorkingFile;
  readonly #redis: RetryingRedis;
  readonly #names: RedisNames;
  readonly #rights: Rights;
  readonly #claims: RedisClaims;
  readonly #writer: AnswerWriter;
  readonly #holder: ClaimHolder;
  readonly #scopes = new Map<number, SharedAnswer['scope']>();
  #listener: LedgerListener = { moved: () => undefined, failed: () => undefined };
  #lastAt = 0;
  /** The run's spending as Redis had it at the start; null without any. */
  #spentBefore: string | null = null;
  #spentNow = (): string => '';
  /** Tickets on their way to Redis. */
  readonly #promising = new Set<Promise<void>>();

  private constructor(working: WorkingFile, redis: RetryingRedis, options: RedisLedgerOptions) {
    super(working.ledger);
    this.#options = options;
    this.#working = working;
    this.#redis = redis;
    this.#rights = options;
    this.#names = new RedisNames(options);
    const failed = (error: unknown): void => this.#listener.failed(error);
    this.#claims = new RedisClaims({
      redis,
      names: this.#names,
      holder: options.run,
      keySeed: options.keySeed,
      adopt: (ask, found) => this.#adopt(ask, found),
      moved: () => this.#listener.moved(),
      failed,
    });
    this.#writer = new AnswerWriter({ redis, names: this.#names, job: options.job, run: options.run, failed });
    this.#holder = new ClaimHolder(redis, this.#holderKey, () => this.#claims.claimAgain(), failed);
  }

  /**
   * @throws StorageError when Redis does not answer, ConfigError for a fault that waiting does not mend, MillraceError 77 for a wrong
   * password
   */
  static async open(uri: string, options: RedisLedgerOptions): Promise<RedisLedger> {
    let maxOutageMs = (): number => Math.min(OPEN_MS, options.maxOutageMs);
    const redis = new RetryingRedis(uri, LEDGER_RIGHTS, {
      maxOutageMs: () => (options.drain?.aborted === true ? STOP_MS : maxOutageMs()),
      wentDown: (said) =>
        options.tell.warn(
          'ledger_down',
          `the ledger in Redis does not answer (${said}); waiting for it, ${Math.round(options.maxOutageMs / 1_000)} s at most`,
        ),
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

  override ask(scope: number, key: string, onAnswer: LookupListener, unfit: string | null = null): void {
    const named = this.#named(scope);
    this.#claims.ask({ scope, named, key, digest: digestOf(named, key), unfit, onAnswer });
  }

  override release(scope: number, keys: readonly string[]): void {
    const named = this.#named(scope);
    void this.#claims.release(keys.map((key) => digestOf(named, key)));
  }

  override put(entries: readonly LedgerEntry[]): void {
    super.put(entries);
    const { job, run, now, failedUpTo = 0 } = this.#options;
    // Answers of a retry are younger than the failures that it asks again.
    const at = Math.max(now(), failedUpTo + 1);
    this.#write(entries.map(({ scope, key, answer }) => ({ scope: this.#named(scope), key, job, run, at, answer })));
  }

  override room(): Promise<void> | null {
    return this.#claims.room();
  }

  override mayCall(): true | Promise<void> {
    const kept = super.mayCall();
    return kept === true ? this.#holder.holds() : kept;
  }

  override async keep(): Promise<void> {
    this.file.flush();
    const upTo = this.file.lastAnswer();
    // Answers of other runs that were used since the last write count too.
    this.#writer.put([], this.#totals(), this.#spentNow());
    await Promise.all([this.#writer.written(), ...this.#promising]);
    this.#working.published(upTo, new Map());
  }

  /** By time: failures of other runs that were used here count too, up to now. */
  override lastAnswer(): number {
    return Math.max(this.#lastAt, this.#options.now());
  }

  /** Another machine that goes on with the run has no file of it. */
  override get spent(): readonly string[] {
    return this.#spentBefore === null ? super.spent : [...super.spent, this.#spentBefore];
  }

  override storeSpent(now: () => string): void {
    super.storeSpent(now);
    this.#spentNow = now;
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

  /** Reads the run's state in Redis, and sends the answers that a killed run could not send. */
  async #begin(): Promise<void> {
    await this.#redis.ask((client) => client.eval(TRY, 1, `${this.#holderKey}:try`));
    const known = await this.#redis.ask((client) => client.hgetall(this.#names.run(this.#options.run)));
    const number = (name: string): number => Number(known[name] ?? 0);
    this.#working.raise({ lookups: number('lookups'), reused: number('reused'), lastAt: number('lastAt') });
    this.#lastAt = this.#working.totals().lastAt;
    this.#spentBefore = known['spent'] ?? null;
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

  /** An open lookup is no answer for other runs. Its ticket goes into its claim, so that the next run to claim it has the ticket. */
  #write(all: readonly SharedAnswer[]): void {
    const answers = all.filter(({ answer }) => answer.kind !== 'asking');
    for (const open of all) if (open.answer.kind === 'asking' && hasTicket(open.answer.text)) this.#promise(open);
    for (const { at } of answers) this.#lastAt = Math.max(this.#lastAt, at);
    const kept = answers.map((answer) => ({ digest: digestOf(answer.scope, answer.key), value: packAnswer(answer) }));
    for (const { digest } of kept) this.#claims.answered(digest);
    this.#writer.put(kept, this.#totals(), this.#spentNow());
  }

  #promise(open: SharedAnswer): void {
    const kept = this.#claims.promise(open).catch((error: unknown) => this.#listener.failed(error));
    this.#promising.add(kept);
    void kept.then(() => this.#promising.delete(kept));
  }

  #adopt(
    {
      scope,
      named,
      key,
      unfit,
    }: { readonly scope: number; readonly named: SharedAnswer['scope']; readonly key: string; readonly unfit: string | null },
    found: SharedAnswer,
  ): SharedAnswer['answer'] | null {
    const same = found.key === key && found.scope.every((part, i) => part === named[i]);
    if (!same) return null;
    if (!mayUse(found, this.#rights)) {
      // A retry asks again for lookups that were counted before.
      if (found.run === this.#options.run && !this.file.hasFailed(scope, key)) this.file.take([found], () => undefined);
      return null;
    }
    this.file.adopt({ scope, key, answer: found.answer, ...(unfit === null ? {} : { again: true }) }, found);
    return found.answer;
  }

  get #holderKey(): string {
    return `${this.#names.holders}${this.#options.run}`;
  }

  #totals(): SharedTotals {
    return { ...this.file.totals(), lastAt: this.#lastAt };
  }

  #named(scope: number): SharedAnswer['scope'] {
    return present(this.#scopes.get(scope), 'an answer has a scope of this ledger');
  }
}

/**
 * A sentence about a server setting that would make the ledger lose answers; null without one. A server that hides its settings is trusted.
 */
async function storeWarning(redis: RetryingRedis): Promise<string | null> {
  const info = await redis.ask((client) => client.info()).catch(() => '');
  const of = (name: string): string | undefined => new RegExp(`^${name}:(\\S*)`, 'm').exec(info)?.[1];
  if ((of('maxmemory_policy') ?? 'noeviction') !== 'noeviction' && of('maxmemory') !== '0')
    return (
      'Redis evicts what it was told when its memory is full (maxmemory-policy ' +
      `${of('maxmemory_policy')}): what it forgets is paid for again`
    );
  return of('aof_enabled') === '0'
    ? 'Redis keeps no append-only file (appendonly no): what it forgets when it is restarted is paid for again'
    : null;
}
