/** Finds a YAML or JSON file by path, or by its name in known folders. */
import { readdir, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';

/** Endings that a name may leave out, in the order in which they are tried. */
export const EXTENSIONS: readonly string[] = ['.yaml', '.yml', '.json'];

/** True for a reference that can only be a path. */
export function isPath(ref: string): boolean {
  return ref.includes('/') || ref.includes('\\');
}

/** The name of a document without its extension. */
export function nameOf(path: string): string {
  const extension = extname(path);
  return basename(path, EXTENSIONS.includes(extension.toLowerCase()) ? extension : '');
}

/**
 * The path of the file that a reference means, or null. A bare word is tried as a name in the folders first; with an extension or a slash
 * it is tried as a path first.
 */
export async function findDocument(ref: string, folders: readonly string[]): Promise<string | null> {
  const hasExtension = EXTENSIONS.includes(extname(ref).toLowerCase());
  const names = hasExtension ? [ref] : EXTENSIONS.map((extension) => `${ref}${extension}`);
  const inFolders = isPath(ref) ? [] : folders.flatMap((folder) => names.map((name) => join(folder, name)));
  const places = hasExtension || isPath(ref) ? [ref, ...inFolders] : [...inFolders, ref];
  for (const place of places) if (await isFile(place)) return place;
  return null;
}

/** Names of the documents in these folders, sorted. */
export async function namesIn(folders: readonly string[]): Promise<string[]> {
  const known = new Set<string>();
  for (const folder of folders) {
    for (const file of await readdir(folder).catch(() => [])) {
      if (EXTENSIONS.includes(extname(file))) known.add(basename(file, extname(file)));
    }
  }
  return [...known].toSorted();
}

/** True for anything there that is no folder: a pipe can be read too. */
export async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => !found.isDirectory(),
    () => false,
  );
}

export async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
