/** Resolves a path, a directory or a glob into files on this machine. */
import { glob, opendir, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { InputError } from '../util/errors.ts';
import { sourceError, statSource } from './local-source.ts';
import { formatOfName, GLOB, isPassedOver } from './file-names.ts';
import type { Found, LookOptions } from './source.ts';

/** A directory stands for its own csv, tsv and jsonl files, without subfolders. @throws InputError `input_missing`, `input_unreadable` */
export async function findLocal(uri: string, mayLack: boolean, { signal }: LookOptions): Promise<Found> {
  const known = await kindOf(uri, mayLack || GLOB.test(uri));
  if (known === 'file') return { named: true, files: [{ uri, path: resolve(uri) }] };
  const names = known === 'directory' ? await listDirectory(uri) : GLOB.test(uri) ? await matchGlob(uri, signal) : [];
  return { named: false, files: names.map((name) => ({ uri: name, path: resolve(name) })) };
}

/** The kind of a path. A file whose real name contains glob characters is a file, not a glob. */
async function kindOf(uri: string, mayLack: boolean): Promise<'file' | 'directory' | null> {
  try {
    const { kind } = await statSource(uri, uri);
    if (kind === 'other') {
      throw new InputError('input_unreadable', `The input ${uri} is neither a file nor a directory.`, {
        hint: 'To read from a pipe, give it to standard input and use --input -.',
      });
    }
    return kind;
  } catch (error) {
    if (mayLack && error instanceof InputError && error.code === 'input_missing') return null;
    throw error;
  }
}

async function listDirectory(uri: string): Promise<string[]> {
  try {
    const entries = await readdir(uri, { withFileTypes: true });
    return entries
      .filter(({ name }) => formatOfName(name) !== null && !isPassedOver(name, ''))
      .filter((entry) => !entry.isDirectory())
      .map(({ name }) => join(uri, name));
  } catch (error) {
    throw sourceError(error, uri);
  }
}

/** @throws InputError `input_unreadable` */
async function matchGlob(pattern: string, signal: AbortSignal | undefined): Promise<string[]> {
  const names: string[] = [];
  for await (const name of glob(pattern)) {
    signal?.throwIfAborted();
    if (!isPassedOver(name, pattern) && (await isFile(name))) names.push(name);
  }
  await checkFolders(pattern, signal);
  return names;
}

/**
 * Lists each folder of the pattern, because Node's glob silently skips a folder that it may not list. @throws InputError `input_unreadable`
 */
async function checkFolders(pattern: string, signal: AbortSignal | undefined): Promise<void> {
  const parts = pattern.split('/');
  for (let end = 1; end < parts.length; end++) {
    const folders = parts.slice(0, end).join('/');
    // A brace group may contain a slash. One half of the group is no pattern.
    if (folders === '' || count(folders, '{') !== count(folders, '}')) continue;
    for await (const folder of GLOB.test(folders) ? glob(folders) : [folders]) {
      signal?.throwIfAborted();
      await checkFolder(folder);
    }
  }
}

async function checkFolder(path: string): Promise<void> {
  try {
    await (await opendir(path)).close();
  } catch (error) {
    // A folder that vanished meanwhile, or a file in its place, has no entries.
    if (!['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code))) throw sourceError(error, path);
  }
}

function count(text: string, character: string): number {
  return text.split(character).length - 1;
}

/**
 * False for folders, and for files that vanished meanwhile. A file that cannot be inspected is an error. @throws InputError
 * `input_unreadable`
 */
async function isFile(name: string): Promise<boolean> {
  try {
    return (await statSource(name, name)).kind === 'file';
  } catch (error) {
    if (error instanceof InputError && error.code === 'input_missing') return false;
    throw error;
  }
}
