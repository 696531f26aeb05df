/** `redis://` and `rediss://` URIs. Pure. It does not load the client, because callers often only test whether a text is such a URI. */

export interface RedisAddress {
  readonly host: string;
  readonly port: number;
  readonly database: number;
  readonly tls: boolean;
  readonly username: string | null;
  readonly password: string | null;
  /** Paths of PEM files: trusted authorities instead of the default ones, the client's certificate, and its private key. */
  readonly cacert: string | null;
  readonly cert: string | null;
  readonly key: string | null;
}

const PORT = 6379;
const REDIS_URI = /^rediss?:\/\//i;
/** The parameters of a `rediss://` address, named like the options of redis-cli. */
const FILES: readonly string[] = ['cacert', 'cert', 'key'];

/** The hint for an address that cannot be parsed. */
export const REDIS_URI_HINT =
  'Write redis://host:6379/0, or rediss:// for TLS, which takes ?cacert=, ?cert= and ?key= with paths of PEM files (cert and key ' +
  'together); characters such as @ and / in a password are written %40 and %2F.';

export function isRedisUri(uri: string): boolean {
  return REDIS_URI.test(uri);
}

/**
 * Parses `redis://[user[:password]@]host[:port][/database]`; `rediss://` also takes `?cacert=PATH&cert=PATH&key=PATH`.
 * Null for anything else.
 */
export function parseRedisUri(uri: string): RedisAddress | null {
  if (!isRedisUri(uri) || !URL.canParse(uri)) return null;
  const { protocol, hostname, port, pathname, searchParams, hash, username, password } = new URL(uri);
  const database = /^\/?(\d{0,5})$/.exec(pathname)?.[1];
  const tls = protocol.toLowerCase() === 'rediss:';
  const files = tls ? filesOf(searchParams) : searchParams.size === 0 ? { cacert: null, cert: null, key: null } : null;
  if (hostname === '' || database === undefined || files === null || hash !== '') return null;
  try {
    return {
      // URLs write an IPv6 address in brackets, sockets do not.
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
function filesOf(parameters: URLSearchParams): Pick<RedisAddress, 'cacert' | 'cert' | 'key'> | null {
  const names = [...parameters.keys()];
  if (names.some((name) => !FILES.includes(name) || parameters.getAll(name).length > 1 || parameters.get(name) === '')) return null;
  if (parameters.has('cert') !== parameters.has('key')) return null;
  return { cacert: parameters.get('cacert'), cert: parameters.get('cert'), key: parameters.get('key') };
}

/** The server and database alone, without user, password and parameters. Only this form is shown, logged or stored. */
export function withoutSecret(uri: string): string {
  return isRedisUri(uri) ? uri.replace(/^([^:]+:\/\/)[^/]*@/, '$1').replace(/\?.*$/s, '') : uri;
}
