import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readPieces } from '../../src/reader/pieces.ts';
import type { Folder } from '../support/cli.ts';
import { durableLookups, FINISHING, killThrough, randomMoments, type Moment } from '../support/crash-chain.ts';
import { leads, seeded, toCsv, toJsonl, type Lead } from '../support/leads.ts';
import { flags, makeFolder, startService } from '../support/world.ts';

/** `CRASH_SEED=123` repeats a run. */
const SEED = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);

interface Case {
  readonly name: string;
  readonly rows: number;
  readonly files: (rows: readonly Lead[]) => Record<string, string>;
  readonly flags: Record<string, string>;
  readonly kills: number;
}

const half = (rows: readonly Lead[], part: 0 | 1): readonly Lead[] => rows.slice(part * Math.floor(rows.length / 2), part === 0 ? Math.floor(rows.length / 2) : undefined);

const CASES: readonly Case[] = [
  { name: 'csv to csv', rows: 1_500, files: (rows) => ({ 'in.csv': toCsv(rows) }), flags: { input: 'in.csv', output: 'out.csv' }, kills: 6 },
  {
    name: 'two jsonl files to jsonl.zst',
    rows: 6_000,
    files: (rows) => ({ 'in/a.jsonl': toJsonl(half(rows, 0)), 'in/b.jsonl': toJsonl(half(rows, 1)) }),
    flags: { input: 'in', output: 'out.jsonl.zst', steps: 'verify' },
    kills: 4,
  },
  {
    name: 'a glob of csv files to csv.gz',
    rows: 6_000,
    files: (rows) => ({ 'in-1.csv': toCsv(half(rows, 0)), 'in-2.csv': toCsv(half(rows, 1)) }),
    flags: { input: 'in-*.csv', output: 'out.csv.gz', steps: 'enrich' },
    kills: 5,
  },
  { name: 'csv to jsonl', rows: 1_000, files: (rows) => ({ 'in.csv': toCsv(rows) }), flags: { input: 'in.csv', output: 'out.jsonl', concurrency: '7' }, kills: 4 },
];

async function fill(folder: Folder, files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(folder.at(name)), { recursive: true });
    await writeFile(folder.at(name), text);
  }
}

const ALWAYS = { plan: 'enterprise', progress: 'none', 'checkpoint.everyMs': '50', 'max-errors': '100%' };

/** Everything that a crash may not change. */
async function result(folder: Folder, output: string): Promise<unknown> {
  const bytes = await readFile(folder.at(output));
  const { records, verification, output: file, lookups, exitCode } = await folder.json(`${output}.report.json`);
  const errors = (await folder.read(`${output}.errors.jsonl`)).trimEnd().split('\n').map((line) => ({ ...(JSON.parse(line) as object), requestId: null }));
  return { bytes: bytes.toString('base64'), records, verification, file, lookups, exitCode, errors };
}

/** The output as text, member by member (node:zlib reads the first zstd frame only). */
async function text(folder: Folder, output: string): Promise<string> {
  const path = folder.at(output);
  const compression = output.endsWith('.gz') ? 'gzip' : output.endsWith('.zst') ? 'zstd' : 'none';
  const parts: Buffer[] = [];
  for await (const { bytes } of readPieces({ uri: output, path, size: (await stat(path)).size, compression }, { offset: 0, frame: compression === 'none' ? null : { at: 0, offset: 0 } }, { chunkBytes: 65_536 })) parts.push(bytes);
  return Buffer.concat(parts).toString();
}

async function whole(one: Case, rows: readonly Lead[]): Promise<unknown> {
  const [folder, service] = [await makeFolder(), await startService()];
  await fill(folder, one.files(rows));
  const output = one.flags['output'] ?? '';
  const ended = await folder.run(['run', ...flags({ ...ALWAYS, ...one.flags, 'base-url': service.url })]);
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  expect(service.repeated).toBe(0);
  // The yardstick itself: each record once and in order, known by a name that no other has.
  const names = [...(await text(folder, output)).matchAll(/^(?:\{"input":\{"[Nn]ame":")?((?:Näme|Again) \d+)/gm)].map(([, name]) => name);
  expect(names).toEqual(rows.map(({ cells }) => cells[0]));
  return result(folder, output);
}

async function survives(one: Case, rows: readonly Lead[], moments: readonly Moment[]): Promise<void> {
  const expected = await whole(one, rows);
  const [folder, service] = [await makeFolder(), await startService()];
  await fill(folder, one.files(rows));
  service.latencyMs = 3;
  const output = one.flags['output'] ?? '';
  const chain = await killThrough(folder, service, ['run', ...flags({ ...ALWAYS, ...one.flags, 'base-url': service.url })], folder.at(`${output}.ledger`), moments);
  expect(chain.kills).toBeGreaterThan(0);
  expect(await result(folder, output)).toEqual(expected);
  expect(chain.paidTwice).toEqual([]);
  expect(chain.repeated).toBeLessThanOrEqual(chain.bound);
  if (one.flags['steps'] === 'enrich') for (const [name, keys] of service.idempotencyKeys) expect([name, keys.size]).toEqual([name, 1]);
  const left = await folder.files();
  expect(left.filter((name) => /\.partial|\.lock|\.tmp$/.test(name))).toEqual([]);
}

describe(`killed at random moments (CRASH_SEED=${SEED})`, () => {
  test.each(CASES)('$name: the same bytes, and nothing durable is asked for again', async (one) => {
    const random = seeded(SEED + one.rows);
    const rows = leads(one.rows, SEED % 1_000);
    const lookups = one.flags['steps'] === 'verify' ? 8 : rows.length;
    await survives(one, rows, randomMoments(one.kills, lookups, random));
  });
});

test('killed at each step of finishing: the next run does what is missing', async () => {
  const [one] = CASES;
  if (one !== undefined) await survives({ ...one, rows: 60 }, leads(60, 7), FINISHING);
});

test('what is answered and durable is not asked for again: only what was in flight is', async () => {
  const [folder, service] = [await makeFolder(), await startService()];
  const rows = leads(400, 11);
  await fill(folder, { 'in.csv': toCsv(rows) });
  const args = ['run', ...flags({ ...ALWAYS, input: 'in.csv', output: 'out.csv', steps: 'enrich', 'base-url': service.url, concurrency: '8' })];
  // The service answers 100 and then nobody any more, so that the ledger is known to be ahead of the kill.
  service.script = (asked, _response, reply, usual) => {
    if (asked.number <= 100) reply(usual());
  };
  const first = folder.start(args);
  await service.when(() => service.answered === 100 && service.unanswered.size === 8);
  const held = new Set(service.unanswered.keys());
  for (;;) {
    // Reads, not sleeps: the run is alive, and its next checkpoint makes the last answer durable.
    if ((await durableLookups(folder.at('out.csv.ledger'))).size === 100) break;
  }
  first.kill('SIGKILL');
  expect((await first.ended).signal).toBe('SIGKILL');
  service.script = (_asked, _response, reply, usual) => reply(usual());
  expect((await folder.run(args)).code).toBe(0);
  const again = [...service.asked].filter(([, times]) => times > 1).map(([name]) => name);
  expect(again.sort()).toEqual([...held].sort());
});
