/** A retry gives the output of a run in which no lookup failed. */
import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { Folder } from '../support/cli.ts';
import { oneIn, refusing } from '../support/failing.ts';
import { leads, PROFILE_COLUMNS, toCsv, toJsonl, withProfiles, type Lead } from '../support/leads.ts';
import { sampleOf } from '../support/sample.ts';
import type { ScriptedService } from '../support/scripted-service.ts';
import { flags, makeFolder, startService } from '../support/world.ts';
import { failures } from './retried-job.ts';
import { SEED } from '../support/seed.ts';
import { STEPS } from '../../src/steps/registry.ts';

interface Case {
  readonly name: string;
  readonly output: string;
  readonly rows: number;
  /** One in `share` lookups fails at first. */
  readonly share?: number;
  readonly flags?: Readonly<Record<string, string | boolean>>;
  readonly files?: (rows: readonly Lead[]) => Readonly<Record<string, string>>;
}

const twoFiles = (rows: readonly Lead[]): Record<string, string> => ({
  'a.csv': toCsv(rows.slice(0, 150)),
  'b.csv': toCsv(rows.slice(150)),
});

const CASES: readonly Case[] = [
  { name: 'csv', output: 'out.csv', rows: 300 },
  { name: 'tsv, from two files', output: 'out.tsv', rows: 300, files: twoFiles, flags: { input: '?.csv' } },
  {
    name: 'jsonl of jsonl',
    output: 'out.jsonl',
    rows: 200,
    files: (rows) => ({ 'in.jsonl': toJsonl(rows) }),
    flags: { input: 'in.jsonl' },
  },
  { name: 'csv.gz of several members, verify alone', output: 'out.csv.gz', rows: 6_000, share: 200, flags: { steps: 'verify' } },
  { name: 'jsonl.zst, enrich alone', output: 'out.jsonl.zst', rows: 500, flags: { steps: 'enrich' } },
  {
    name: 'all steps',
    output: 'out.csv',
    rows: 200,
    files: (rows) => ({ 'in.csv': toCsv(withProfiles(rows), PROFILE_COLUMNS) }),
    flags: { steps: STEPS.join(',') },
  },
  { name: 'a pilot', output: 'out.csv', rows: 300, flags: { limit: '120' } },
  {
    name: 'unverified only, formulas guarded',
    output: 'out.csv',
    rows: 200,
    flags: { 'verify.when': 'unverified', 'output.escapeFormulas': true },
  },
];

async function prepare({
  output,
  rows: count,
  flags: more = {},
  files = (rows) => ({ 'in.csv': toCsv(rows) }),
}: Case): Promise<{ folder: Folder; service: ScriptedService; line: string[] }> {
  const [folder, service] = await Promise.all([makeFolder(), startService()]);
  for (const [name, text] of Object.entries(files(leads(count, SEED)))) await writeFile(folder.at(name), text);
  const line = flags({
    input: 'in.csv',
    output,
    plan: 'enterprise',
    progress: 'none',
    'checkpoint.everyMs': '50',
    'base-url': service.url,
    'max-errors': '0',
    'limits.trustMisses': true,
    ...more,
  });
  return { folder, service, line };
}

/** The parts of a result that must equal those of a run without failures. */
async function resultOf(folder: Folder, output: string): Promise<unknown> {
  const { records, verification, lookups, output: file, exitCode } = await folder.json(`${output}.report.json`);
  const errors = await folder.read(`${output}.errors.jsonl`);
  const lines = errors
    .trimEnd()
    .split('\n')
    .map((line) => ({ ...(JSON.parse(line) as object), requestId: null }));
  return { bytes: (await readFile(folder.at(output))).toString('base64'), records, verification, lookups, file, exitCode, lines };
}

describe(`a retry makes the output equal to that of a run without failures (SEED=${SEED})`, () => {
  test.each(sampleOf(CASES, 2, SEED))('for $name', async (one) => {
    const calm = await prepare(one);
    await calm.folder.run(['run', ...calm.line]);
    const expected = await resultOf(calm.folder, one.output);

    const { folder, service, line } = await prepare(one);
    const fails = oneIn(one.share ?? 3, String(SEED));
    service.script = refusing((key, path) => fails(`${path} ${key}`));
    expect(await folder.run(['run', ...line])).toMatchObject({ code: 1 });
    const before = await folder.json(`${one.output}.report.json`);
    const failed = (before['records'] as { failed: number }).failed;
    expect(failed).toBeGreaterThan(5);

    service.script = (_asked, _response, reply, usual) => reply(usual());
    const notPaid = await failures(folder, one.output);
    const paid = [...service.asked.keys()].filter((name) => !notPaid.has(name));
    const first = { keys: new Set(service.requests.map(({ idempotencyKey }) => idempotencyKey)), calls: service.calls };
    service.forget();
    expect((await folder.run(['retry', ...line])).stderr).toBe('');
    expect(await resultOf(folder, one.output)).toEqual(expected);
    // Only failed lookups were asked for, each once, with Idempotency-Keys of a new generation.
    expect(paid.length).toBeGreaterThan(20);
    expect(paid.filter((name) => service.asked.has(name))).toEqual([]);
    expect(service.repeated).toBe(0);
    expect(service.requests.filter(({ path, idempotencyKey }) => path !== 'company' && first.keys.has(idempotencyKey))).toEqual([]);
    const { calls } = (await folder.json(`${one.output}.report.json`)) as { calls: Record<string, number> };
    for (const step of STEPS) expect(calls[step] ?? 0).toBe(first.calls[step] + service.calls[step]);
    expect((await folder.files()).filter((name) => /\.partial|\.lock|\.tmp$/.test(name))).toEqual([]);

    service.forget();
    await folder.run(['run', ...line]);
    expect(service.requests).toEqual([]);
  });
});

test.each(sampleOf(['out.csv', 'out.csv.gz'], 1, SEED))('a pilot that was retried continues with a higher limit, to %s', async (output) => {
  const one: Case = { name: '', output, rows: 200, flags: { steps: 'enrich', limit: '80' } };
  const calm = await prepare({ ...one, flags: { steps: 'enrich' } });
  await calm.folder.run(['run', ...calm.line]);
  const { folder, service, line } = await prepare(one);
  service.script = refusing((key) => oneIn(3)(key));
  await folder.run(['run', ...line]);
  service.script = (_asked, _response, reply, usual) => reply(usual());
  service.forget();
  await folder.run(['retry', ...line]);
  await folder.run(['run', ...line.filter((arg) => arg !== '--limit' && arg !== '80')]);
  expect(await resultOf(folder, output)).toEqual(await resultOf(calm.folder, output));
  expect(service.repeated).toBe(0);
});
