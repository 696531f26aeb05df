import { randomUUID } from 'node:crypto';
import { RetryingRedis } from '../../redis/retry.ts';
import type { LedgerContents } from '../contents.ts';
import type { SharedAnswer } from '../options.ts';
import type { Purged, PurgeFilter } from '../purge.ts';
import { countStep, SharedCounts, sharedPurgeTest } from '../shared-counts.ts';
import type { LedgerStats } from '../stats.ts';
import { CLAIM_MS } from './redis-claims.ts';
import { ANSWER_PATTERN, CLAIM_PATTERN, LEDGER_RIGHTS, promiseIn, PURGED_KEY, tagOf, unpackAnswer } from './redis-keys.ts';
import { FORGET, FORGET_PROMISE } from './scripts.ts';

const PATIENCE_MS = 15_000;
/** Keys looked at in one step of a scan, about. */
const SCANNED_AT_ONCE = 500;

type Client = Parameters<Parameters<RetryingRedis['ask']>[0]>[0];

interface Found {
  readonly key: string;
  readonly value: string;
  readonly answer: SharedAnswer;
}

/** A whole ledger in Redis: all answers of the database, read by scans that do not block other clients. */
export class RedisContents implements LedgerContents {
  readonly #redis: RetryingRedis;

  private constructor(redis: RetryingRedis) {
    this.#redis = redis;
  }

  static open(uri: string): RedisContents {
    return new RedisContents(
      new RetryingRedis(uri, LEDGER_RIGHTS, {
        maxOutageMs: () => PATIENCE_MS,
        wentDown: () => undefined,
        cameBack: () => undefined,
        signal: undefined,
      }),
    );
  }

  async stats(options: { maxAgeDays: number; now: number }): Promise<LedgerStats> {
    const counts = new SharedCounts(options);
    for await (const found of this.#all(ANSWER_PATTERN, unpackAnswer)) {
      const answers = found.map(({ answer }) => answer);
      counts.add(
        found.reduce((sum, one) => sum + bytesOf(one), 0),
        answers,
        answers,
      );
    }
    return counts.stats();
  }

  /**
   * An answer that is replaced meanwhile stays, because a run has asked for it again. Open promises go as answers do: a ticket may name a
   * person. Their claims stay without them.
   */
  async purge(filter: PurgeFilter): Promise<Purged> {
    const meant = sharedPurgeTest(filter);
    const steps: Record<string, number> = {};
    const bytes = { before: 0, freed: 0 };
    const remove = async (found: readonly Found[], forget: (client: Client, one: Found) => Promise<unknown>): Promise<void> => {
      const chosen = found.filter(({ answer }) => meant(answer));
      const gone = await this.#redis.ask((client) => Promise.all(chosen.map((one) => forget(client, one))));
      bytes.before += found.reduce((sum, one) => sum + bytesOf(one), 0);
      for (const [i, one] of chosen.entries()) {
        if (gone[i] !== 1) continue;
        countStep(steps, one.answer);
        bytes.freed += bytesOf(one);
      }
    };
    for await (const found of this.#all(ANSWER_PATTERN, unpackAnswer))
      await remove(found, (client, { key, value }) => client.eval(FORGET, 1, key, value));
    for await (const found of this.#all(CLAIM_PATTERN, (claim) => promiseIn(claim)?.promise ?? null))
      await remove(found, (client, { key, value }) => client.eval(FORGET_PROMISE, 1, key, value, promiseIn(value)?.rest ?? '', CLAIM_MS));
    const answers = Object.values(steps).reduce((sum, n) => sum + n, 0);
    if (answers > 0) await this.#redis.ask((client) => client.set(PURGED_KEY, randomUUID()));
    return { answers, steps, bytes: { before: bytes.before, after: bytes.before - bytes.freed } };
  }

  close(): void {
    this.#redis.close();
  }

  /** A scan may report a key twice (redis.io, SCAN). Duplicates within a batch are removed, which are nearly all. */
  async *#all(pattern: string, read: (value: string) => SharedAnswer | null): AsyncGenerator<Found[], void, void> {
    const masters = await this.#redis.ask(async () => this.#redis.masters.length);
    for (let master = 0; master < masters; master++) yield* this.#allOf(master, pattern, read);
  }

  /** The values of one master: a part of a cluster, or all of a single server. */
  async *#allOf(master: number, pattern: string, read: (value: string) => SharedAnswer | null): AsyncGenerator<Found[], void, void> {
    let cursor = '0';
    do {
      const [next, keys] = await this.#redis.ask((client) =>
        (this.#redis.masters[master] ?? client).scan(cursor, 'MATCH', pattern, 'COUNT', SCANNED_AT_ONCE),
      );
      cursor = next;
      // A cluster takes keys of one ledger at a time.
      for (const names of Map.groupBy(new Set(keys), tagOf).values()) {
        const values = await this.#redis.ask((client) => client.mget(names));
        yield names.flatMap((key, i) => {
          const value = values[i] ?? null;
          const answer = value === null ? null : read(value);
          return value === null || answer === null ? [] : [{ key, value, answer }];
        });
      }
    } while (cursor !== '0');
  }
}

function bytesOf({ key, value }: Found): number {
  return key.length + Buffer.byteLength(value);
}
