/** What went wrong with Redis, by kind, and in words. */
import { EXIT, MillraceError, StorageError } from '../errors.ts';
import { withoutSecret } from './uri.ts';

export type RedisFault =
  /** No password, a wrong one, or not enough rights. */
  | 'credentials'
  /** No memory or disk is left for what is written. */
  | 'full'
  /** It will not do this, however often it is asked. */
  | 'refused'
  /** No connection, no answer, or not now: worth another attempt. */
  | 'passing';

/** Error replies by their first word (redis.io, "RESP protocol", Simple errors). */
const BY_WORD: Readonly<Record<string, RedisFault>> = {
  NOAUTH: 'credentials',
  WRONGPASS: 'credentials',
  NOPERM: 'credentials',
  OOM: 'full',
  MISCONF: 'full',
  LOADING: 'passing',
  BUSY: 'passing',
  TRYAGAIN: 'passing',
  CLUSTERDOWN: 'passing',
  MASTERDOWN: 'passing',
  READONLY: 'passing',
  NOREPLICAS: 'passing',
};

export function redisFaultOf(error: unknown): RedisFault {
  const { name = '', message = '' } = error as { name?: string; message?: string };
  if (/^ERR (AUTH|invalid password|Client sent AUTH)/i.test(message)) return 'credentials';
  const known = BY_WORD[message.split(' ', 1)[0] ?? ''];
  if (known !== undefined) return known;
  return name === 'ReplyError' ? 'refused' : 'passing';
}

/** For the person who meets it. */
export function redisError(error: unknown, uri: string, waitedMs: number): MillraceError {
  if (error instanceof MillraceError) return error;
  const fault = redisFaultOf(error);
  const said = withoutSecret(error instanceof Error && error.message !== '' ? error.message : String(error));
  const place = withoutSecret(uri);
  switch (fault) {
    case 'credentials':
      return new MillraceError(EXIT.refused, 'redis_credentials', `Redis at ${place} does not let us in (${said}).`, { hint: 'Write the address as redis://:{env:REDIS_PASSWORD}@host:6379/0 and set that variable; then run the same command: the job resumes.', cause: error });
    case 'full':
      return new StorageError('redis_full', `Redis at ${place} has no room left (${said}).`, { hint: 'Give it more memory or disk, or purge what is old (millrace ledger purge); then run the same command: the job resumes.', cause: error });
    case 'refused':
      return new StorageError('redis_failed', `Redis at ${place} refuses what a ledger needs (${said}).`, { hint: 'It takes a Redis server of version 5 or later, no cluster; then run the same command: the job resumes.', cause: error });
    case 'passing':
      return new StorageError('redis_unavailable', `Redis at ${place} has not answered for ${Math.round(waitedMs / 1_000)} s (${said}).`, { hint: 'Run the same command again once it does: the job resumes.', cause: error });
    default:
      return fault satisfies never;
  }
}
