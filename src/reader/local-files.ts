/** From a path, directory or glob to the files on this machine that it means. */
import { glob, opendir, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { InputError } from '../errors.ts';
import { sourceError, statSource } from './local-source.ts';
import { formatOfName, GLOB } from './names.ts';
import type { Found, LookOptions } from './source.ts';

/** A directory means its csv, tsv and jsonl files, and not those below it. Throws `input_missing`, `input_unreadable`. */
export async function findLocal(uri: string, mayLack: boolean, { signal }: LookOptions): Promise<Found> {
  const known = await kindOf(uri, mayLack || GLOB.test(uri));
  if (known === 'file') return { named: true, files: [{ uri, path: resolve(uri) }] };
  const names = known === 'directory' ? await listDirectory(uri) : GLOB.test(uri) ? await matchGlob(uri, signal) : [];
  return { named: false, files: names.map((name) => ({ uri: name, path: resolve(name) })) };
}

/** What a path is. A name with glob characters may also be a file's real one, which wins. */
async function kindOf(uri: string, mayLack: boolean): Promise<'file' | 'directory' | null> {
  try {
    const { kind } = await statSource(uri, uri);
    if (kind === 'other') {
      throw new InputError('input_unreadable', `The input ${uri} is neither a file nor a directory.`, { hint: 'To read from a pipe, give it to standard input and use --input -.' });
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
    return entries.filter((entry) => !entry.isDirectory() && formatOfName(entry.name) !== null).map((entry) => join(uri, entry.name));
  } catch (error) {
    throw sourceError(error, uri);
  }
}

/** Throws `input_unreadable`. */
async function matchGlob(pattern: string, signal: AbortSignal | undefined): Promise<string[]> {
  const names: string[] = [];
  for await (const name of glob(pattern)) {
    signal?.throwIfAborted();
    if (await isFile(name)) names.push(name);
  }
  await checkFolders(pattern, signal);
  return names;
}

/** Node's glob passes over a folder that it may not list, and what is in there would be missing without a word. Throws `input_unreadable`. */
async function checkFolders(pattern: string, signal: AbortSignal | undefined): Promise<void> {
  const parts = pattern.split('/');
  for (let end = 1; end < parts.length; end++) {
    const folders = parts.slice(0, end).join('/');
    // Braces may stand around a slash: that is no pattern by itself.
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
    // What vanished since, and what is no folder, has nothing in it.
    if (!['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code))) throw sourceError(error, path);
  }
}

function count(text: string, character: string): number {
  return text.split(character).length - 1;
}

/** What vanished since, and what is no file, is not meant; what cannot be looked at may be. Throws `input_unreadable`. */
async function isFile(name: string): Promise<boolean> {
  try {
    return (await statSource(name, name)).kind === 'file';
  } catch (error) {
    if (error instanceof InputError && error.code === 'input_missing') return false;
    throw error;
  }
}
