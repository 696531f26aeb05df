/** Files as the store's import takes them: found, told apart and read by the pipeline's reader. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFiles } from '../reader/one-file.ts';
import type { InputRecord } from '../reader/types.ts';
import type { ImportFile, ImportRow } from '../service/import/import-rows.ts';

/** `-` is standard input, which is kept in the temporary directory while it is read: what it is must be found out first. */
export async function* importFiles(uri: string, shape: Parameters<typeof openFiles>[1], signal: AbortSignal): AsyncGenerator<ImportFile, void, void> {
  const scratch = uri === '-' ? await mkdtemp(join(tmpdir(), 'millrace-import-')) : null;
  try {
    for await (const { uri: name, header, batches } of openFiles(uri, shape, join(scratch ?? '', 'stdin'), signal)) yield { name: name === '-' ? 'standard input' : name, header, batches: rowsOf(batches) };
  } finally {
    if (scratch !== null) await rm(scratch, { recursive: true, force: true });
  }
}

async function* rowsOf(batches: AsyncIterable<readonly InputRecord[]>): AsyncGenerator<ImportRow[], void, void> {
  for await (const records of batches) yield records.map(({ line, values, json, bad }) => ({ line, cells: values, json, bad }));
}
