/**
 * Records a second of the reader alone, with and without quoted rows: `node bench/reader.ts [rows]`. It generates rows of 8 columns in the
 * temporary folder and removes them.
 */
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { freezeInput } from '../src/reader/freeze.ts';
import { readRecords } from '../src/formats/read-records.ts';

const HEADER = 'id,email,first name,last name,company,website,city,note\n';
const rows = Number(process.argv[2] ?? 1_000_000);

async function generate(path: string, quotedShare: number): Promise<void> {
  const out = createWriteStream(path);
  out.write(HEADER);
  for (let i = 0; i < rows; i += 1) {
    const company = (i % 100) / 100 < quotedShare ? `"Firm ${i}, ""Sons"" & Co"` : `Firm ${i}`;
    if (
      !out.write(
        `${i},person${i}@firm${i % 5000}.example,Ana,Example,${company},https://firm${i % 5000}.example/,Springfield,from a list of ${i}\n`,
      )
    )
      await once(out, 'drain');
  }
  out.end();
  await once(out, 'close');
}

const folder = await mkdtemp(join(tmpdir(), 'reader-bench-'));
try {
  for (const [name, share] of [
    ['no quotes', 0],
    ['20 % of rows quoted', 0.2],
    ['every row quoted', 1],
  ] as const) {
    const path = join(folder, 'rows.csv');
    await generate(path, share);
    const manifest = await freezeInput({
      uris: [path],
      format: null,
      delimiter: null,
      skipLines: 0,
      header: true,
      encoding: null,
      columns: {},
      ifMissing: 'fail',
      isOwn: () => false,
      reservedColumns: [],
      needColumns: false,
      spoolPath: join(folder, 'spool'),
    });
    const start = process.hrtime.bigint();
    let count = 0;
    for await (const batch of readRecords(manifest, null)) count += batch.length;
    const seconds = Number(process.hrtime.bigint() - start) / 1e9;
    process.stdout.write(
      `${name}: ${count} records, ${Math.round(count / seconds)} a second, peak ${Math.round(process.resourceUsage().maxRSS / 1024)} MB\n`,
    );
  }
} finally {
  await rm(folder, { recursive: true });
}
