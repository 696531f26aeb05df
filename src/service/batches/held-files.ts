/** A snapshot of the files of batch jobs for a backup. Hard links preserve the files while they are copied. */
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { linkOrCopy } from '../../util/files/link-or-copy.ts';
import type { Store } from '../store/store.ts';
import { newOwner, ownerIsGone } from './owner.ts';

/** A file that the store names, and its committed bytes. */
export interface NamedFile {
  readonly id: string;
  readonly file: string;
  readonly bytes: number;
}

/** Hard links to the files of one moment. The service may remove its own names meanwhile. */
export interface HeldFiles {
  readonly files: readonly (NamedFile & { readonly path: string })[];
  /** Files that the store names, but that are missing or too short on the disk. */
  readonly missing: readonly NamedFile[];
  /** Removes the hard links. */
  release(): Promise<void>;
}

/** All files of batch jobs that the store names. */
export function namedFiles(store: Store): NamedFile[] {
  return store.books
    .prepare('SELECT id, file, bytes FROM batch_files JOIN batches ON seq = batch ORDER BY batch, kind, n')
    .all() as unknown as NamedFile[];
}

/**
 * Hard-links the files into a folder beside the store. Removes the folders of killed backups first.
 * @param store the path of the store
 */
export async function holdFiles(store: string, files: readonly NamedFile[]): Promise<HeldFiles> {
  await releaseDead(store);
  if (files.length === 0) return { files: [], missing: [], release: async () => undefined };
  const folder = `${store}${HELD}${newOwner()}`;
  const release = (): Promise<void> => rm(folder, { recursive: true, force: true });
  const [held, missing]: [(NamedFile & { path: string })[], NamedFile[]] = [[], []];
  try {
    await mkdir(folder, { mode: 0o700 });
    for (const [at, named] of files.entries()) {
      const path = join(folder, String(at));
      if (await hold(join(`${store}.batches`, named.id, named.file), path, named.bytes)) held.push({ ...named, path });
      else missing.push(named);
    }
  } catch (error) {
    await release();
    throw error;
  }
  return { files: held, missing, release };
}

const HELD = '.batches.backup-';

/** Removes the snapshots of ended processes, because they may name erased people. @param store the path of the store */
export async function releaseDead(store: string): Promise<void> {
  const prefix = `${basename(store)}${HELD}`;
  for (const name of await readdir(dirname(store)).catch(() => [])) {
    if (name.startsWith(prefix) && ownerIsGone(name.slice(prefix.length)))
      await rm(join(dirname(store), name), { recursive: true, force: true });
  }
}

/** Links a file. Returns false if it is missing, or shorter than its committed bytes. */
async function hold(from: string, to: string, bytes: number): Promise<boolean> {
  try {
    await linkOrCopy(from, to);
    return (await stat(to)).size >= bytes;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
