/** The format that a file's name states. Pure. */

export type InputFormat = 'csv' | 'tsv' | 'jsonl' | 'parquet';

export const GLOB = /[*?[\]{}]/;
const EXTENSION = /\.(csv|tsv|jsonl|ndjson|parquet)(?:\.(?:gz|zst))?$/i;

/** The format of a name, read before `.gz` and `.zst`; null when the name states none. */
export function formatOfName(name: string): InputFormat | null {
  const extension = EXTENSION.exec(name)?.[1]?.toLowerCase();
  if (extension === undefined) return null;
  return extension === 'ndjson' ? 'jsonl' : (extension as InputFormat);
}

/** Names that no list of contacts has: hidden files, and what Hadoop, Spark, macOS and Office programs write beside their data. */
const HIDDEN =
  /^(?:\..+|~\$.*|__MACOSX|_temporary|_SUCCESS|_delta_log|_spark_metadata|_metadata|_common_metadata|_(?:started|committed)_.*)$/;

/**
 * Whether a folder or a wildcard passes this path over, because a part of it is hidden. @param path what was found, with `/` @param pattern
 * the folder, prefix or glob that the user named: what it names itself counts
 */
export function isPassedOver(path: string, pattern: string): boolean {
  const named = pattern.split('/');
  const isNamed = (part: string): boolean => named.some((one) => one === part || (GLOB.test(one) && one[0] === part[0]));
  return path.split('/').some((part) => HIDDEN.test(part) && part !== '..' && !isNamed(part));
}
