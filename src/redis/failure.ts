/** Classifies failures of Redis, and words them for the user. */
import { ConfigError, EXIT, MillraceError, StorageError } from '../util/errors.ts';
import { withoutSecret } from './uri.ts';

type RedisFault =
  /** No password, or a wrong one. */
  | 'credentials'
  /** An ACL forbids the command. */
  | 'rights'
  /** The server's certificate is not trusted. */
  | 'certificate'
  /** The server wants a client certificate, or another one. */
  | 'client-certificate'
  /** The client speaks TLS, the server seems not to. */
  | 'plain'
  /** The server speaks only TLS, the client does not. */
  | 'encrypted'
  /** Another kind of server answers. */
  | 'foreign'
  | 'database'
  /** The server only reads: a replica by mistake, or a primary that has just been demoted by a failover. */
  | 'replica'
  /** The server has no memory or disk left. */
  | 'full'
  /** The server refuses the command for good. */
  | 'refused'
  /** No connection, no answer, or a temporary refusal: worth another attempt. */
  | 'passing';

/** The error of a connection that was accepted and never answered in TLS. */
export const NO_HANDSHAKE = 'no answer to the TLS handshake';

/** Faults by the first word of an error reply (redis.io, "RESP protocol", Simple errors). */
const BY_WORD: Readonly<Record<string, RedisFault>> = {
  NOAUTH: 'credentials',
  WRONGPASS: 'credentials',
  NOPERM: 'rights',
  READONLY: 'replica',
  OOM: 'full',
  MISCONF: 'full',
  LOADING: 'passing',
  BUSY: 'passing',
  TRYAGAIN: 'passing',
  MOVED: 'passing',
  ASK: 'passing',
  CLUSTERDOWN: 'passing',
  MASTERDOWN: 'passing',
  NOREPLICAS: 'passing',
};

/** Faults by the text of an error. Before Redis 7.2, a missing right within a script has no word of its own. */
const BY_TEXT: readonly (readonly [RegExp, RedisFault])[] = [
  [/^ERR (AUTH|invalid password|Client sent AUTH)/i, 'credentials'],
  [/^ERR The user executing the script can't|ACL failure in script|\bNOPERM\b/i, 'rights'],
  [/^ERR (DB index is out of range|invalid DB index|SELECT is not allowed)/i, 'database'],
  [/-?\bREADONLY\b/, 'replica'],
  [/^ERR max number of clients/i, 'passing'],
  [/\b(?:LOADING|CLUSTERDOWN|MASTERDOWN|TRYAGAIN)\b/, 'passing'],
  // 21 is the first byte of a TLS alert.
  [/^Unknown RESP type 21\b/, 'encrypted'],
  [/^Unknown RESP type/, 'foreign'],
  // A balancer without a backend may look the same.
  [new RegExp(`^${NO_HANDSHAKE}|before secure TLS connection was established`), 'plain'],
];

/** Faults by error codes of Node (nodejs.org, "X509 certificate error codes") and of OpenSSL's alerts. */
const BY_CODE: readonly (readonly [RegExp, RedisFault])[] = [
  [/^(?:CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH)/, 'certificate'],
  [/^ERR_SSL_.*(?:ALERT.*CERTIFICATE|CERTIFICATE_REQUIRED|UNKNOWN_CA|HANDSHAKE_FAILURE)/, 'client-certificate'],
  [/^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST)/, 'plain'],
];

export function redisFaultOf(error: unknown): RedisFault {
  const { name = '', message = '', code = '' } = (error ?? {}) as { name?: string; message?: string; code?: unknown };
  const byWord = BY_WORD[message.split(' ', 1)[0] ?? ''];
  if (byWord !== undefined) return byWord;
  const known = BY_TEXT.find(([text]) => text.test(message)) ?? BY_CODE.find(([codes]) => codes.test(String(code)));
  return known?.[1] ?? (name === 'ReplyError' ? 'refused' : 'passing');
}

/** True when another attempt may succeed. */
export function mayPass(error: unknown): boolean {
  return !(error instanceof MillraceError) && (redisFaultOf(error) === 'passing' || isJudgedLate(error));
}

/** True for faults that look like a wrong address, but may also be a short failover or a balancer without a backend. */
export function isJudgedLate(error: unknown): boolean {
  return ['replica', 'plain'].includes(redisFaultOf(error));
}

/** True when the server does not have the database. */
export function isDatabaseRefusal(error: unknown): boolean {
  const { message = '' } = (error ?? {}) as { message?: string };
  return redisFaultOf(error) === 'database' || (redisFaultOf(error) === 'rights' && /'select'/.test(message));
}

const AGAIN = 'then run the same command: the job resumes.';

interface Circumstances {
  readonly uri: string;
  readonly waitedMs: number;
  /** True when this server has answered before, which proves the scheme of its address. */
  readonly answered: boolean;
  /** The ACL rights that the commands need, as ACL SETUSER takes them. */
  readonly rights: string;
}

/** The error for the user, with a hint. */
export function redisError(error: unknown, { uri, waitedMs, answered, rights }: Circumstances): MillraceError {
  if (error instanceof MillraceError) return error;
  const found = redisFaultOf(error);
  const fault = found === 'plain' && answered ? 'passing' : found;
  const said = withoutSecret(error instanceof Error && error.message !== '' ? error.message : String(error));
  const place = withoutSecret(uri);
  switch (fault) {
    case 'credentials':
      return new MillraceError(EXIT.refused, 'redis_credentials', `Redis at ${place} does not let us in (${said}).`, {
        hint: `Write the address as redis://:{env:REDIS_PASSWORD}@host:6379/0 and set that variable; ${AGAIN}`,
        cause: error,
      });
    case 'rights':
      return new ConfigError('redis_rights', `Redis at ${place} does not give this user the rights that are needed (${said}).`, {
        hint: `Give them: ACL SETUSER <user> ${rights}; ${AGAIN}`,
        cause: error,
      });
    case 'certificate':
      return new ConfigError('redis_certificate', `The certificate of Redis at ${place} is not trusted (${said}).`, {
        hint:
          `Name the authority's PEM file by ?cacert=/path/ca.pem at the end of the address, ` +
          `or by NODE_EXTRA_CA_CERTS, and use a host that the certificate names; ${AGAIN}`,
        cause: error,
      });
    case 'client-certificate':
      return new ConfigError('redis_client_certificate', `Redis at ${place} does not take our certificate, or wants one (${said}).`, {
        hint: `End the address in ?cert=/path/client.crt&key=/path/client.key, of an authority that the server trusts; ${AGAIN}`,
        cause: error,
      });
    case 'plain':
      return new ConfigError('redis_tls', `Redis at ${place} does not speak TLS on this port (${said}).`, {
        hint: `Write redis:// instead of rediss://, or the port for TLS; ${AGAIN}`,
        cause: error,
      });
    case 'encrypted':
      return new ConfigError('redis_tls', `Redis at ${place} speaks TLS on this port.`, {
        hint: `Write rediss:// instead of redis://; ${AGAIN}`,
        cause: error,
      });
    case 'foreign':
      return new ConfigError('redis_failed', `What answers at ${place} is no Redis server (${said}).`, {
        hint: `Check host and port; ${AGAIN}`,
        cause: error,
      });
    case 'database':
      return new ConfigError('redis_database', `Redis at ${place} does not have this database (${said}).`, {
        hint:
          'End the address in the number of a database that the server has, ' +
          `such as /0, or raise "databases" in its configuration; ${AGAIN}`,
        cause: error,
      });
    case 'replica':
      return new ConfigError('redis_replica', `Redis at ${place} only reads, and has for ${Math.round(waitedMs / 1_000)} s (${said}).`, {
        hint: `Name the primary's address, or one that follows it after a failover; ${AGAIN}`,
        cause: error,
      });
    case 'full':
      return new StorageError('redis_full', `Redis at ${place} has no room left (${said}).`, {
        hint: `Give it more memory or disk, or purge what is old (millrace ledger purge); ${AGAIN}`,
        cause: error,
      });
    case 'refused':
      return new ConfigError('redis_failed', `Redis at ${place} refuses what is needed (${said}).`, {
        hint: `It takes a Redis server of version 5 or later that permits scripts (EVAL); ${AGAIN}`,
        cause: error,
      });
    case 'passing':
      return new StorageError('redis_unavailable', `Redis at ${place} has not answered for ${Math.round(waitedMs / 1_000)} s (${said}).`, {
        hint: `${answered ? '' : suspicionOf(error)}Run the same command again once it does: the job resumes.`,
        cause: error,
      });
    default:
      return fault satisfies never;
  }
}

/** A hint about the address of a server that has never answered. The server may as well be down. */
function suspicionOf(error: unknown): string {
  const { code, message = '' } = (error ?? {}) as { code?: unknown; message?: string };
  if (code === 'ENOTFOUND') return "Check the host's spelling. ";
  return code === 'ECONNRESET' || /closed/.test(message) ? 'Check the scheme: a server that speaks TLS only wants rediss://. ' : '';
}
