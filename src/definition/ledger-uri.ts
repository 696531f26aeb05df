/** Parses and checks the address of a ledger. */
import { isRedisUri } from '../redis/uri.ts';
import { isS3Uri, parseS3Uri } from '../s3/uri.ts';
import { checkLocal } from './check-uris.ts';
import { expand, type ExpandContext } from './expand.ts';
import { originName, refusal, show, type Origin } from './origin.ts';
import { checkRedisUri, refusePassword } from './redis-address.ts';

/**
 * Expands the placeholders of a path, `s3://bucket/name` or `redis[s]://...`.
 * A password must come from a variable: everybody on the machine sees flags, and job files are shared.
 * @throws UsageError for a flag, ConfigError otherwise
 */
export function expandLedgerUri(written: string, origin: Origin, surroundings: ExpandContext): string {
  refusePassword(written, 'ledger.uri', origin);
  const uri = expand(written, origin, surroundings);
  if (isRedisUri(uri)) {
    checkRedisUri(uri, origin);
  } else if (isS3Uri(uri)) {
    if ((parseS3Uri(uri.replace(/\/+$/, ''))?.key ?? '') === '')
      throw refusal(
        origin,
        'bad_value',
        `${originName(origin)} names no place in a bucket: ${show(uri)}`,
        'Write s3://bucket/name: its parts lie below that name.',
      );
  } else {
    checkLocal(uri, origin);
  }
  return uri;
}
