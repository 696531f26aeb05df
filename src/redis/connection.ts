/** A connection to Redis that finds out whether the address leads to one server or to a cluster. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '../util/errors.ts';
import { openCluster, openServer, readRedisUri, type Cluster, type Redis } from './client.ts';
import { isDatabaseRefusal, mayPass, redisFaultOf } from './failure.ts';
import { withoutSecret, type RedisAddress } from './uri.ts';

/** The commands that the ledger and the shared quota use. In a cluster, all keys of one command must lie in one slot. */
export type RedisCommands = Pick<Redis, 'del' | 'eval' | 'evalsha' | 'get' | 'hgetall' | 'info' | 'lrange' | 'mget' | 'scan' | 'set'>;

/**
 * States:
 * - connecting: no client is ready yet.
 * - ready: the server is checked. INFO shows, before the first command, whether it is a cluster, has the database, and can be written.
 * - lost: the connection broke. The next one is checked again; a cluster's own changes are followed by the client.
 */
export class RedisConnection {
  readonly uri: string;
  readonly #place: RedisAddress;
  #server: Redis | null;
  #cluster: Cluster | null = null;
  /** True once the current connection of the single server has passed the check. */
  #checked = false;
  #checking: Promise<void> | null = null;
  /** The last error of the connection. It says more than "no connection". */
  #failure: unknown = null;
  #closed = false;

  /** @throws ConfigError when the text is not a Redis URI */
  constructor(uri: string) {
    this.uri = uri;
    this.#place = readRedisUri(uri);
    this.#server = openServer(this.#place);
    this.#server.on('error', (error: unknown) => this.#met(error));
    this.#server.on('close', () => {
      this.#checked = false;
    });
  }

  /** The client when commands can be sent now, else null. */
  get commands(): RedisCommands | null {
    if (this.#cluster !== null) return this.#cluster.status === 'ready' ? this.#cluster : null;
    return this.#checked && this.#server?.status === 'ready' ? this.#server : null;
  }

  /**
   * Waits until commands can be sent, then does `work`.
   * @throws ConfigError, or the server's error; without an answer, the last error of the connection
   */
  async use<T>(work: (commands: RedisCommands) => Promise<T>, connectWithinMs: number): Promise<T> {
    try {
      const done = await work(await this.#ready(connectWithinMs));
      this.#failure = null;
      return done;
    } catch (error) {
      // A missing answer may never come on this connection.
      if (error instanceof Error && error.message === 'Command timed out') this.renew();
      throw redisFaultOf(error) === 'passing' ? (this.#failure ?? error) : error;
    }
  }

  /** @throws ConfigError, or the error of the server or the connection */
  async #ready(withinMs: number): Promise<RedisCommands> {
    const untilMs = performance.now() + withinMs;
    for (;;) {
      const commands = this.commands;
      if (commands !== null) return commands;
      const client = this.#cluster ?? (this.#server as Redis);
      if (client.status === 'end' && !this.#closed) client.connect().catch(() => undefined);
      if (client.status !== 'ready') await readyWithin(client, untilMs - performance.now());
      if (client.status !== 'ready') throw this.#failure ?? new Error('no connection');
      if (client === this.#server) await (this.#checking ??= this.#check(client).finally(() => (this.#checking = null)));
    }
  }

  /** The masters. Each holds a part of the keys. Valid only within `use`. */
  get masters(): readonly RedisCommands[] {
    return this.#cluster === null ? [this.#server as Redis] : this.#cluster.nodes('master');
  }

  /** Drops commands under way, which may never be answered, and reconnects. */
  renew(): void {
    if (!this.#closed) (this.#cluster ?? this.#server)?.disconnect(true);
  }

  /** Does not wait for commands under way. */
  close(): void {
    this.#closed = true;
    this.#server?.disconnect();
    this.#cluster?.disconnect();
  }

  async #check(server: Redis): Promise<void> {
    if (isDatabaseRefusal(this.#failure)) throw this.#failure;
    const info = await server.info();
    const fact = (name: string): string | undefined => new RegExp(`^${name}:(\\S*)`, 'm').exec(info)?.[1];
    if (fact('cluster_enabled') === '1') {
      await this.#becomeCluster(server);
    } else if (fact('role') === 'slave') {
      // After a failover the address may lead to the new primary.
      server.disconnect(true);
      throw new Error(`READONLY it is a replica of ${fact('master_host') ?? 'another server'}:${fact('master_port') ?? ''}`);
    } else {
      this.#checked = true;
    }
  }

  async #becomeCluster(server: Redis): Promise<void> {
    if (this.#place.database !== 0)
      throw new ConfigError('redis_database', `Redis at ${withoutSecret(this.uri)} is a cluster, which has database 0 only.`, {
        hint: 'End the address in /0, or name a server that is no cluster.',
      });
    const slots = await server.cluster('SLOTS');
    // A node that does not know its own name leaves it out.
    const nodes = slots.flatMap(([, , ...places]) => places.map(([host, port]) => ({ host, port })).filter(({ host }) => Boolean(host)));
    if (this.#closed) throw new Error('Connection is closed.');
    this.#cluster = openCluster(this.#place, nodes);
    for (const event of ['error', 'node error'])
      this.#cluster.on(event, (error: { lastNodeError?: unknown }) => this.#met(error.lastNodeError ?? error));
    server.disconnect();
    this.#server = null;
  }

  /** Keeps the first cause: a closed connection says less than the error that closed it. */
  #met(error: unknown): void {
    if (this.#failure === null || redisFaultOf(error) !== 'passing' || redisFaultOf(this.#failure) === 'passing') this.#failure = error;
  }
}

/** Waits until a client is ready or has an error that waiting does not fix, for `ms` at most. */
async function readyWithin(client: Redis | Cluster, ms: number): Promise<void> {
  if (ms <= 0) return;
  const over = new AbortController();
  const end = (): void => over.abort();
  const met = (error: unknown): void => void (mayPass(error) || end());
  client.on('ready', end).on('error', met);
  await sleep(ms, undefined, { signal: over.signal }).catch(() => undefined);
  client.off('ready', end).off('error', met);
}
