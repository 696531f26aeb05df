/** A disk as the storage of a job's files. */
import { access, readFile, stat } from 'node:fs/promises';
import { copyAs, replaceFile } from './atomic-file.ts';
import { removeFile, sweep } from './fence.ts';
import { CHANGED, MISSING, shorter } from './failure.ts';
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
  async flaw(path, size, kept) {
    const found = await stat(partialPath(path)).then(
      (file) => file.size,
      () => null,
    );
    if ((found ?? 0) < size) return found === null ? MISSING : shorter(found, size);
    return (await digestAt(partialPath(path), size, kept)) === 'damaged' ? CHANGED : null;
  },
  unfinished: async (path) => ((await exists(partialPath(path))) ? partialPath(path) : null),
  async reopen(path, _size, sha, fence) {
    if (await exists(path)) await copyAs(path, partialPath(path), fence);
    else await removeFile(partialPath(path), fence);
    return sha === undefined ? undefined : { parts: [], sha };
  },
  // The unfinished file has become the finished one.
  dropUnfinished: async () => undefined,
  sweep: (path) => sweep([path, partialPath(path)]),
  revokeUnfinished: replaceInode,
  // A text is renamed from a temporary file, and `sweep` removes those.
  revokeText: async () => undefined,
};

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
