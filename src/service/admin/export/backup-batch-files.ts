/** Copies the batch-job files that the copied store names into the folder where a service expects them. */
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { makeFolders } from '../../../util/files/make-folders.ts';
import { syncFolder } from '../../../util/files/sync-folder.ts';
import type { HeldFiles, NamedFile } from '../../batches/held-files.ts';

/**
 * Copies the files into the folder of the backup `to`. A complete file that exists already is not copied again: its content never changes,
 * and no name is used twice. So an earlier backup of this name stays complete until the new one replaces it, and a stopped copy can
 * continue.
 */
export async function bringFiles(to: string, { files }: HeldFiles, signal: AbortSignal): Promise<void> {
  const folders = new Set<string>();
  for (const { id, file, bytes, path } of files) {
    signal.throwIfAborted();
    const folder = join(`${to}.batches`, id);
    if (!folders.has(folder)) makeFolders(folder, 0o700);
    folders.add(folder);
    const place = join(folder, file);
    if ((await stat(place).catch(() => null))?.size === bytes) continue;
    await copyFirst(path, `${place}.partial`, bytes, signal);
    await rename(`${place}.partial`, place);
  }
  for (const folder of folders) await syncFolder(folder);
  if (folders.size === 0) return;
  await chmod(`${to}.batches`, 0o700);
  await syncFolder(`${to}.batches`);
}

/** Copies the first `bytes` of a file and flushes them. The service may append to the file meanwhile. */
export async function copyFirst(from: string, to: string, bytes: number, signal?: AbortSignal): Promise<void> {
  await rm(to, { force: true });
  const source = bytes === 0 ? [] : createReadStream(from, { end: bytes - 1 });
  await pipeline(source, createWriteStream(to, { flags: 'wx', mode: 0o600, flush: true }), signal === undefined ? {} : { signal });
}

/** Names of batch-job files and of the files that a stopped copy leaves. No other file is removed. */
const OURS = /^(?:part|results|room)-.*$/;

/** Removes files that the backup `to` no longer names. */
export async function dropOthers(to: string, files: readonly NamedFile[]): Promise<void> {
  const named = new Set(files.map(({ id, file }) => `${id}/${file}`));
  for (const id of await readdir(`${to}.batches`).catch(() => [])) {
    const folder = join(`${to}.batches`, id);
    for (const file of await readdir(folder).catch(() => []))
      if (OURS.test(file) && !named.has(`${id}/${file}`)) await rm(join(folder, file), { force: true });
    // Fails unless the folder is empty.
    await rmdir(folder).catch(() => undefined);
  }
  await rmdir(`${to}.batches`).catch(() => undefined);
}
