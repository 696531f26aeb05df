/** Which top-level keys the objects of a jsonl input have: of the first ones always, of all where an output needs columns. */
import { tooManyColumns } from './columns.ts';
import { readFramed } from './framed.ts';
import { parseObject, trimJson } from './jsonl.ts';
import { CHUNK_BYTES, MAX_COLUMNS, SAMPLE_OBJECTS } from './limits.ts';
import type { InputManifest } from './types.ts';

export interface JsonlKeys {
  /** Objects looked at for the key columns, at most 200 over all files. */
  readonly sampled: number;
  readonly sampleColumns: readonly string[];
  /** The union of all keys in order of first sight; empty when not asked for. */
  readonly columns: readonly string[];
}

/** Throws `input_too_many_columns`, and what reading throws. */
export async function scanJsonlKeys(
  manifest: InputManifest,
  options: { readonly needColumns: boolean; readonly signal?: AbortSignal },
): Promise<JsonlKeys> {
  const all = new Set<string>();
  let sampled = 0;
  let sampleColumns: readonly string[] = [];
  for (const file of manifest.files) {
    for await (const batch of readFramed(file, file.start, { chunkBytes: CHUNK_BYTES, signal: options.signal })) {
      for (const { kind, text, valid } of batch) {
        const object = kind === 'overlong' || !valid ? '' : parseObject(trimJson(text));
        if (typeof object === 'string') continue;
        for (const key of Object.keys(object)) all.add(key);
        if (all.size > MAX_COLUMNS) throw tooManyColumns(file.uri);
        sampled += 1;
        if (sampled === SAMPLE_OBJECTS) {
          sampleColumns = [...all];
          if (!options.needColumns) return { sampled, sampleColumns, columns: [] };
        }
      }
    }
  }
  if (sampled < SAMPLE_OBJECTS) sampleColumns = [...all];
  return { sampled: Math.min(sampled, SAMPLE_OBJECTS), sampleColumns, columns: options.needColumns ? [...all] : [] };
}
