/** The Redis client: a connection from a URI, with every wait bounded. Whoever uses it decides what a failure means. */
import { isIP } from 'node:net';
import { Redis } from 'ioredis';
import { ConfigError } from '../errors.ts';
import { parseRedisUri, withoutSecret } from './uri.ts';

export type { Redis } from 'ioredis';

const CONNECT_MS = 5_000;
/** An answer that takes longer is not coming: the connection may be half open. */
export const COMMAND_MS = 5_000;
const RECONNECT_MOST_MS = 1_000;

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
    ...(tls ? { tls: isIP(host) === 0 ? { servername: host } : {} } : {}),
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
