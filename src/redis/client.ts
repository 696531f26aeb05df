/** Creates the clients for one Redis server and for a cluster. Every wait is bounded; callers decide what a failure means. */
import { readFile } from 'node:fs/promises';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import { AbstractConnector, Cluster, Redis, type RedisOptions } from 'ioredis';
import { ConfigError } from '../util/errors.ts';
import { NO_HANDSHAKE } from './failure.ts';
import { parseRedisUri, REDIS_URI_HINT, withoutSecret, type RedisAddress } from './uri.ts';

export type { Cluster, Redis } from 'ioredis';

const CONNECT_MS = 5_000;
/** Milliseconds until a command counts as failed: the connection may be half open. */
export const COMMAND_MS = 5_000;
const RECONNECT_MOST_MS = 1_000;
/** Milliseconds for the TLS handshake. A server without TLS accepts the connection and waits for the end of a line. */
const HANDSHAKE_MS = 2_000;
/** Milliseconds until a closing connection is cut. */
const CLOSE_MS = 2_000;

/** @throws ConfigError when the text is not a Redis URI */
export function readRedisUri(uri: string): RedisAddress {
  const place = parseRedisUri(uri);
  if (place === null)
    throw new ConfigError('bad_redis_uri', `${withoutSecret(uri)} is no address of a Redis server`, { hint: REDIS_URI_HINT });
  return place;
}

/**
 * Connects to one server, and reconnects whenever the connection is lost.
 * A command that cannot be sent at once, or is not answered in time, fails and is not sent again: the caller decides about a retry.
 */
export function openServer(place: RedisAddress): Redis {
  const client = new Redis({
    ...optionsOf(place),
    host: place.host,
    port: place.port,
    db: place.database,
    retryStrategy: reconnectAfterMs,
  });
  // The sender of a command gets its failure. Without this listener an error event would end the process.
  client.on('error', () => undefined);
  return client;
}

/** Connects to all nodes of a cluster and follows its changes. @param nodes known nodes, in case the node of the URI is gone */
export function openCluster(place: RedisAddress, nodes: readonly Pick<RedisAddress, 'host' | 'port'>[]): Cluster {
  const cluster = new Cluster(
    [place, ...nodes].map(({ host, port }) => ({ host, port })),
    {
      redisOptions: optionsOf(place),
      enableOfflineQueue: false,
      // A slot that is served can be used, even when the state of the whole cluster is "fail".
      enableReadyCheck: false,
      clusterRetryStrategy: reconnectAfterMs,
      slotsRefreshTimeout: COMMAND_MS,
      // A certificate names hosts, not the addresses behind them.
      dnsLookup: (address, found) => found(null, address),
      // The caller retries the failure of a missing node, and for longer than the client would.
      retryDelayOnClusterDown: 0,
    },
  );
  cluster.on('error', () => undefined);
  return cluster;
}

function reconnectAfterMs(times: number): number {
  return Math.random() * Math.min(RECONNECT_MOST_MS, 50 * 2 ** Math.min(times, 10));
}

function optionsOf(place: RedisAddress): Omit<RedisOptions, 'replyMapping'> {
  const { tls, username, password } = place;
  return {
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password }),
    // This option makes the client wait for the TLS handshake.
    ...(tls ? { tls: {} } : {}),
    Connector: connectorTo(place),
    // RESP 2: every server since 2.6 speaks it.
    protocol: 2,
    connectTimeout: CONNECT_MS,
    commandTimeout: COMMAND_MS,
    enableOfflineQueue: false,
    // `RedisConnection` checks the server itself, with one ACL right less.
    enableReadyCheck: false,
    disableClientInfo: true,
    autoResendUnfulfilledCommands: false,
    // Commands on a lost connection fail at once.
    maxRetriesPerRequest: 0,
    // After a failover this server only reads, and its address leads to the new primary.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  };
}

/**
 * Reads the certificates at each connection, because they may be renewed during a run.
 * ioredis listens to the first error of a connection. TLS may report a second one (the server's alert), which would end the process without
 * a listener.
 */
function connectorTo(place: RedisAddress): new (options: unknown) => AbstractConnector {
  return class extends AbstractConnector {
    readonly #to: { readonly host: string; readonly port: number };

    /** Options of one server, or of each node of a cluster. */
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
      this.stream =
        secureContext === null
          ? connect({ host, port })
          : connectTls({ host, port, secureContext, ...(isIP(host) === 0 ? { servername: host } : {}) });
      this.stream.on('error', () => undefined);
      if (secureContext !== null) limitHandshake(this.stream);
      return this.stream;
    }
  };
}

/** The time counts from the TCP connection on, so that an unreachable host is not reported as a TLS problem. */
function limitHandshake(stream: Socket): void {
  stream.once('connect', () => {
    const late = setTimeout(() => stream.destroy(new Error(NO_HANDSHAKE)), HANDSHAKE_MS);
    for (const event of ['secureConnect', 'close']) stream.once(event, () => clearTimeout(late));
  });
}

/** @throws ConfigError when a file cannot be read or has another content */
async function secureContextOf({ cacert, cert, key }: RedisAddress): Promise<SecureContext> {
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
  return new ConfigError('redis_certificate_file', `the certificate files of Redis cannot be used: ${path} (${said})`, {
    hint:
      '?cacert=, ?cert= and ?key= of the address take paths of PEM files; ' +
      'the key must have no passphrase and belong to the certificate.',
    cause: error,
  });
}
