/** `redis://` and `rediss://` URIs. Pure, and without the client: what only asks whether a name is one must not load it. */

export interface RedisPlace {
  readonly host: string;
  readonly port: number;
  readonly database: number;
  readonly tls: boolean;
  readonly username: string | null;
  readonly password: string | null;
  /** Paths of PEM files: the authorities to trust in place of the usual ones, the client's certificate, and its private key. */
  readonly cacert: string | null;
  readonly cert: string | null;
  readonly key: string | null;
}

const PORT = 6379;
const REDIS_URI = /^rediss?:\/\//i;
/** The parameters of a `rediss://` address, named as the options of redis-cli. */
const FILES: readonly string[] = ['cacert', 'cert', 'key'];

/** What to write instead of an address that cannot be read. */
export const REDIS_URI_HINT = 'Write redis://host:6379/0, or rediss:// for TLS, which takes ?cacert=, ?cert= and ?key= with paths of PEM files (cert and key together); characters such as @ and / in a password are written %40 and %2F.';

export function isRedisUri(uri: string): boolean {
  return REDIS_URI.test(uri);
}

/** `redis://[user[:password]@]host[:port][/database]`, of `rediss://` also `?cacert=PATH&cert=PATH&key=PATH`; null when it is something else. */
export function parseRedisUri(uri: string): RedisPlace | null {
  if (!isRedisUri(uri) || !URL.canParse(uri)) return null;
  const { protocol, hostname, port, pathname, searchParams, hash, username, password } = new URL(uri);
  const database = /^\/?(\d{0,5})$/.exec(pathname)?.[1];
  const tls = protocol.toLowerCase() === 'rediss:';
  const files = tls ? filesOf(searchParams) : searchParams.size === 0 ? { cacert: null, cert: null, key: null } : null;
  if (hostname === '' || database === undefined || files === null || hash !== '') return null;
  try {
    return {
      // As URLs write an IPv6 address, and sockets do not.
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? PORT : Number(port),
      database: Number(database),
      tls,
      username: username === '' ? null : decodeURIComponent(username),
      password: password === '' ? null : decodeURIComponent(password),
      ...files,
    };
  } catch {
    return null;
  }
}

/** Null when a parameter is unknown, empty or repeated, or when a certificate comes without its key. */
function filesOf(parameters: URLSearchParams): Pick<RedisPlace, 'cacert' | 'cert' | 'key'> | null {
  const names = [...parameters.keys()];
  if (names.some((name) => !FILES.includes(name) || parameters.getAll(name).length > 1 || parameters.get(name) === '')) return null;
  if (parameters.has('cert') !== parameters.has('key')) return null;
  return { cacert: parameters.get('cacert'), cert: parameters.get('cert'), key: parameters.get('key') };
}

/** The server and database alone, without user, password and parameters: what may be shown, logged and kept. */
export function withoutSecret(uri: string): string {
  return isRedisUri(uri) ? uri.replace(/^([^:]+:\/\/)[^/]*@/, '$1').replace(/\?.*$/s, '') : uri;
}
