/** Which storage a path or uri belongs to. */
import { isS3Uri } from '../s3/uri.ts';
import { localStorage } from './local-storage.ts';
import type { Storage } from './storage.ts';

/** S3's is loaded when something lies there: that takes a tenth of a second. */
export async function storageOf(path: string): Promise<Storage> {
  return isS3Uri(path) ? (await import('./s3-storage.ts')).s3Storage() : localStorage;
}
