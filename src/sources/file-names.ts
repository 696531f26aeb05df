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
