import { freezeInput } from '../../reader/freeze.ts';
import { PERSON_COLUMNS } from '../../formats/header-aliases.ts';
import { readRecords } from '../../formats/read-records.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { printable } from '../../util/display.ts';
import { cut, tableLines } from '../../util/text-table.ts';

const ROWS = 5;
/** Columns that say most about a row. */
const SHOWN_COLUMNS = ['result.outcome', 'enrich.name', 'enrich.title', 'enrich.company.name', 'verify.result'];

/**
 * The first rows of a finished output as a small table: the key column and the results. Empty when the output cannot be read.
 * @param room the most columns of a line
 */
export async function previewRows(path: string, job: Pick<CompiledJob, 'input' | 'output'>, room: number): Promise<string[]> {
  // The reader needs a key column: JSON lines hold the input record, tables the input's own columns.
  const columns = job.output.format === 'jsonl' ? { email: 'input' } : job.input.columns;
  try {
    const manifest = await freezeInput({
      uris: [path],
      format: job.output.format,
      delimiter: null,
      skipLines: 0,
      header: true,
      encoding: null,
      columns,
      ifMissing: 'fail',
      isOwn: () => false,
      reservedColumns: [],
      personColumns: PERSON_COLUMNS,
      needColumns: false,
      spoolPath: '',
    });
    for await (const batch of readRecords(manifest, null)) {
      const records = batch.slice(0, ROWS);
      if (manifest.format === 'jsonl') return records.map((record) => cut(printable(record.json ?? ''), room));
      const key = manifest.keyName.email ?? manifest.keyName.domain ?? manifest.columns[0] ?? '';
      const names = [key, ...SHOWN_COLUMNS].filter((name) => manifest.columns.includes(name));
      const rows = records.map((record) => names.map((name) => record.values?.[manifest.columns.indexOf(name)] ?? ''));
      return tableLines([names, ...rows], room);
    }
  } catch {
    // The preview is optional; the run or the next command reports the error.
  }
  return [];
}
