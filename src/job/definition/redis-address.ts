/** What the address of a Redis server may be. */
import { parseRedisUri, REDIS_URI_HINT } from '../../redis/uri.ts';
import { expand, type Surroundings } from './expand.ts';
import { variableOf } from './flags.ts';
import { KEY_BY_PATH } from './keys.ts';
import { nameOf, refusal, show, type Origin } from './origin.ts';

const PASSWORD = /^rediss?:\/\/[^/:]*:([^/]*)@/i;
const FROM_VARIABLE = /^\{env:[A-Za-z_][A-Za-z0-9_]*\}$/;

/**
 * A password is a variable's or stands in the variable of the address itself: flags are seen by everybody on the machine,
 * and job files are shared. @param path the key that the address is of
 * @throws UsageError for a flag, ConfigError otherwise
 */
export function refusePassword(written: string, path: string, origin: Origin): void {
  const password = PASSWORD.exec(written)?.[1];
  if (origin.layer === 'env' || password === undefined || FROM_VARIABLE.test(password)) return;
  throw refusal(origin, 'secret_in_job', `${nameOf(origin)}: a password does not belong into a flag or a job file`, `Write redis://:{env:REDIS_PASSWORD}@host:6379/0 and set that variable, or give the whole address by ${KEY_BY_PATH.get(path)?.variable ?? variableOf(path)}.`);
}

/** @throws UsageError for a flag, ConfigError otherwise */
export function checkRedisUri(uri: string, origin: Origin): void {
  if (parseRedisUri(uri) === null) throw refusal(origin, 'bad_value', `${nameOf(origin)} is no address of a Redis server: ${show(uri)}`, REDIS_URI_HINT);
}

/** `redis[s]://...`, with what its placeholders stand for. @throws UsageError for a flag, ConfigError otherwise */
export function expandRedisUri(written: string, path: string, origin: Origin, surroundings: Surroundings): string {
  refusePassword(written, path, origin);
  const uri = expand(written, origin, surroundings);
  checkRedisUri(uri, origin);
  return uri;
}
