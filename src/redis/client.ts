/** The Redis client: a connection from a URI, with every wait bounded. Whoever uses it decides what a failure means. */
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, Redis } from 'ioredis';
import { ConfigError } from '../errors.ts';
import { parseRedisUri, withoutSecret } from './uri.ts';

export type { Redis } from 'ioredis';

const CONNECT_MS = 5_000;
/** An answer that takes longer is not coming: the connection may be half open. */
export const COMMAND_MS = 5_000;
const RECONNECT_MOST_MS = 1_000;
/** A connection that is closed and stays open is cut after this long. */
const CLOSE_MS = 2_000;

/**
 * Connects, and again whenever the connection is lost. A command that cannot be sent at once, or is not answered in time,
 * fails and is not sent again: that is for the caller to decide.
 * @throws ConfigError when the URI is none
 */
export function openRedis(uri: string): Redis {
  const place = parseRedisUri(uri);
  if (place === null) throw new ConfigError('bad_redis_uri', `${withoutSecret(uri)} is no address of a Redis server`, { hint: 'Write redis://host:6379/0, or rediss:// for TLS; characters such as @ and / in a password are written %40 and %2F.' });
  const { host, port, database, tls, username, password } = place;
  const client = new Redis({
    host,
    port,
    db: database,
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password }),
    // By this the client knows to wait for the handshake.
    ...(tls ? { tls: {} } : {}),
    Connector: connectorTo(() => (tls ? connectTls({ host, port, ...(isIP(host) === 0 ? { servername: host } : {}) }) : connect({ host, port }))),
    // Every server since 2.6 speaks it.
    protocol: 2,
    connectTimeout: CONNECT_MS,
    commandTimeout: COMMAND_MS,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: null,
    retryStrategy: (times) => Math.random() * Math.min(RECONNECT_MOST_MS, 50 * 2 ** Math.min(times, 10)),
    // A failover leaves us with a server that only reads: the address leads to the other one by now.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  });
  // Its failures come to whoever sends a command; without a listener they would end the process.
  client.on('error', () => undefined);
  return client;
}

/** ioredis hears the first error of a connection, and TLS may tell of a second: of the server's alert after a certificate that we refused. Nobody would hear that one, and it would end the process. */
function connectorTo(open: () => Socket): new () => AbstractConnector {
  return class extends AbstractConnector {
    constructor() {
      super(CLOSE_MS);
    }

    override async connect(): Promise<Socket> {
      this.stream = open();
      this.stream.on('error', () => undefined);
      return this.stream;
    }
  };
}
