/** What a ledger's address may be. */
import { isRedisUri, parseRedisUri } from '../../redis/uri.ts';
import { isS3Uri, parseS3Uri } from '../../s3/uri.ts';
import { checkLocal } from './check-local.ts';
import { expand, type Surroundings } from './expand.ts';
import { nameOf, refusal, show, type Origin } from './origin.ts';

const PASSWORD = /^rediss?:\/\/[^/:]*:([^/]*)@/i;
const FROM_VARIABLE = /^\{env:[A-Za-z_][A-Za-z0-9_]*\}$/;

/**
 * A path, `s3://bucket/name` or `redis[s]://...`, with what its placeholders stand for. A password is a variable's or
 * stands in the variable of the address itself: flags are seen by everybody on the machine, and job files are shared.
 * @throws UsageError for a flag, ConfigError otherwise
 */
export function expandLedgerUri(written: string, origin: Origin, surroundings: Surroundings): string {
  const password = PASSWORD.exec(written)?.[1];
  if (origin.layer !== 'env' && password !== undefined && !FROM_VARIABLE.test(password)) {
    throw refusal(origin, 'secret_in_job', `${nameOf(origin)}: a password does not belong into a flag or a job file`, 'Write redis://:{env:REDIS_PASSWORD}@host:6379/0 and set that variable, or give the whole address by MILLRACE_LEDGER.');
  }
  const uri = expand(written, origin, surroundings);
  if (isRedisUri(uri)) {
    if (parseRedisUri(uri) === null) throw refusal(origin, 'bad_value', `${nameOf(origin)} is no address of a Redis server: ${show(uri)}`, 'Write redis://host:6379/0, or rediss:// for TLS; characters such as @ and / in a password are written %40 and %2F.');
  } else if (isS3Uri(uri)) {
    if ((parseS3Uri(uri.replace(/\/+$/, ''))?.key ?? '') === '') throw refusal(origin, 'bad_value', `${nameOf(origin)} names no place in a bucket: ${show(uri)}`, 'Write s3://bucket/name: its parts lie below that name.');
  } else {
    checkLocal(uri, origin);
  }
  return uri;
}
