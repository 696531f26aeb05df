/** The Redis clients, for one server and for a cluster, with every wait bounded. Their users decide what a failure means. */
import { readFile } from 'node:fs/promises';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import { AbstractConnector, Cluster, Redis, type RedisOptions } from 'ioredis';
import { ConfigError } from '../errors.ts';
import { NO_HANDSHAKE } from './failure.ts';
import { parseRedisUri, REDIS_URI_HINT, withoutSecret, type RedisPlace } from './uri.ts';

export type { Cluster, Redis } from 'ioredis';

const CONNECT_MS = 5_000;
/** An answer that takes longer is not coming: the connection may be half open. */
export const COMMAND_MS = 5_000;
const RECONNECT_MOST_MS = 1_000;
/** A server without TLS takes the connection, and waits for the end of a line. */
const HANDSHAKE_MS = 2_000;
/** A connection that is closed and stays open is cut after this long. */
const CLOSE_MS = 2_000;

/** @throws ConfigError when the URI is none */
export function readRedisUri(uri: string): RedisPlace {
  const place = parseRedisUri(uri);
  if (place === null) throw new ConfigError('bad_redis_uri', `${withoutSecret(uri)} is no address of a Redis server`, { hint: REDIS_URI_HINT });
  return place;
}

/**
 * Connects to one server, and again whenever the connection is lost. A command that cannot be sent at once, or is not answered
 * in time, fails and is not sent again: that is for the caller to decide.
 */
export function openServer(place: RedisPlace): Redis {
  const client = new Redis({ ...optionsOf(place), host: place.host, port: place.port, db: place.database, retryStrategy: reconnectAfterMs });
  // Its failures come to the sender of a command; without a listener they would end the process.
  client.on('error', () => undefined);
  return client;
}

/** Connects to all nodes of a cluster, and follows its changes. @param nodes some that are known, in case that of the URI is gone */
export function openCluster(place: RedisPlace, nodes: readonly Pick<RedisPlace, 'host' | 'port'>[]): Cluster {
  const cluster = new Cluster([place, ...nodes].map(({ host, port }) => ({ host, port })), {
    redisOptions: optionsOf(place),
    enableOfflineQueue: false,
    // The state of the whole cluster says little: a slot that is served can be used.
    enableReadyCheck: false,
    clusterRetryStrategy: reconnectAfterMs,
    slotsRefreshTimeout: COMMAND_MS,
    // A certificate names hosts, not the addresses behind them.
    dnsLookup: (address, found) => found(null, address),
    // The caller repeats what a missing node fails, for longer.
    retryDelayOnClusterDown: 0,
  });
  cluster.on('error', () => undefined);
  return cluster;
}

function reconnectAfterMs(times: number): number {
  return Math.random() * Math.min(RECONNECT_MOST_MS, 50 * 2 ** Math.min(times, 10));
}

function optionsOf(place: RedisPlace): Omit<RedisOptions, 'replyMapping'> {
  const { tls, username, password } = place;
  return {
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password }),
    // By this the client knows to wait for the handshake.
    ...(tls ? { tls: {} } : {}),
    Connector: connectorTo(place),
    // Every server since 2.6 speaks it.
    protocol: 2,
    connectTimeout: CONNECT_MS,
    commandTimeout: COMMAND_MS,
    enableOfflineQueue: false,
    // `RedisConnection` asks by itself, and needs one right less.
    enableReadyCheck: false,
    disableClientInfo: true,
    autoResendUnfulfilledCommands: false,
    // What a lost connection was asked fails at once.
    maxRetriesPerRequest: 0,
    // A failover leaves us with a server that only reads: the address leads to the other one by now.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  };
}

/**
 * Reads the certificates at each connection, because they are renewed while a run goes on. ioredis hears the first error of a
 * connection; TLS may report a second one, the server's alert, which nobody would hear and which would end the process.
 */
function connectorTo(place: RedisPlace): new (options: unknown) => AbstractConnector {
  return class extends AbstractConnector {
    readonly #to: { readonly host: string; readonly port: number };

    /** Of the server, or of each node of a cluster. */
    constructor(options: unknown) {
      super(CLOSE_MS);
      const { host, port } = options as { host?: string; port?: number };
      this.#to = { host: host ?? place.host, port: port ?? place.port };
    }

    override async connect(): Promise<Socket> {
      const { host, port } = this.#to;
      this.connecting = true;
      const secureContext = place.tls ? await secureContextOf(place) : null;
      if (!this.connecting) throw new Error('Connection is closed.');
      this.stream = secureContext === null ? connect({ host, port }) : connectTls({ host, port, secureContext, ...(isIP(host) === 0 ? { servername: host } : {}) });
      this.stream.on('error', () => undefined);
      if (secureContext !== null) limitHandshake(this.stream);
      return this.stream;
    }
  };
}

/** Time runs from the connection on: a host that is away says nothing of TLS. */
function limitHandshake(stream: Socket): void {
  stream.once('connect', () => {
    const late = setTimeout(() => stream.destroy(new Error(NO_HANDSHAKE)), HANDSHAKE_MS);
    for (const event of ['secureConnect', 'close']) stream.once(event, () => clearTimeout(late));
  });
}

/** @throws ConfigError for a file that cannot be read, or holds something else */
async function secureContextOf({ cacert, cert, key }: RedisPlace): Promise<SecureContext> {
  const read = async (path: string | null): Promise<Buffer | undefined> => {
    if (path === null) return undefined;
    try {
      return await readFile(path);
    } catch (error) {
      throw fileRefusal(path, error);
    }
  };
  const [authority, certificate, privateKey] = await Promise.all([read(cacert), read(cert), read(key)]);
  try {
    return createSecureContext({ ca: authority, cert: certificate, key: privateKey });
  } catch (error) {
    throw fileRefusal([cacert, cert, key].filter((path) => path !== null).join(', '), error);
  }
}

function fileRefusal(path: string, error: unknown): ConfigError {
  const said = error instanceof Error ? error.message : String(error);
  return new ConfigError('redis_certificate_file', `the certificate files of Redis cannot be used: ${path} (${said})`, { hint: '?cacert=, ?cert= and ?key= of the address take paths of PEM files; the key must have no passphrase and belong to the certificate.', cause: error });
}
