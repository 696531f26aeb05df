import { RetryingRedis } from '../../redis/retry.ts';
import { asking, type LedgerAnswer } from '../answer.ts';
import { Ledger } from '../ledger.ts';
import type { RunLedgerOptions } from '../open-run-ledger.ts';
import type { SharedAnswer } from '../options.ts';
import type { LedgerLookup, ReadOnlyLedger } from '../read-only-ledger.ts';
import { digestOf, LEDGER_RIGHTS, mayUse, promiseIn, RedisNames, unpackAnswer, type Rights } from './redis-keys.ts';

const MAX_OUTAGE_MS = 30_000;
const ASKED_AT_ONCE = 512;

/** Reads a ledger in Redis without claims. Its answers go into a local file: memory does not grow with the input. */
export class RedisReadOnlyLedger implements ReadOnlyLedger {
  readonly #file: Ledger;
  readonly #redis: RetryingRedis;
  readonly #names: RedisNames;
  readonly #rights: Rights;
  readonly #scopes = new Map<number, SharedAnswer['scope']>();

  private constructor(file: Ledger, redis: RetryingRedis, options: RunLedgerOptions) {
    this.#file = file;
    this.#redis = redis;
    this.#names = new RedisNames(options);
    this.#rights = options;
  }

  static open({ uri, path }: { readonly uri: string; readonly path: string }, options: RunLedgerOptions): RedisReadOnlyLedger {
    const timeout = { maxOutageMs: () => MAX_OUTAGE_MS, wentDown: () => undefined, cameBack: () => undefined, signal: options.abort };
    return new RedisReadOnlyLedger(
      Ledger.open({ ...options, path, failedBy: 'time' }),
      new RetryingRedis(uri, LEDGER_RIGHTS, timeout),
      options,
    );
  }

  scope(origin: string, step: string, options: string): number {
    const scope = this.#file.scope(origin, step, options);
    this.#scopes.set(scope, [origin, step, options]);
    return scope;
  }

  look(scope: number, key: string): LedgerAnswer | null {
    return this.#file.get(scope, key) ?? asking(this.#file.promised(scope, key));
  }

  readonly fetch = async (lookups: readonly LedgerLookup[]): Promise<void> => {
    const unknown = lookups.filter(({ scope, key }) => this.#file.get(scope, key) === null);
    for (let from = 0; from < unknown.length; from += ASKED_AT_ONCE) await this.#fetchSome(unknown.slice(from, from + ASKED_AT_ONCE));
  };

  async close(): Promise<void> {
    this.#redis.close();
    this.#file.close();
  }

  async #fetchSome(some: readonly LedgerLookup[]): Promise<void> {
    const named = some.map(({ scope, key }) => ({ scope, key, names: this.#scopes.get(scope) ?? (['', '', ''] as const) }));
    const digests = named.map(({ names, key }) => digestOf(names, key));
    const values = await this.#redis.ask((client) =>
      client.mget(digests.flatMap((digest) => [this.#names.answer(digest), this.#names.claim(digest)])),
    );
    for (const [i, { scope, key, names }] of named.entries()) {
      const found = unpackAnswer(values[2 * i] ?? '');
      const open = promiseIn(values[2 * i + 1] ?? '')?.promise ?? null;
      const isMeant = (one: SharedAnswer): boolean => one.key === key && one.scope.every((part, at) => part === names[at]);
      if (found !== null && isMeant(found) && mayUse(found, this.#rights)) this.#file.adopt({ scope, key, answer: found.answer }, found);
      else if (open !== null && isMeant(open)) this.#file.take([open], () => undefined);
    }
  }
}
