/** `redis://` and `rediss://` URIs. Pure, and without the client: what only asks whether a name is one must not load it. */

export interface RedisPlace {
  readonly host: string;
  readonly port: number;
  readonly database: number;
  readonly tls: boolean;
  readonly username: string | null;
  readonly password: string | null;
}

const PORT = 6379;
const REDIS_URI = /^rediss?:\/\//i;

export function isRedisUri(uri: string): boolean {
  return REDIS_URI.test(uri);
}

/** `redis[s]://[user[:password]@]host[:port][/database]`; null when it is something else. */
export function parseRedisUri(uri: string): RedisPlace | null {
  if (!isRedisUri(uri) || !URL.canParse(uri)) return null;
  const { protocol, hostname, port, pathname, search, hash, username, password } = new URL(uri);
  const database = /^\/?(\d{0,5})$/.exec(pathname)?.[1];
  if (hostname === '' || database === undefined || search !== '' || hash !== '') return null;
  try {
    return {
      // As URLs write an IPv6 address, and sockets do not.
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? PORT : Number(port),
      database: Number(database),
      tls: protocol.toLowerCase() === 'rediss:',
      username: username === '' ? null : decodeURIComponent(username),
      password: password === '' ? null : decodeURIComponent(password),
    };
  } catch {
    return null;
  }
}

/** The same without user and password: what may be shown, logged and kept. */
export function withoutSecret(uri: string): string {
  return isRedisUri(uri) ? uri.replace(/^([^:]+:\/\/)[^/]*@/, '$1') : uri;
}
