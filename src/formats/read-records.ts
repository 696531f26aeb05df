/** The reader's main entry: a frozen input as records, from any position. */
import { keysOr } from './header-aliases.ts';
import { layoutOf, readCsvRecords } from './csv/csv-records.ts';
import { readFramed } from './framed-records.ts';
import { readJsonlRecords, type ParseLine } from './jsonl/jsonl-records.ts';
import { CHUNK_BYTES } from './limits.ts';
import type { InputManifest, InputRecord, Position } from './input-record.ts';

/**
 * Yields the records from `from` on (null for the beginning), in batches; each has the records of one chunk of the source. `from` is the
 * `end` of any record: a plain file is opened there, an archive at the frame that contains it. A position past the last file yields
 * nothing. With `parse`, JSONL records have the object that it makes of their text, so that the caller need not parse again.
 * @throws InputError when a file is missing, unreadable, damaged, truncated or shorter than when it was frozen, after all complete records
 * before that place; StorageError when the disk fails; the signal's reason when it is aborted
 */
export async function* readRecords(
  manifest: InputManifest,
  from: Position | null,
  signal?: AbortSignal,
  options: { readonly chunkBytes?: number; readonly parse?: ParseLine } = {},
): AsyncGenerator<InputRecord[], void, void> {
  for (let index = from?.file ?? 0; index < manifest.files.length; index += 1) {
    const file = manifest.files[index];
    if (file === undefined) return;
    const start = from !== null && from.file === index ? from : file.start;
    if (manifest.format === 'parquet') {
      const { readParquetRecords } = await import('./parquet/parquet-records.ts');
      yield* readParquetRecords(manifest, index, start, signal);
      continue;
    }
    const layout = layoutOf(manifest, index);
    const keys = keysOr(file.keys, manifest.keyName);
    for await (const framed of readFramed(file, start, { chunkBytes: options.chunkBytes ?? CHUNK_BYTES, signal })) {
      signal?.throwIfAborted();
      if (manifest.format === 'jsonl') yield* readJsonlRecords(framed, keys, options.parse);
      else yield* readCsvRecords(framed, layout);
    }
  }
}
