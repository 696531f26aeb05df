/** The top-level keys of a JSONL input's objects: of the first objects always, of all objects when an output needs columns. */
import { tooManyColumns } from '../csv/header.ts';
import { readFramed } from '../framed-records.ts';
import { parseObject, trimJson } from './jsonl-records.ts';
import { CHUNK_BYTES, MAX_COLUMNS, SAMPLE_OBJECTS } from '../limits.ts';
import type { InputManifest } from '../input-record.ts';

interface JsonlKeys {
  /** Objects from which key columns are detected, at most 200 over all files. */
  readonly sampled: number;
  readonly sampleColumns: readonly string[];
  /** The union of all keys in order of first occurrence; empty when not requested. */
  readonly columns: readonly string[];
}

/** @throws InputError `input_too_many_columns`; the errors of reading */
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
