/** From what the user named (paths, globs, directories) to the files meant, in a fixed order. */
import { glob, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { InputError } from '../errors.ts';
import { sourceError, statSource } from './local-source.ts';
import type { InputFormat } from './types.ts';

const GLOB = /[*?[\]{}]/;
const EXTENSION = /\.(csv|tsv|jsonl|ndjson)(?:\.(?:gz|zst))?$/i;

export interface Discovery {
  readonly isOwn: (absolutePath: string) => boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface FoundFile {
  /** As the user would name it. */
  readonly uri: string;
  readonly path: string;
}

/** The format that a name states, before .gz and .zst. */
export function formatOfName(name: string): InputFormat | null {
  const extension = EXTENSION.exec(name)?.[1]?.toLowerCase();
  if (extension === undefined) return null;
  return extension === 'ndjson' ? 'jsonl' : (extension as InputFormat);
}

/**
 * The files that one uri means: itself; a directory's csv, tsv and jsonl files (not those below it); a glob's matches. Sorted by name,
 * without the job's own. Empty when nothing matches, or when a path does not exist and `mayLack`.
 * Throws `input_missing`, `input_unreadable`.
 */
export async function discover(uri: string, mayLack: boolean, options: Discovery): Promise<FoundFile[]> {
  const known = await kindOf(uri, mayLack || GLOB.test(uri));
  if (known === 'file') return [{ uri, path: resolve(uri) }];
  const names = known === 'directory' ? await listDirectory(uri) : GLOB.test(uri) ? await matchGlob(uri, options.signal) : [];
  return names
    .map((name) => ({ uri: name, path: resolve(name) }))
    .filter(({ path }) => !options.isOwn(path))
    .sort((one, other) => (one.uri < other.uri ? -1 : one.uri > other.uri ? 1 : 0));
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

async function matchGlob(pattern: string, signal: AbortSignal | undefined): Promise<string[]> {
  const names: string[] = [];
  for await (const name of glob(pattern)) {
    signal?.throwIfAborted();
    // What vanished since, and what is no file, is not meant.
    if ((await statSource(name, name).catch(() => null))?.kind === 'file') names.push(name);
  }
  return names;
}
