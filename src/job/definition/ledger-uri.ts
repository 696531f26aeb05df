/** What a ledger's address may be. */
import { isRedisUri } from '../../redis/uri.ts';
import { isS3Uri, parseS3Uri } from '../../s3/uri.ts';
import { checkLocal } from './check-local.ts';
import { expand, type Surroundings } from './expand.ts';
import { nameOf, refusal, show, type Origin } from './origin.ts';
import { checkRedisUri, refusePassword } from './redis-address.ts';

/**
 * A path, `s3://bucket/name` or `redis[s]://...`, with what its placeholders stand for. A password is a variable's or
 * stands in the variable of the address itself: flags are seen by everybody on the machine, and job files are shared.
 * @throws UsageError for a flag, ConfigError otherwise
 */
export function expandLedgerUri(written: string, origin: Origin, surroundings: Surroundings): string {
  refusePassword(written, 'ledger.uri', origin);
  const uri = expand(written, origin, surroundings);
  if (isRedisUri(uri)) {
    checkRedisUri(uri, origin);
  } else if (isS3Uri(uri)) {
    if ((parseS3Uri(uri.replace(/\/+$/, ''))?.key ?? '') === '') throw refusal(origin, 'bad_value', `${nameOf(origin)} names no place in a bucket: ${show(uri)}`, 'Write s3://bucket/name: its parts lie below that name.');
  } else {
    checkLocal(uri, origin);
  }
  return uri;
}
