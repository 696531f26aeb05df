/** `output.split: verdict`: one file for each verdict beside the whole. */
import { gunzipSync } from 'node:zlib';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { leads, toCsv } from '../support/leads.ts';
import { makeWorld } from '../support/world.ts';

const ROWS = leads(120, 61);
const VERDICTS = ['deliverable', 'undeliverable', 'risky', 'unknown'];
const JOB = { 'output.split': 'verdict', 'max-errors': '100%' };

test.each([
  ['out.csv', {}],
  ['out.jsonl', {}],
  ['out.tsv.gz', { 'output.fields': '{"Key":"enrich.email","Verdict":"verify.result"}', 'output.lineEnds': 'crlf' }],
  ['out.jsonl.gz', { 'output.fields': '{"v":"verify.result"}' }],
] as const)('each row of %s is in the file of its verdict, in its order, byte for byte', async (output, more) => {
  const { folder, args } = await makeWorld(toCsv(ROWS));
  expect(await folder.run(args({ ...JOB, ...more, output }))).toMatchObject({ code: 0 });
  const read = async (name: string): Promise<string> => {
    const bytes = await readFile(folder.at(name));
    return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  };
  const name = (verdict: string): string => output.replace('out.', `out.${verdict}.`);
  const whole = await read(output);
  const { verification } = (await folder.json(`${output}.report.json`)) as { verification: Record<string, number> };
  const header = output.includes('jsonl') ? '' : `${whole.split(/(?<=\n)/)[0]}`;
  let parts = 0;
  for (const verdict of VERDICTS) {
    const part = await read(name(verdict));
    expect(part.startsWith(header)).toBe(true);
    const body = part.slice(header.length);
    parts += body.length;
    // All rows of the part are rows of the whole, in the same order.
    let from = 0;
    for (const line of body.split(/(?<=\n)/)) {
      const at = whole.indexOf(line, from);
      expect(at).toBeGreaterThanOrEqual(from);
      from = at + line.length;
    }
    if (output === 'out.jsonl') {
      expect(body.trim().split('\n')).toHaveLength(verification[verdict] ?? 0);
      for (const line of body.trim().split('\n')) expect((JSON.parse(line) as { verify: { result: string } }).verify.result).toBe(verdict);
    }
  }
  expect(parts).toBeGreaterThan(0);
  expect(parts).toBeLessThanOrEqual(whole.length);
});

test('files of verdicts are written again when they are gone, and are no input of a later run', async () => {
  const { folder, service, args } = await makeWorld(toCsv(ROWS));
  const job = { ...JOB, input: '*.csv', output: 'out.csv' };
  expect(await folder.run(args(job))).toMatchObject({ code: 0 });
  const before = await folder.read('out.risky.csv');
  await rm(folder.at('out.csv'));
  await rm(folder.at('out.risky.csv'));
  const asked = service.requests.length;
  // The list of inputs is frozen, and the own files do not match the glob.
  expect(await folder.run(args(job))).toMatchObject({ code: 0 });
  expect([await folder.read('out.risky.csv'), service.requests.length]).toEqual([before, asked]);
});

test.each(['out.unknown.csv', 'out.risky.csv.partial'])('a file %s of another program is neither replaced nor removed', async (name) => {
  const { folder, service, args } = await makeWorld(toCsv(ROWS));
  await writeFile(folder.at(name), 'mine');
  expect(await folder.run(args(JOB))).toMatchObject({ code: 65, stderr: expect.stringContaining(`${name} exists`) });
  expect([await folder.read(name), service.requests.length]).toEqual(['mine', 0]);
});

test.each([
  ['the step verify', { steps: 'enrich' }],
  ['the verdict among its columns', { 'output.fields': '{"Key":"enrich.email"}' }],
])('a split without %s is refused before anything is called', async (_, more) => {
  const { folder, service, args } = await makeWorld(toCsv(ROWS));
  expect(await folder.run(args({ ...JOB, ...more }))).toMatchObject({ code: 64, stderr: expect.stringContaining('needs the verdicts') });
  expect(service.requests).toEqual([]);
});
