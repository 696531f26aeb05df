import { freezeInput } from '../../reader/freeze.ts';
import { readRecords } from '../../formats/read-records.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { printable } from '../../util/display.ts';

const ROWS = 5;
/** The most columns of a cell, and the fewest to which it is cut. */
const CELL_WIDTH = 26;
const LEAST_WIDTH = 8;
const GAP = 2;
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

/** A table that fits: its widest columns are cut first, and then the last ones left out. */
function tableLines(rows: readonly (readonly string[])[], room: number): string[] {
  const cells = rows.map((row) => row.map((cell) => printable(cell.replaceAll(/\s+/g, ' '))));
  const widths = (cells[0] ?? []).map((_, i) => Math.min(CELL_WIDTH, Math.max(...cells.map((row) => width(row[i] ?? '')))));
  const total = (): number => widths.reduce((sum, one) => sum + one + GAP, -GAP);
  while (total() > room && Math.max(...widths) > LEAST_WIDTH) widths[widths.indexOf(Math.max(...widths))]! -= 1;
  while (total() > room && widths.length > 1) widths.pop();
  return cells.map((row) =>
    widths
      .map((most, i) => {
        const shown = cut(row[i] ?? '', most);
        return shown + ' '.repeat(most - width(shown));
      })
      .join(' '.repeat(GAP))
      .trimEnd(),
  );
}

function cut(text: string, most: number): string {
  if (width(text) <= most) return text;
  let used = 0;
  let kept = '';
  for (const character of text) {
    used += width(character);
    if (used > most - 1) return `${kept}…`;
    kept += character;
  }
  return kept;
}

/** Columns on a terminal: East Asian characters take two (Unicode Standard Annex 11, roughly). */
function width(text: string): number {
  let columns = 0;
  for (const character of text)
    columns += /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/.test(character) ? 2 : 1;
  return columns;
}
