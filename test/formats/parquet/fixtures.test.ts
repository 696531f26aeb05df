/** Files that pyarrow has written, see `fixtures/generate/parquet.py`. */
import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cellText } from '../../../src/formats/parquet/column-type.ts';
import { readFooter } from '../../../src/formats/parquet/footer.ts';
import { readParquetRows } from '../../../src/formats/parquet/parquet-rows.ts';
import { code, freeze, readAll } from '../helpers.ts';

const FOLDER = join(import.meta.dirname, '../../../fixtures/formats/parquet');
const expected = JSON.parse(await readFile(join(FOLDER, 'expected.json'), 'utf8')) as Record<string, (string | null)[]>;
const ROWS = 60;

/** The texts of each column, from a row on. */
async function texts(name: string, from: number): Promise<Record<string, (string | null)[]>> {
  const path = join(FOLDER, `${name}.parquet`);
  const file = { uri: path, path, size: statSync(path).size, digest: '' };
  const { columns } = await readFooter(file);
  const found: Record<string, (string | null)[]> = Object.fromEntries(columns.map((column) => [column.name, []]));
  for await (const batch of readParquetRows(file, from))
    for (const [index, cells] of batch.columns.entries()) {
      const column = columns[index];
      for (const cell of cells) found[column?.name ?? '']?.push(cell === null ? null : cellText(cell, column?.type ?? {}));
    }
  return found;
}

describe('files that another program has written', () => {
  it.each(['snappy', 'zstd-pages', 'gzip-plain', 'brotli', 'none', 'int96', 'encodings'])(
    '%s.parquet has the values that its writer reads, from each row on',
    async (name) => {
      for (let from = 0; from <= ROWS; from += from === 0 || from > 55 ? 1 : 9) {
        const found = await texts(name, from);
        const wanted = Object.fromEntries(Object.keys(found).map((column) => [column, expected[column]?.slice(from)]));
        expect(found).toEqual(wanted);
      }
    },
  );

  it('compression that Node lacks is refused with the ones that it has', async () => {
    await expect(freeze(join(FOLDER, 'lz4.parquet'))).rejects.toMatchObject({
      code: 'input_parquet',
      message: expect.stringContaining('write it with snappy, zstd, gzip or none'),
    });
  });

  it('records have texts, stored values, and positions from which reading goes on', async () => {
    const manifest = await freeze([join(FOLDER, 'snappy.parquet'), join(FOLDER, 'encodings.parquet')]);
    expect(manifest).toMatchObject({ format: 'parquet', keyName: { email: 'email' }, files: [{ rows: ROWS }, { rows: ROWS }] });
    const all = await readAll(manifest);
    expect(all).toHaveLength(2 * ROWS);
    const i64 = manifest.columns.indexOf('i64');
    const flag = manifest.columns.indexOf('flag');
    expect(all[0]).toMatchObject({ line: 1, email: 'person0@works0.example', bad: null });
    expect([all[1]?.cells?.[i64], all[1]?.values?.[i64]]).toEqual([-29n * 307445734561825860n, '-8915926302292949940']);
    // The second file lacks the column.
    expect([all[ROWS]?.cells?.[flag], all[ROWS]?.values?.[flag]]).toEqual([null, '']);
    for (const at of [0, 24, 25, 59, 60, 118]) expect(await readAll(manifest, all[at]?.end ?? null)).toEqual(all.slice(at + 1));
  });

  it('a column that files have with several types becomes text', async () => {
    const { put, scratchFolder } = await import('../helpers.ts');
    const folder = scratchFolder();
    const { parquetFile } = await import('./written.ts');
    await put(
      folder,
      'a.parquet',
      parquetFile(
        [
          { name: 'email', type: { type: 'BYTE_ARRAY', converted_type: 'UTF8' } },
          { name: 'n', type: { type: 'INT64' } },
        ],
        [['a@x.example', 5n]],
      ),
    );
    await put(
      folder,
      'b.parquet',
      parquetFile(
        [
          { name: 'email', type: { type: 'BYTE_ARRAY', converted_type: 'UTF8' } },
          { name: 'n', type: { type: 'DOUBLE' } },
        ],
        [['b@x.example', 0.5]],
      ),
    );
    const manifest = await freeze(folder);
    expect(manifest.types?.[1]).toBeNull();
    expect((await readAll(manifest)).map(({ cells }) => cells?.[1])).toEqual(['5', '0.5']);
  });

  it('a name or a configured format alone is no Parquet, and compressed Parquet is refused', async () => {
    const { put, scratchFolder } = await import('../helpers.ts');
    const { gzipSync } = await import('node:zlib');
    const folder = scratchFolder();
    const failure = async (name: string, content: string | Uint8Array, more = {}): Promise<unknown> =>
      freeze(await put(folder, name, content), more).catch((error: unknown) => [code(error), (error as { hint?: string }).hint]);
    const bytes = await readFile(join(FOLDER, 'int96.parquet'));
    expect(await failure('x.parquet', 'email\na@x.example\n')).toEqual(['input_parquet', expect.stringContaining('--input.format csv')]);
    expect(await failure('y.csv', 'email\na@x.example\n', { format: 'parquet' })).toEqual(['input_parquet', expect.anything()]);
    expect(await failure('x.parquet.gz', gzipSync(bytes))).toEqual(['input_parquet', expect.stringContaining('unpack .gz')]);
    expect(await failure('y.bin', bytes, { format: 'csv' })).toEqual(['input_binary', expect.stringContaining('say parquet')]);
    expect(await failure('empty.parquet', '')).toEqual(['input_parquet', expect.anything()]);
    expect(await freeze(await put(folder, 'no-name', bytes))).toMatchObject({ format: 'parquet' });
  });
});
