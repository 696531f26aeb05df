/** Which storage a path or uri belongs to. */
import { isS3Uri } from '../s3/uri.ts';
import { localStorage } from './local-storage.ts';
import type { Storage } from './storage.ts';

/** The run is to stop at once: a storage that does not answer is not waited for, but for a moment. */
export async function stopWaiting(path: string): Promise<void> {
  if (isS3Uri(path)) (await import('./s3-storage.ts')).stopWaiting();
}

/** S3's is loaded when something lies there: that takes a tenth of a second. */
export async function storageOf(path: string): Promise<Storage> {
  return isS3Uri(path) ? (await import('./s3-storage.ts')).s3Storage() : localStorage;
}
