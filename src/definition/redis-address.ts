/** Checks the address of a Redis server. */
import { parseRedisUri, REDIS_URI_HINT } from '../redis/uri.ts';
import { expand, type ExpandContext } from './expand.ts';
import { variableOf } from './flags.ts';
import { KEY_BY_PATH } from './keys.ts';
import { originName, refusal, show, type Origin } from './origin.ts';

const PASSWORD = /^rediss?:\/\/[^/:]*:([^/]*)@/i;
const FROM_VARIABLE = /^\{env:[A-Za-z_][A-Za-z0-9_]*\}$/;

/**
 * Refuses a literal password. It must come from a variable: everybody on the machine sees flags, and job files are shared.
 * @param path the key of the address @throws UsageError for a flag, ConfigError otherwise
 */
export function refusePassword(written: string, path: string, origin: Origin): void {
  const password = PASSWORD.exec(written)?.[1];
  if (origin.layer === 'env' || password === undefined || FROM_VARIABLE.test(password)) return;
  throw refusal(
    origin,
    'secret_in_job',
    `${originName(origin)}: a password does not belong into a flag or a job file`,
    'Write redis://:{env:REDIS_PASSWORD}@host:6379/0 and set that variable, or give the whole address by ' +
      `${KEY_BY_PATH.get(path)?.variable ?? variableOf(path)}.`,
  );
}

/** @throws UsageError for a flag, ConfigError otherwise */
export function checkRedisUri(uri: string, origin: Origin): void {
  if (parseRedisUri(uri) === null)
    throw refusal(origin, 'bad_value', `${originName(origin)} is no address of a Redis server: ${show(uri)}`, REDIS_URI_HINT);
}

/** Expands the placeholders of `redis[s]://...`. @throws UsageError for a flag, ConfigError otherwise */
export function expandRedisUri(written: string, path: string, origin: Origin, surroundings: ExpandContext): string {
  refusePassword(written, path, origin);
  const uri = expand(written, origin, surroundings);
  checkRedisUri(uri, origin);
  return uri;
}
