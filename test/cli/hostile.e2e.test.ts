/** Hostile files through the real command: bounded memory, every good row, and unchanged input columns. */
import { truncate, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { guardFormula } from '../../src/util/formula-guard.ts';
import { freeze, readAll } from '../formats/helpers.ts';
import { sampleOf } from '../support/sample.ts';
import { makeWorld } from '../support/world.ts';

const ENRICH = { steps: 'enrich' };
const MIB = 1024 * 1024;
/** Writes the peak memory of the process to a file when it ends. */
const PEAK = fileURLToPath(new URL('../support/peak-memory.ts', import.meta.url));
const MOST_MIB = 400;

describe('a huge input', () => {
  const before = 'email,n\na@works1.example,1\n';
  const after = '\nb@works1.example,2\n';
  const bomb = Buffer.concat([Buffer.from(before), Buffer.alloc(96 * MIB, 'x'), Buffer.from(after)]);

  const inputs: readonly (readonly [string, string, () => Buffer])[] = [
    ['a gzip bomb', 'in.csv.gz', () => gzipSync(bomb)],
    ['a zstd bomb', 'in.csv.zst', () => zstdCompressSync(bomb)],
    ['a line without end', 'in.csv', () => bomb],
  ];
  test.each(sampleOf(inputs, 1))('%s gives one bad row and two good ones, in flat memory', async (_, input, make) => {
    const { folder, args } = await makeWorld();
    await writeFile(folder.at(input), make());
    const ended = await folder.run(args({ ...ENRICH, input }), { env: { NODE_OPTIONS: `--import=${PEAK}`, PEAK_FILE: folder.at('peak') } });
    expect(ended).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^warning: in\.csv\S*, line 3, is longer than 4 MiB: .*\n$/) as string,
    });
    expect((await folder.json('out.csv.report.json'))['records']).toMatchObject({ total: 3, matched: 2, invalid: 1 });
    expect(Number(await folder.read('peak')) / 1024).toBeLessThan(MOST_MIB);
    const [error, end] = (await folder.read('out.csv.errors.jsonl')).split('\n');
    expect(JSON.parse(error ?? '')).toMatchObject({ line: 3, code: 'bad_row', raw: 'x'.repeat(4_096) });
    expect(end).toBe('');
  });

  test.each([
    ['after the header', 'email,n\n', /in\.csv is not a text file: \d+ of its first \d+ bytes are control characters/],
    ['from its first byte', '', /in\.csv is not a text file: there is a NUL at byte 0, in its first line|in\.csv looks like UTF-16/],
  ])('with 10 GB of NUL bytes %s is refused at once', async (_, header, words) => {
    const { folder, service, args } = await makeWorld(header);
    await truncate(folder.at('in.csv'), 10 * 1024 * MIB);
    const ended = await folder.run(args(ENRICH));
    // The clean-up of the test searches every file for secrets.
    await truncate(folder.at('in.csv'), 0);
    expect(ended).toMatchObject({ code: 65, stderr: expect.stringMatching(words) });
    expect(service.requests).toEqual([]);
  });

  test('with a million columns is refused; with a million surplus cells in a row it loses those cells', async () => {
    const { folder, args } = await makeWorld(`email,${Array.from({ length: 1_000_000 }, (_, i) => `c${i}`).join()}\na@works1.example\n`);
    expect(await folder.run(args(ENRICH))).toMatchObject({
      code: 65,
      stderr: expect.stringMatching(/in\.csv.*(?:more than 10000 columns|longer than 4 MiB)/),
    });
    await writeFile(folder.at('in.csv'), `email,n\na@works1.example,1${',x'.repeat(1_000_000)}\nb@works1.example,2\n`);
    expect(await folder.run(args(ENRICH))).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^warning: in\.csv, line 2, has more fields than the header: .*\n$/) as string,
    });
    const rows = await readAll(await freeze(folder.at('out.csv')));
    expect(rows.map(({ values }) => values?.slice(0, 3))).toEqual([
      ['a@works1.example', '1', 'matched'],
      ['b@works1.example', '2', 'matched'],
    ]);
  });
});

const CELLS = [
  '=1+1',
  '+44 20 7946 0000',
  '-5',
  '@SUM(A1)',
  '\tx',
  '\rx',
  '\nx',
  "'quoted",
  "'=1",
  "''@x",
  '=HYPERLINK("http://x","y")',
  '  =1',
  'a=1',
  '',
  'x\u0000y',
  '＝1',
  'Zoë "the" \'best\'',
  '=1,2\n3',
];

test('cells with formulas, quotes and control characters come out unchanged', async () => {
  const { folder, args } = await makeWorld();
  const input = `email,Cell\r\n${CELLS.map((cell, i) => `p${i}@works1.example,"${cell.replaceAll('"', '""')}"\r\n`).join('')}`;
  await writeFile(folder.at('in.csv'), input);
  expect(await folder.run(args(ENRICH))).toMatchObject({ code: 0, stderr: '' });
  expect((await readAll(await freeze(folder.at('out.csv')))).map(({ values }) => values?.[1])).toEqual(CELLS);
});

test('with output.escapeFormulas no cell begins like a formula, and the original cells can be restored', async () => {
  const { folder, args } = await makeWorld();
  await writeFile(
    folder.at('in.csv'),
    `email,Cell,=cmd\n${CELLS.map((cell, i) => `p${i}@works1.example,"${cell.replaceAll('"', '""')}",-1\n`).join('')}`,
  );
  expect(await folder.run(args({ ...ENRICH, 'output.escapeFormulas': true }))).toMatchObject({ code: 0, stderr: '' });
  const manifest = await freeze(folder.at('out.csv'));
  const rows = (await readAll(manifest)).map(({ values }) => values ?? []);
  for (const cells of [manifest.columns, ...rows]) for (const cell of cells) expect(cell).not.toMatch(/^[=+\-@\t\r\n＝＋－＠]/);
  expect(manifest.columns.slice(0, 3)).toEqual(['email', 'Cell', "'=cmd"]);
  expect(rows.map(([, cell = '']) => cell.replace(/^'(?='*[=+\-@\t\r\n＝＋－＠])/, ''))).toEqual(CELLS);
  expect(rows.map(([, cell]) => cell)).toEqual(CELLS.map(guardFormula));
});
