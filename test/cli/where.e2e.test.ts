/** `input.where`: records that a job skips stay in the output, and cost nothing. */
import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { leads, toCsv, toJsonl } from '../support/leads.ts';
import { makeWorld } from '../support/world.ts';
import { plan } from './planned.ts';

const ROWS = leads(300, 71);
const BLANK_NOTE = ROWS.filter(({ cells }) => cells[3] === '');
const WHERE = { 'input.where.note': 'empty', 'max-errors': '100%' };

test('rows that are left out stay as they came, are counted, and cost nothing', async () => {
  const world = await makeWorld(toCsv(ROWS));
  const { folder, service, args } = world;
  const planned = await plan(world, { 'input.where.note': 'empty' });
  expect(planned).toMatchObject({ records: ROWS.length, skipped: ROWS.length - BLANK_NOTE.length });
  expect(await folder.run(args({ ...WHERE, progress: 'log' }))).toMatchObject({ code: 0 });
  const asked = new Set(service.requests.flatMap(({ keys }) => keys));
  const own = new Set(BLANK_NOTE.flatMap(({ key }) => key ?? []));
  expect(service.calls).toMatchObject({ enrich: planned.requests.enrich });
  for (const { key } of ROWS) if (key !== null) expect([key, asked.has(key)]).toEqual([key, own.has(key)]);
  const report = await folder.json('out.csv.report.json');
  const records = report['records'] as Record<string, number>;
  const { total, ...outcomes } = records;
  expect(Object.keys(records).at(-1)).toBe('skipped');
  expect(outcomes['skipped']).toBe(ROWS.length - BLANK_NOTE.length);
  expect(Object.values(outcomes).reduce((sum, n) => sum + n, 0)).toBe(total);
  const output = await folder.read('out.csv');
  // The row of the input, then the outcome, then nothing.
  for (const row of toCsv(ROWS.filter(({ cells }) => cells[3] !== ''))
    .split(/\n(?=Näme|Again)/)
    .slice(1))
    expect(output).toContain(`\n${row.trimEnd()},skipped${','.repeat(13)}\n`);
  expect(await folder.read('out.csv.report.html')).toContain('left out by input.where or when');
  expect(await folder.read('out.csv.errors.jsonl')).not.toContain('skipped');
});

test('a job file states conditions, and a skipped JSON row has its outcome alone', async () => {
  const { folder, args } = await makeWorld();
  await writeFile(folder.at('in.jsonl'), `${toJsonl(ROWS)}{"name":"x","email":"x@works.example","opted_out":true}\n`);
  await writeFile(folder.at('job.yaml'), 'input: {where: {opted_out: {not: [true, yes]}, email: {not: empty}}}\n');
  const [, ...rest] = args({ input: 'in.jsonl', output: 'out.jsonl', 'max-errors': '100%' });
  const ended = await folder.run(['run', 'job.yaml', ...rest.filter((one) => one !== 'none' && one !== '--progress'), '--progress', 'bar']);
  expect(ended.code).toBe(0);
  expect(ended.stderr).toMatch(/ {2}skipped +\d+ {2}[\d.]+ % by input\.where/);
  const last = (await folder.read('out.jsonl')).trimEnd().split('\n').at(-1);
  expect(last).toBe(
    '{"input":{"name":"x","email":"x@works.example","opted_out":true},"result":{"outcome":"skipped"},"enrich":null,"verify":null}',
  );
});

test('a retry asks only for what failed, and leaves skipped rows as they are', async () => {
  const { folder, service, args } = await makeWorld('email,out\na1@works.example,\na2@works.example,yes\nfails@works.example,\n');
  let fails = true;
  service.script = (asked, _response, reply, usual) => {
    if (fails && asked.keys.includes('fails@works.example')) reply({ status: 422, body: '{"code":"validation_failed"}' });
    else reply(usual());
  };
  const job = { steps: 'enrich', 'limits.trustMisses': true, 'input.where': '{"out":{"not":["yes"]}}' };
  // One of two records failed: the skipped one does not count.
  expect(await folder.run(args({ ...job, 'max-errors': '40%' }))).toMatchObject({ code: 1 });
  expect((await folder.json('out.csv.report.json'))['exitReasons']).toEqual([expect.stringContaining('1 of 2 records failed')]);
  const skipped = (text: string): string | undefined => text.split('\n').find((line) => line.startsWith('a2@'));
  const before = skipped(await folder.read('out.csv'));
  fails = false;
  const [, ...rest] = args({ ...job, 'max-errors': '40%' });
  expect(await folder.run(['retry', ...rest])).toMatchObject({ code: 0 });
  expect(skipped(await folder.read('out.csv'))).toBe(before);
  expect((await folder.json('out.csv.report.json'))['records']).toMatchObject({ total: 3, matched: 2, failed: 0, skipped: 1 });
  expect(service.requests.flatMap(({ keys }) => keys)).not.toContain('a2@works.example');
});

test('an unknown column, a bad condition and a changed one are refused', async () => {
  const { folder, service, args } = await makeWorld('email,opted_out\na1@works.example,\n');
  expect(await folder.run(args({ 'input.where.opted_uot': 'empty' }))).toMatchObject({
    code: 65,
    stderr: expect.stringContaining('input.where names "opted_uot", and the input has no such column; did you mean "opted_out"?'),
  });
  expect(await folder.run(args({ 'input.where.opted_out': '{"nor":"x"}' }))).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('must be a mapping of columns'),
  });
  expect(service.requests).toEqual([]);
  expect(await folder.run(args({ 'input.where.opted_out': 'empty' }))).toMatchObject({ code: 0 });
  expect(await folder.run(args({ 'input.where.opted_out': 'yes' }))).toMatchObject({
    code: 78,
    stderr: expect.stringContaining('input.where'),
  });
});
