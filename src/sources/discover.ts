/** Resolves what the user names (paths, globs, directories, S3 objects and prefixes) into input files, in a fixed order. */
import type { SourceFile } from './source.ts';
import { sourceOf } from './source-of.ts';

interface Discovery {
  /** True for a file of the job itself, by absolute path or `s3://` uri. */
  readonly isOwn: (path: string) => boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The files of one uri, sorted by name, without the job's own files.
 * A uri names a file, a directory or prefix (its files), or a glob (its matches). The result is empty when nothing matches, or when the uri
 * does not exist and `mayLack` is set.
 * @throws InputError `input_missing`, `input_unreadable`
 */
export async function discover(uri: string, mayLack: boolean, { isOwn, signal }: Discovery): Promise<readonly SourceFile[]> {
  const { named, files } = await (await sourceOf(uri)).find(uri, mayLack, { signal });
  if (named) return files;
  return files.filter(({ path }) => !isOwn(path)).sort((one, other) => (one.uri < other.uri ? -1 : one.uri > other.uri ? 1 : 0));
}
