/** Chooses the storage that a path or uri belongs to. */
import { isS3Uri } from '../s3/uri.ts';
import { storageFailure } from './failure.ts';
import { localStorage } from './local-storage.ts';
import type { Storage } from './storage.ts';

/** The S3 storage is loaded on first use, because loading the SDK takes a tenth of a second. */
export async function storageOf(path: string): Promise<Storage> {
  return inWords(isS3Uri(path) ? await (await import('./s3-storage.ts')).s3Storage() : localStorage);
}

/** Turns failures into errors that end the run with 74, except for texts and `reopen`, whose callers have codes of their own. */
function inWords(storage: Storage): Storage {
  return {
    exists: (path) => worded(path, 'looked for', storage.exists(path)),
    readText: (path, mostBytes) => storage.readText(path, mostBytes),
    replaceText: (path, text, fence) => storage.replaceText(path, text, fence),
    remove: (path, fence) => worded(path, 'removed', storage.remove(path, fence)),
    isUnchanged: (path, was) => worded(path, 'compared with what was written', storage.isUnchanged(path, was)),
    version: (path) => worded(path, 'looked at', storage.version(path)),
    open: (path, size, kept, fence, isFirst) => worded(path, 'opened', storage.open(path, size, kept, fence, isFirst)),
    flaw: (path, size, kept) => worded(path, 'looked at', storage.flaw(path, size, kept)),
    unfinished: (path) => worded(path, 'looked for', storage.unfinished(path)),
    reopen: (path, size, sha, fence) => storage.reopen(path, size, sha, fence),
    dropUnfinished: (path, fence) => storage.dropUnfinished(path, fence),
    sweep: (path, fence) => worded(path, 'cleared of what runs before have left', storage.sweep(path, fence)),
    revokeUnfinished: (path, fence) => worded(path, 'taken over', storage.revokeUnfinished(path, fence)),
    revokeText: (path, fence) => worded(path, 'taken over', storage.revokeText(path, fence)),
  };
}

async function worded<T>(path: string, what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw storageFailure(path, what, error);
  }
}
