/** Checks the files of batch jobs: whether those that the store names are complete, and which files it does not name. */
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from '../../../util/files/is-at.ts';
import { storedLines } from '../../batches/result-stream.ts';
import type { Store } from '../../store/store.ts';
import { Names, type Finding } from './finding.ts';

interface FileRow {
  readonly id: string;
  readonly kind: 'part' | 'results';
  readonly file: string;
  readonly bytes: number;
}

/** Milliseconds for which a new file is ignored, because the store may be about to name it. */
const YOUNG_MS = 3_600_000;

/** @param path path of the store @param nowMs epoch milliseconds */
export async function checkBatches(store: Store, path: string, nowMs: number, signal: AbortSignal): Promise<Finding[]> {
  const rows = store.books
    .prepare('SELECT id, kind, file, bytes FROM batch_files JOIN batches ON seq = batch ORDER BY batch, kind, n')
    .all() as unknown as FileRow[];
  const damaged = new Names();
  const named = new Set<string>();
  for (const row of rows) {
    signal.throwIfAborted();
    named.add(join(row.id, row.file));
    const wrong = await defectOf(join(`${path}.batches`, row.id, row.file), row);
    // The job may have continued since its row was read.
    if (wrong !== null && isNamed(store, row)) damaged.add(`${join(row.id, row.file)}: ${wrong}`);
  }
  const stray = new Names();
  for (const name of await strays(`${path}.batches`, named, nowMs)) stray.add(name);
  const findings: Finding[] = [];
  if (damaged.count > 0)
    findings.push({
      code: 'batch_files_damaged',
      table: 'batch_files',
      detail: `files of batch jobs that are missing or damaged: ${damaged.count} of ${rows.length}`,
      names: damaged.names,
      count: damaged.count,
      remedy: 'backup',
    });
  if (stray.count > 0)
    findings.push({
      code: 'left_over',
      table: null,
      detail: `files in ${path}.batches that no batch job names: ${stray.count}; a running service removes them in time`,
      names: stray.names,
      count: stray.count,
      remedy: 'none',
    });
  return findings;
}

function isNamed(store: Store, { id, file }: FileRow): boolean {
  return store.books.prepare('SELECT 1 FROM batch_files JOIN batches ON seq = batch WHERE id = ? AND file = ?').get(id, file) !== undefined;
}

/** Returns the defect of a file, or null. A part has no structure to check, so only its length counts. */
export async function defectOf(path: string, { kind, bytes }: Pick<FileRow, 'kind' | 'bytes'>): Promise<string | null> {
  try {
    const { size } = await stat(path);
    if (size < bytes) return `${bytes - size} of ${bytes} bytes are missing`;
    return kind === 'results' ? await wrongLine(path, bytes) : null;
  } catch (error) {
    if (isMissing(error)) return 'it is missing';
    throw error;
  }
}

/** Reads every line of a result file with the service's own reader. */
async function wrongLine(path: string, bytes: number): Promise<string | null> {
  let line = 0;
  try {
    for await (const lines of storedLines(await open(path, 'r'), bytes)) {
      for (const { json } of lines) {
        line++;
        JSON.parse(json);
      }
    }
    return null;
  } catch (error) {
    if (error instanceof SyntaxError) return `line ${Math.max(line, 1)} cannot be read`;
    throw error;
  }
}

async function strays(folder: string, named: ReadonlySet<string>, nowMs: number): Promise<string[]> {
  const found: string[] = [];
  for (const id of await readdir(folder).catch(() => [])) {
    for (const file of await readdir(join(folder, id)).catch(() => [])) {
      const path = join(id, file);
      if (named.has(path)) continue;
      const stats = await stat(join(folder, path)).catch(() => null);
      if (stats !== null && nowMs - stats.mtimeMs > YOUNG_MS) found.push(path);
    }
  }
  return found.toSorted();
}
