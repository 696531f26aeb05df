/** Where a ledger lies. Pure. */
import { isRedisUri } from '../redis/uri.ts';
import { isS3Uri } from '../s3/uri.ts';

/** `path`: of a shared ledger, the file on this machine in which a run works. */
export type LedgerPlace =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 's3'; readonly uri: string; readonly path: string }
  | { readonly kind: 'redis'; readonly uri: string; readonly path: string };

/** Several machines may use it. */
export function isShared(uri: string): boolean {
  return isS3Uri(uri) || isRedisUri(uri);
}

/** @param path the file itself, or of a shared ledger the one to work in */
export function ledgerPlace(uri: string, path: string): LedgerPlace {
  if (isS3Uri(uri)) return { kind: 's3', uri, path };
  return isRedisUri(uri) ? { kind: 'redis', uri, path } : { kind: 'file', path };
}
