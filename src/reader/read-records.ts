/** The reader's main door: a frozen input as records, from any position on. */
import { layoutOf, readCsvRecords } from './csv-records.ts';
import { readFramed } from './framed.ts';
import { readJsonlRecords } from './jsonl.ts';
import { CHUNK_BYTES } from './limits.ts';
import type { InputManifest, InputRecord, Position } from './types.ts';

/**
 * Records from `from` on (null: the beginning), in batches of what one chunk of the source held.
 * `from` is any record's `end`: a plain file is opened there, an archive at the frame in which it lies.
 * A position past the last file yields nothing. `withObjects`: jsonl records have what was parsed of them, for those who would parse them again.
 *
 * Throws InputError when a file is missing, unreadable, damaged, cut off or shorter than when it was frozen, after all whole
 * records before that place were yielded; StorageError when the disk fails; the signal's reason when it is aborted.
 */
export async function* readRecords(
  manifest: InputManifest,
  from: Position | null,
  signal?: AbortSignal,
  options: { readonly chunkBytes?: number; readonly withObjects?: boolean } = {},
): AsyncGenerator<InputRecord[], void, void> {
  for (let index = from?.file ?? 0; index < manifest.files.length; index += 1) {
    const file = manifest.files[index];
    if (file === undefined) return;
    const start = from !== null && from.file === index ? from : file.start;
    const layout = layoutOf(manifest, index);
    const keys = { email: file.keys.email ?? manifest.keyName.email, domain: file.keys.domain ?? manifest.keyName.domain, linkedin_url: file.keys.linkedin_url ?? manifest.keyName.linkedin_url };
    for await (const framed of readFramed(file, start, { chunkBytes: options.chunkBytes ?? CHUNK_BYTES, signal })) {
      signal?.throwIfAborted();
      if (manifest.format === 'jsonl') yield* readJsonlRecords(framed, keys, options.withObjects);
      else yield* readCsvRecords(framed, layout);
    }
  }
}
