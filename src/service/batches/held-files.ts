/** The files of batch jobs as a store names them at one moment, held while they are copied. */
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { linkOrCopy } from '../../storage/link-or-copy.ts';
import type { Store } from '../store/store.ts';
import { newOwner, ownerIsGone } from './owner.ts';

/** A file that a store names, and how many of its bytes count. */
export interface NamedFile {
  readonly id: string;
  readonly file: string;
  readonly bytes: number;
}

/** Files of one moment, held by links of their own, so that the service may remove them meanwhile. */
export interface HeldFiles {
  readonly files: readonly (NamedFile & { readonly path: string })[];
  /** Named by the store, and not there. */
  readonly missing: readonly NamedFile[];
  release(): Promise<void>;
}

/** Every file of batch jobs that a store names. */
export function namedFiles(store: Store): NamedFile[] {
  return store.prepare('SELECT id, file, bytes FROM batch_files JOIN batches ON seq = batch ORDER BY batch, kind, n').all() as unknown as NamedFile[];
}

/** Links the files into a folder beside those of the store, which costs no disk. What killed backups have left there goes. @param store its path */
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

/** Removes what backups hold whose process has ended: it may name somebody who was erased since. @param store its path */
export async function releaseDead(store: string): Promise<void> {
  const prefix = `${basename(store)}${HELD}`;
  for (const name of await readdir(dirname(store)).catch(() => [])) {
    if (name.startsWith(prefix) && ownerIsGone(name.slice(prefix.length))) await rm(join(dirname(store), name), { recursive: true, force: true });
  }
}

/** False: it is not there, or shorter than what counts of it. */
async function hold(from: string, to: string, bytes: number): Promise<boolean> {
  try {
    await linkOrCopy(from, to);
    return (await stat(to)).size >= bytes;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
