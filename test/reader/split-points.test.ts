import * as fc from '../support/fast-check.ts';
import { describe, expect, test } from 'vitest';
import { findSplitPoints, type InputRange } from '../../src/reader/split-points.ts';
import { readRecords } from '../../src/formats/read-records.ts';
import type { InputManifest, InputRecord } from '../../src/formats/input-record.ts';
import { casesOf } from '../support/sample.ts';
import { archive, freeze, put, readAll, scratchFolder, utf16, withoutFrames } from '../formats/helpers.ts';
import { parquetFile } from '../formats/parquet/written.ts';
import { SEED } from '../support/seed.ts';

const folder = scratchFolder();

async function readRange(manifest: InputManifest, { from, records }: InputRange): Promise<InputRecord[]> {
  const read: InputRecord[] = [];
  if (records === 0) return read;
  for await (const batch of readRecords(manifest, from)) {
    for (const record of batch) if (read.push(record) === records) return read;
  }
  return read;
}

/** Cells that hide line ends. */
const cell = fc.oneof(
  fc.constantFrom('', 'a', '"two\nlines"', '"a ""quoted"" word"', '"\r\n"', '"un', 'st"ray', '"x"y', 'ü', '"a,b"', ' "s"'),
  fc.string({ maxLength: 5 }),
);
const lineEnd = fc.constantFrom('\n', '\n', '\n', '\r\n', '\r', '\n\n');
const csvText = fc
  .array(fc.tuple(fc.array(cell, { minLength: 1, maxLength: 3 }), lineEnd), { maxLength: 30 })
  .map((rows) => `email,b,c\n${rows.map(([cells, end]) => cells.join(',') + end).join('')}`);
const jsonLine = fc.constantFrom('{"email":"a@b.example"}', '{"email":"\\n"}', '', '   ', '\t\r', 'broken', '[1]', '{"email":"ü"}', '"');
const jsonlText = fc.array(jsonLine, { maxLength: 30 }).map((lines) => `{"email":"first@b.example"}\n${lines.join('\n')}`);

const wrapped = (text: fc.Arbitrary<string>): fc.Arbitrary<{ bytes: Buffer; suffix: string }> =>
  fc
    .tuple(text, fc.constantFrom('plain', 'bom', 'utf-16', 'gzip', 'zstd'), fc.array(fc.nat(), { maxLength: 4 }))
    .map(([content, how, cuts]) => {
      switch (how) {
        case 'bom':
          return { bytes: Buffer.from(`\ufeff${content}`), suffix: '' };
        case 'utf-16':
          return { bytes: utf16(content, 'le'), suffix: '' };
        case 'gzip':
        case 'zstd':
          return { bytes: archive(how, Buffer.from(content), cuts), suffix: how === 'gzip' ? '.gz' : '.zst' };
        default:
          return { bytes: Buffer.from(content), suffix: '' };
      }
    });

const input = fc.oneof(
  fc.record({ format: fc.constant('csv' as const), files: fc.array(wrapped(csvText), { minLength: 1, maxLength: 5 }) }),
  fc.record({ format: fc.constant('jsonl' as const), files: fc.array(wrapped(jsonlText), { minLength: 1, maxLength: 3 }) }),
);

describe(`ranges of an input (SEED=${SEED})`, () => {
  test('contain each record once, in order and with its line, however the bytes are divided into chunks', async () => {
    let made = 0;
    await fc.assert(
      fc.asyncProperty(
        input,
        fc.integer({ min: 1, max: 8 }),
        fc.constantFrom(1, 2, 7),
        fc.constantFrom(1, 5, 65_536),
        fc.constantFrom(undefined, 1, 4),
        async ({ format, files }, of, group, chunkBytes, mostPoints) => {
          const paths = await Promise.all(files.map(({ bytes, suffix }, i) => put(folder, `${made}-${i}.${format}${suffix}`, bytes)));
          made++;
          const manifest = await freeze(paths, {
            format,
            columns: { email: 'email' },
            encoding: null,
            delimiter: format === 'csv' ? ',' : null,
          });
          const ranges = await findSplitPoints(manifest, { of, group, chunkBytes, ...(mostPoints === undefined ? {} : { mostPoints }) });
          expect(ranges).toHaveLength(of);
          const all = await readAll(manifest);
          const parts = await Promise.all(ranges.map((range) => readRange(manifest, range)));
          expect(parts.map(({ length }) => length)).toEqual(ranges.map(({ records }) => records));
          expect(withoutFrames(parts.flat())).toEqual(withoutFrames(all));
          expect(ranges.map(({ before }) => before)).toEqual(
            ranges.map((_, i) => ranges.slice(0, i).reduce((sum, { records }) => sum + records, 0)),
          );
          // Pure: a second call finds the same ranges.
          expect(await findSplitPoints(manifest, { of, group, ...(mostPoints === undefined ? {} : { mostPoints }) })).toEqual(ranges);
        },
      ),
      { seed: SEED, numRuns: casesOf(30, 100) },
    );
  });

  test('contain alike numbers of records, over all files together', async () => {
    const row = (i: number): string => `person${String(i).padStart(6, '0')}@works.example,"two\nlines"\n`;
    const text = (from: number, to: number): string => `email,note\n${Array.from({ length: to - from }, (_, i) => row(from + i)).join('')}`;
    const paths = [await put(folder, 'even-1.csv', text(0, 700)), await put(folder, 'even-2.csv', text(700, 1_000))];
    const ranges = await findSplitPoints(await freeze(paths), { of: 4, group: 1 });
    expect(ranges.map(({ records }) => records)).toEqual([250, 250, 250, 250]);
    expect(ranges.map(({ from }) => from?.file ?? null)).toEqual([null, 0, 0, 1]);
  });

  test.each(['gz', 'zst'])('give each shard one of four .csv.%s files whose sizes differ a little', async (suffix) => {
    const kind = suffix === 'gz' ? 'gzip' : 'zstd';
    // Other words in each file give other compressed sizes.
    const text = (file: number): string =>
      'email,note\n' +
      Array.from(
        { length: 1_500 },
        (_, i) => `p${i}-${file}@works.example,${(i * 7 ** file) % 97 < file * 4 ? 'x'.repeat(i % 5) : ''}\n`,
      ).join('');
    const paths = await Promise.all(
      [0, 1, 2, 3].map((file) => put(folder, `night-${file}.csv.${suffix}`, archive(kind, Buffer.from(text(file)), []))),
    );
    const manifest = await freeze(paths);
    expect(new Set(manifest.files.map(({ size }) => size)).size).toBe(4);
    expect((await findSplitPoints(manifest, { of: 4, group: 1 })).map(({ records }) => records)).toEqual([1_500, 1_500, 1_500, 1_500]);
    expect((await findSplitPoints(manifest, { of: 2, group: 1 })).map(({ records }) => records)).toEqual([3_000, 3_000]);
    expect((await findSplitPoints(manifest, { of: 3, group: 1 })).map(({ records }) => records)).toEqual([1_500, 3_000, 1_500]);
  });

  test('move a boundary within an archive to its nearer end, and are not empty while there are archives left', async () => {
    const gz = (rows: number): Buffer => archive('gzip', Buffer.from(`email\n${'a@works.example\n'.repeat(rows)}`), []);
    const cut = async (rows: readonly number[], of: number): Promise<number[]> => {
      const paths = await Promise.all(rows.map((count, i) => put(folder, `near-${rows.join('-')}-${i}.csv.gz`, gz(count))));
      return (await findSplitPoints(await freeze(paths), { of, group: 1 })).map(({ records }) => records);
    };
    expect(await cut([100, 100, 100, 100, 100], 2)).toEqual([200, 300]);
    expect(await cut([40, 10, 50], 2)).toEqual([50, 50]);
    expect(await cut([90, 10], 2)).toEqual([90, 10]);
    expect(await cut([600, 50, 50, 50, 50], 4)).toEqual([600, 50, 50, 100]);
    expect(await cut([50, 600], 4)).toEqual([50, 600, 0, 0]);
    expect(await cut([0, 30, 0, 30, 0], 2)).toEqual([30, 30]);
  });

  test('contain alike numbers of records where plain files lie beside gzip and zstd, whatever the size of a record', async () => {
    const rows = (count: number, note: string): Buffer => Buffer.from(`email,note\n${`a@works.example,${note}\n`.repeat(count)}`);
    const each = 16 + 200;
    const paths = [
      await put(folder, 'kinds-1.csv.gz', archive('gzip', rows(1_000, ''), [])),
      await put(folder, 'kinds-2.csv', rows(1_000, 'x'.repeat(200))),
      // Members of 250 records.
      await put(
        folder,
        'kinds-3.csv.zst',
        archive(
          'zstd',
          rows(1_000, 'y'.repeat(199)),
          [1, 2, 3].map((k) => 11 + k * 250 * each),
        ),
      ),
      await put(folder, 'kinds-4.csv', rows(1_000, '')),
    ];
    const manifest = await freeze(paths);
    expect((await findSplitPoints(manifest, { of: 4, group: 1 })).map(({ records }) => records)).toEqual([1_000, 1_000, 1_000, 1_000]);
    expect((await findSplitPoints(manifest, { of: 8, group: 1 })).map(({ records }) => records)).toEqual([
      1_000, 1, 499, 500, 500, 500, 500, 500,
    ]);
    const lines = await put(folder, 'kinds.jsonl', '{"email":"a@works.example","more":{"and":"more"}}\n'.repeat(600));
    const packed = await put(folder, 'kinds.jsonl.gz', archive('gzip', Buffer.from('{"email":"a@works.example"}\n'.repeat(300)), []));
    expect((await findSplitPoints(await freeze([lines, packed]), { of: 3, group: 1 })).map(({ records }) => records)).toEqual([
      300, 300, 300,
    ]);
  });

  test('differ by a hundredth at most when there are more records than candidates, in archives and plain files', async () => {
    const paths = [
      await put(folder, 'many-1.csv', `email\n${'a@works.example\n'.repeat(20_000)}`),
      await put(folder, 'many-2.csv.gz', archive('gzip', Buffer.from(`email\n${'a@works.example\n'.repeat(5_000)}`), [])),
      await put(folder, 'many-3.csv', `email\n${'a@works.example\n'.repeat(15_001)}`),
    ];
    const ranges = await findSplitPoints(await freeze(paths), { of: 4, group: 1, mostPoints: 1_000 });
    for (const { records } of ranges) expect(Math.abs(records / 10_000 - 1)).toBeLessThan(0.01);
  });

  test('begin at whole groups of records when there are many groups, else anywhere', async () => {
    const path = await put(folder, 'groups.csv', `email\n${'a@works.example\n'.repeat(433)}`);
    const manifest = await freeze(path);
    expect((await findSplitPoints(manifest, { of: 4, group: 10 })).map(({ records }) => records)).toEqual([110, 110, 100, 113]);
    expect((await findSplitPoints(manifest, { of: 4, group: 11 })).map(({ records }) => records)).toEqual([108, 108, 109, 108]);
  });

  test('keep a file of one gzip member whole, and divide another at its members', async () => {
    const text = Buffer.from(`email\n${'someone@works.example\n'.repeat(400)}`);
    const one = await put(folder, 'members-1.csv.gz', archive('gzip', text, []));
    const four = await put(folder, 'members-2.csv.gz', archive('gzip', text, [6 + 22 * 100, 6 + 22 * 200, 6 + 22 * 300]));
    expect((await findSplitPoints(await freeze(one), { of: 4, group: 1 })).map(({ records }) => records)).toEqual([400, 0, 0, 0]);
    const ranges = await findSplitPoints(await freeze(four), { of: 4, group: 1 });
    expect(ranges.map(({ records }) => records)).toEqual([100, 100, 100, 100]);
    expect(ranges.slice(1).map(({ from }) => from?.offset === from?.frame?.offset)).toEqual([true, true, true]);
  });
});

test('Parquet files are split by the rows that they state, without being read', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 7 }),
      fc.integer({ min: 1, max: 3 }),
      async (sizes, of, group) => {
        const column = { name: 'email', type: { type: 'BYTE_ARRAY', converted_type: 'UTF8' } } as const;
        const paths = await Promise.all(
          sizes.map((size, file) =>
            put(
              folder,
              `split/${file}.parquet`,
              parquetFile(
                [column],
                Array.from({ length: size }, (_, row) => [`p${file}-${row}@x.example`]),
              ),
            ),
          ),
        );
        const manifest = await freeze(paths);
        const ranges = await findSplitPoints(manifest, { of, group });
        expect(ranges).toHaveLength(of);
        const all = await readAll(manifest);
        expect((await Promise.all(ranges.map((range) => readRange(manifest, range)))).flat()).toEqual(all);
        for (const { records } of ranges) expect(Math.abs(records - all.length / of)).toBeLessThanOrEqual(group + 1);
      },
    ),
    { numRuns: 40 },
  );
});
