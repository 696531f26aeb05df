/** Parquet in and out, by the real command. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readParquetRows } from '../../src/formats/parquet/parquet-rows.ts';
import { readFooter } from '../../src/formats/parquet/footer.ts';
import { cellText, type Cell } from '../../src/formats/parquet/column-type.ts';
import type { Folder } from '../support/cli.ts';
import { leads, toCsv } from '../support/leads.ts';
import { makeWorld } from '../support/world.ts';
import { parquetOf } from '../formats/parquet/written.ts';
import { plan } from './planned.ts';

const FIXTURE = join(import.meta.dirname, '../../fixtures/formats/parquet/snappy.parquet');
const TEXT = { type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const;

interface Table {
  readonly names: readonly string[];
  readonly types: readonly unknown[];
  readonly rows: readonly (readonly Cell[])[];
  /** As a CSV would show them. */
  readonly texts: readonly (readonly string[])[];
}

async function tableIn(path: string): Promise<Table> {
  const file = { uri: path, path, size: (await stat(path)).size, digest: '' };
  const { columns } = await readFooter(file);
  const rows: (readonly Cell[])[] = [];
  for await (const batch of readParquetRows(file, 0))
    for (let row = 0; row < batch.rows; row++) rows.push(batch.columns.map((cells) => cells[row] ?? null));
  const texts = rows.map((row) => row.map((cell, i) => cellText(cell, columns[i]?.type ?? {})));
  return { names: columns.map(({ name }) => name), types: columns.map(({ type }) => type), rows, texts };
}

/** Leads as Parquet, in row groups of this many rows. */
function leadsIn(rows: number, group: number): Buffer {
  const made = leads(rows, 81).map(({ cells }, i): Cell[] => [...cells, BigInt(i)]);
  const groups = Array.from({ length: Math.ceil(rows / group) }, (_, i) => made.slice(i * group, (i + 1) * group));
  return parquetOf(
    [...['Name', 'Work Email', 'Website', 'Note'].map((name) => ({ name, type: TEXT })), { name: 'n', type: { type: 'INT64' } }],
    groups,
  );
}

const outputOf = (folder: Folder, name: string): Promise<Table> => tableIn(folder.at(name));

test('Parquet to Parquet keeps types and values of the input, and types the results', async () => {
  const world = await makeWorld();
  const { folder, args } = world;
  const planned = await plan(world, { input: FIXTURE });
  expect(planned).toMatchObject({ records: 60, keys: { email: 'email' } });
  expect(await folder.run(args({ input: FIXTURE, output: 'out.parquet' }))).toMatchObject({ code: 0 });
  const before = await tableIn(FIXTURE);
  const after = await outputOf(folder, 'out.parquet');
  const width = before.names.length;
  expect([after.names.slice(0, width), after.types.slice(0, width)]).toEqual([before.names, before.types]);
  expect(after.rows.map((row) => row.slice(0, width))).toEqual(before.rows);
  const column = (name: string): Cell[] => after.rows.map((row) => row[after.names.indexOf(name)] ?? null);
  expect(new Set(column('result.outcome'))).toEqual(new Set(['matched', 'invalid']));
  const kinds = (name: string): string[] => [...new Set(column(name).map((cell) => (cell === null ? 'null' : typeof cell)))].toSorted();
  expect(kinds('enrich.company.employees')).toEqual(['bigint', 'null']);
  expect(kinds('enrich.verified')).toEqual(['boolean', 'null']);
  expect(kinds('verify.confidence')).toEqual(['null', 'number']);
  expect(kinds('enrich.company.stack')).toEqual(['null', 'string']);
  const report = await folder.json('out.parquet.report.json');
  expect(report['output']).toMatchObject({ rows: 60, bytes: (await stat(folder.at('out.parquet'))).size });
  // The finished file is Parquet to the next job too, which refuses it as an input for the columns that it adds.
  const refused = await folder.run(args({ input: 'out.parquet', output: 'again.parquet' }));
  expect(refused).toMatchObject({ code: 65, stderr: expect.stringContaining('has a column that the output adds itself') });
});

test('Parquet, CSV and JSON lines of the same records give the same results', async () => {
  const { folder, service, args } = await makeWorld(toCsv(leads(300, 81)));
  await writeFile(folder.at('in.parquet'), leadsIn(300, 70));
  const run = async (input: string, output: string): Promise<void> => {
    service.forget();
    expect(await folder.run(args({ input, output, 'max-errors': '100%' }))).toMatchObject({ code: 0 });
  };
  await run('in.csv', 'csv.parquet');
  await run('in.parquet', 'parquet.parquet');
  await run('in.parquet', 'parquet.csv');
  await run('in.parquet', 'parquet.jsonl');
  const [fromCsv, fromParquet] = [await outputOf(folder, 'csv.parquet'), await outputOf(folder, 'parquet.parquet')];
  const without = ({ names, texts }: Table): unknown => texts.map((row) => row.filter((_, i) => names[i] !== 'n'));
  expect(without(fromParquet)).toEqual(without(fromCsv));
  const [, first = ''] = (await folder.read('parquet.csv')).split('\n');
  expect(first.startsWith('Näme 0,')).toBe(true);
  const last = JSON.parse((await folder.read('parquet.jsonl')).trimEnd().split('\n').at(-1) ?? '') as { input: object };
  expect(last.input).toMatchObject({ Name: expect.stringMatching(/ 299$/), n: 299 });
  expect((await folder.read('parquet.csv.errors.jsonl')).split('\n')[0]).toContain('"file":"in.parquet"');
});

test('output.fields picks columns, and an input column keeps its type', async () => {
  const { folder, args } = await makeWorld();
  const fields = {
    Verdict: 'verify.result',
    Size: 'enrich.company.employees',
    Number: 'input.i64',
    Day: 'input.day',
    All: 'enrich.company',
  };
  expect(await folder.run(args({ input: FIXTURE, output: 'out.parquet', 'output.fields': JSON.stringify(fields) }))).toMatchObject({
    code: 0,
  });
  const { names, types, rows } = await outputOf(folder, 'out.parquet');
  expect(names.slice(-5)).toEqual(Object.keys(fields));
  expect(types.slice(-4, -1)).toEqual([{ type: 'INT64' }, { type: 'INT64' }, types[names.indexOf('day')]]);
  for (const row of rows) expect([row.at(-3), row.at(-2)]).toEqual([row[names.indexOf('i64')], row[names.indexOf('day')]]);
});

test('a retry asks again for what failed, and keeps every other value', async () => {
  const { folder, service, args } = await makeWorld();
  let fails = true;
  service.script = (asked, _response, reply, usual) => {
    if (fails && asked.path === 'enrich' && asked.keys.some((key) => /person1\d@/.test(key))) reply({ status: 422, body: '{"code":"x"}' });
    else reply(usual());
  };
  const job = { input: FIXTURE, output: 'out.parquet', 'max-errors': '100%', 'limits.trustMisses': true };
  expect(await folder.run(args(job))).toMatchObject({ code: 0 });
  const before = await outputOf(folder, 'out.parquet');
  const at = before.names.indexOf('result.outcome');
  const failed = before.rows.flatMap((row, i) => (row[at] === 'failed' ? [i] : []));
  expect(failed.length).toBeGreaterThan(5);
  fails = false;
  const [, ...rest] = args(job);
  expect(await folder.run(['retry', ...rest])).toMatchObject({ code: 0 });
  const after = await outputOf(folder, 'out.parquet');
  for (const [i, row] of after.rows.entries())
    if (failed.includes(i)) expect(row[at]).toBe('matched');
    else expect(row).toEqual(before.rows[i]);
  // The same bytes as of a run to which nothing failed.
  expect(await folder.run(args({ ...job, output: 'other.parquet' }))).toMatchObject({ code: 0 });
  expect(await readFile(folder.at('out.parquet'))).toEqual(await readFile(folder.at('other.parquet')));
});

test('a pilot and the rest give the bytes of one run, and calls are paid once', async () => {
  const { folder, service, args } = await makeWorld();
  await writeFile(folder.at('in.parquet'), leadsIn(12_000, 5_000));
  const job = { input: 'in.parquet', steps: 'verify', 'max-errors': '100%' };
  for (const limit of ['10500', '11000', '12000'])
    expect(await folder.run(args({ ...job, output: 'out.parquet', limit }))).toMatchObject({ code: 0 });
  const asked = service.requests.flatMap(({ keys }) => keys);
  expect(new Set(asked).size).toBe(asked.length);
  expect(await folder.run(args({ ...job, output: 'whole.parquet' }))).toMatchObject({ code: 0 });
  expect(await readFile(folder.at('out.parquet'))).toEqual(await readFile(folder.at('whole.parquet')));
});

test('shards split a Parquet input by its rows', async () => {
  const { folder, args } = await makeWorld();
  await writeFile(folder.at('a.parquet'), leadsIn(200, 60));
  await writeFile(folder.at('b.parquet'), leadsIn(100, 100));
  const job = { input: '*.parquet', steps: 'enrich', 'max-errors': '100%' };
  expect(await folder.run(args({ ...job, output: 'whole.csv' }))).toMatchObject({ code: 0 });
  for (const shard of ['0/3', '1/3', '2/3'])
    expect(await folder.run(args({ ...job, output: 'out.csv', shard }))).toMatchObject({ code: 0 });
  expect(await folder.read('out.csv')).toBe(await folder.read('whole.csv'));
});

test('an input without rows gives a file with its columns and no rows', async () => {
  const { folder, args } = await makeWorld('email,name\n');
  expect(await folder.run(args({ output: 'out.parquet' }))).toMatchObject({ code: 0 });
  expect(await outputOf(folder, 'out.parquet')).toMatchObject({ names: expect.arrayContaining(['email', 'result.outcome']), rows: [] });
  expect(await folder.run(args({ input: 'out.parquet', output: 'two.csv', 'output.fields': '{"x":"enrich.title"}' }))).toMatchObject({
    code: 0,
  });
});

test.each([
  [{ output: '-', 'output.format': 'parquet' }, 64, 'Parquet goes to a file'],
  [{ output: 'out.parquet.gz' }, 64, 'compressed within the file'],
  [{ output: 'out.parquet', 'output.split': 'verdict' }, 64, 'is for csv, tsv and jsonl'],
  [{ output: 'out.parquet', 'output.bom': true }, 64, 'is for csv and tsv'],
  [{ output: 'out.parquet', shard: '0/2' }, 78, 'shards cannot write one Parquet output'],
])('%j is refused before anything is called', async (more, exit, says) => {
  const { folder, service, args } = await makeWorld('email\na1@works.example\n');
  expect(await folder.run(args(more as Record<string, string>))).toMatchObject({ code: exit, stderr: expect.stringContaining(says) });
  expect(service.requests).toEqual([]);
});
