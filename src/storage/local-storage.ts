/** A disk as the place of a job's files. */
import { access, readFile, stat } from 'node:fs/promises';
import { copyAs, replaceFile } from '../checkpoint/durable.ts';
import { removeFile, sweep } from '../checkpoint/fence.ts';
import { fileSha256 } from './file-digest.ts';
import { partialPath } from './names.ts';
import { digestAt, PartialFile, replaceInode } from './partial-file.ts';
import type { Storage } from './storage.ts';

export const localStorage: Storage = {
  exists,
  async readText(path) {
    try {
      return await readFile(path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  },
  replaceText: replaceFile,
  remove: removeFile,
  isUnchanged: async (path, { sha256 }) => (await fileSha256(path)) === sha256,
  version: async () => undefined,
  open: async (path, size, kept, fence, isFirst = false) => PartialFile.open(path, size, fence, isFirst, kept),
  holds: async (path, size, kept) => (await stat(partialPath(path)).then((found) => found.size, () => 0)) >= size && (await digestAt(partialPath(path), size, kept)) !== 'damaged',
  unfinished: async (path) => ((await exists(partialPath(path))) ? partialPath(path) : null),
  async reopen(path, _size, sha, fence) {
    if (await exists(path)) await copyAs(path, partialPath(path), fence);
    else await removeFile(partialPath(path), fence);
    return sha === undefined ? undefined : { parts: [], sha };
  },
  // It took the file's name.
  dropUnfinished: async () => undefined,
  sweep: (path) => sweep([path, partialPath(path)]),
  shutOutOfFile: replaceInode,
  // A text takes its name from a temporary file, and those are swept.
  shutOutOfText: async () => undefined,
};

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
