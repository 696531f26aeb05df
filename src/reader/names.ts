/** What a file's name says. Pure. */
import type { InputFormat } from './types.ts';

export const GLOB = /[*?[\]{}]/;
const EXTENSION = /\.(csv|tsv|jsonl|ndjson)(?:\.(?:gz|zst))?$/i;

/** The format that a name states, before .gz and .zst. */
export function formatOfName(name: string): InputFormat | null {
  const extension = EXTENSION.exec(name)?.[1]?.toLowerCase();
  if (extension === undefined) return null;
  return extension === 'ndjson' ? 'jsonl' : (extension as InputFormat);
}
