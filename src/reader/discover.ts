/** From what the user named (paths, globs, directories, S3 objects and prefixes) to the files meant, in a fixed order. */
import type { SourceFile } from './source.ts';
import { sourceOf } from './sources.ts';

export interface Discovery {
  /** By absolute path or `s3://` uri. */
  readonly isOwn: (path: string) => boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The files that one uri means: itself; what lies in a directory or below a prefix; a glob's matches. Sorted by name,
 * without the job's own. Empty when nothing matches, or when it does not exist and `mayLack`.
 * Throws `input_missing`, `input_unreadable`.
 */
export async function discover(uri: string, mayLack: boolean, { isOwn, signal }: Discovery): Promise<readonly SourceFile[]> {
  const { named, files } = await (await sourceOf(uri)).find(uri, mayLack, { signal });
  if (named) return files;
  return files.filter(({ path }) => !isOwn(path)).sort((one, other) => (one.uri < other.uri ? -1 : one.uri > other.uri ? 1 : 0));
}
