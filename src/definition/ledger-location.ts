/** The location of a ledger: a file, S3 or Redis. Pure. */
import { isRedisUri } from '../redis/uri.ts';
import { isS3Uri } from '../s3/uri.ts';

/** `path` is the ledger file; for a shared ledger it is the run's working file on this machine. */
export type LedgerLocation =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 's3'; readonly uri: string; readonly path: string }
  | { readonly kind: 'redis'; readonly uri: string; readonly path: string };

/** True for a ledger that several machines may use. */
export function isShared(uri: string): boolean {
  return isS3Uri(uri) || isRedisUri(uri);
}

/** @param path the ledger file, or the working file of a shared ledger */
export function ledgerLocation(uri: string, path: string): LedgerLocation {
  if (isS3Uri(uri)) return { kind: 's3', uri, path };
  return isRedisUri(uri) ? { kind: 'redis', uri, path } : { kind: 'file', path };
}
