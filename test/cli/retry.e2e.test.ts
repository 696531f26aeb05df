import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { STEPS } from '../../src/job/steps.ts';
import type { Folder } from '../support/cli.ts';
import { oneIn, refusing } from '../support/failing.ts';
import { leads, PROFILE_COLUMNS, toCsv, toJsonl, withProfiles, type Lead } from '../support/leads.ts';
import { sampleOf } from '../support/sample.ts';
import type { ScriptedService } from '../support/scripted-service.ts';
import { flags, makeFolder, makeWorld, startService, type World } from '../support/world.ts';

/** `RETRY_SEED=123` repeats a run. */
const SEED = Number(process.env['RETRY_SEED'] ?? Date.now() % 1_000);

interface Case {
  readonly name: string;
  readonly output: string;
  readonly rows: number;
  /** One lookup in so many fails at first. */
  readonly share?: number;
  readonly flags?: Readonly<Record<string, string | boolean>>;
  readonly files?: (rows: readonly Lead[]) => Readonly<Record<string, string>>;
}

const twoFiles = (rows: readonly Lead[]): Record<string, string> => ({ 'a.csv': toCsv(rows.slice(0, 150)), 'b.csv': toCsv(rows.slice(150)) });

const CASES: readonly Case[] = [
  { name: 'csv', output: 'out.csv', rows: 300 },
  { name: 'tsv, from two files', output: 'out.tsv', rows: 300, files: twoFiles, flags: { input: '?.csv' } },
  { name: 'jsonl of jsonl', output: 'out.jsonl', rows: 200, files: (rows) => ({ 'in.jsonl': toJsonl(rows) }), flags: { input: 'in.jsonl' } },
  { name: 'csv.gz of several members, verify alone', output: 'out.csv.gz', rows: 6_000, share: 200, flags: { steps: 'verify' } },
  { name: 'jsonl.zst, enrich alone', output: 'out.jsonl.zst', rows: 500, flags: { steps: 'enrich' } },
  { name: 'all steps', output: 'out.csv', rows: 200, files: (rows) => ({ 'in.csv': toCsv(withProfiles(rows), PROFILE_COLUMNS) }), flags: { steps: STEPS.join(',') } },
  { name: 'a pilot', output: 'out.csv', rows: 300, flags: { limit: '120' } },
  { name: 'unverified only, formulas guarded', output: 'out.csv', rows: 200, flags: { 'verify.when': 'unverified', 'output.escapeFormulas': true } },
];

async function prepare({ output, rows: count, flags: more = {}, files = (rows) => ({ 'in.csv': toCsv(rows) }) }: Case): Promise<{ folder: Folder; service: ScriptedService; line: string[] }> {
  const [folder, service] = await Promise.all([makeFolder(), startService()]);
  for (const [name, text] of Object.entries(files(leads(count, SEED)))) await writeFile(folder.at(name), text);
  const line = flags({ input: 'in.csv', output, plan: 'enterprise', progress: 'none', 'checkpoint.everyMs': '50', 'base-url': service.url, 'max-errors': '0', 'limits.trustMisses': true, ...more });
  return { folder, service, line };
}

/** Everything that a retry must make as if nothing had failed. */
async function resultOf(folder: Folder, output: string): Promise<unknown> {
  const { records, verification, lookups, output: file, exitCode } = await folder.json(`${output}.report.json`);
  const errors = await folder.read(`${output}.errors.jsonl`);
  const lines = errors.trimEnd().split('\n').map((line) => ({ ...(JSON.parse(line) as object), requestId: null }));
  return { bytes: (await readFile(folder.at(output))).toString('base64'), records, verification, lookups, file, exitCode, lines };
}

/** The lookups that failed, by the errors file: `enrich ana@works.example` */
async function failures(folder: Folder, output: string): Promise<Set<string>> {
  const lines = (await folder.read(`${output}.errors.jsonl`)).trimEnd().split('\n').map((line) => JSON.parse(line) as { step: string | null; key: string });
  return new Set(lines.flatMap(({ step, key }) => (step === null ? [] : `${step} ${key}`)));
}

describe(`the output of a run and its retry is that of a run in which the service answers (RETRY_SEED=${SEED})`, () => {
  test.each(sampleOf(CASES, 2, SEED))('$name', async (one) => {
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
    // Only what failed was asked for, each once, and as a generation of its own.
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

test.each(sampleOf(['out.csv', 'out.csv.gz'], 1, SEED))('a pilot that was retried goes on with a higher limit: %s', async (output) => {
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

const ROWS = leads(120, 71);
const LINE = { input: 'in.csv', output: 'out.csv', plan: 'enterprise', 'checkpoint.everyMs': '50' } as const;

/** A job that is finished, some of whose lookups were refused. */
async function finished(more: Readonly<Record<string, string | boolean>> = {}, script = refusing((key, path) => oneIn(4)(`${path} ${key}`))): Promise<World & { line: (command: string, change?: Readonly<Record<string, string | boolean>>) => string[] }> {
  const world = await makeWorld(toCsv(ROWS));
  const { folder, service } = world;
  service.script = script;
  const line = (command: string, change: Readonly<Record<string, string | boolean>> = {}): string[] => [command, ...flags({ ...LINE, 'base-url': service.url, ...(command === 'status' || command === 'plan' ? {} : { progress: 'none' }), ...more, ...change })];
  expect(await folder.run(line('run'))).toMatchObject({ code: 1 });
  service.script = (_asked, _response, reply, usual) => reply(usual());
  service.forget();
  return { ...world, line };
}

async function contents(folder: Folder): Promise<Map<string, string>> {
  const names = (await folder.files()).filter((name) => !/\.ledger/.test(name));
  return new Map(await Promise.all(names.map(async (name) => [name, await folder.read(name)] as const)));
}

describe(`what cannot be retried is refused, and stays as it is (RETRY_SEED=${SEED})`, () => {
  test('an input, an output or an errors file that changed or is gone; another definition', async () => {
    const { folder, service, line } = await finished();
    const before = await contents(folder);
    for (const [name, change, words] of sampleOf([
      ['in.csv', (path: string) => appendFile(path, 'x,x@works1.example,,\n'), /the input is not what the job has read: in\.csv had \d+ bytes/],
      ['in.csv', rm, /the input is not what the job has read: in\.csv is no longer there/],
      ['out.csv', (path: string) => appendFile(path, 'x\n'), /out\.csv is no longer as this job wrote it/],
      ['out.csv', rm, /out\.csv is gone\n.*millrace run/],
      ['out.csv.errors.jsonl', (path: string) => writeFile(path, ''), /errors\.jsonl is no longer as this job wrote it/],
      ['out.csv.errors.jsonl', rm, /errors\.jsonl is gone\n.*which records failed/],
      ['out.csv.checkpoint.json', rm, /has never run: there is no checkpoint at .*\n.*millrace run/],
    ] as const, 4, SEED)) {
      await change(folder.at(name));
      expect(await folder.run(line('retry'))).toMatchObject({ code: 65, stderr: expect.stringMatching(words) });
      await writeFile(folder.at(name), before.get(name) ?? '');
      expect(await contents(folder)).toEqual(before);
    }
    expect(await folder.run(line('retry', { 'output.escapeFormulas': true }))).toMatchObject({ code: 78, stderr: expect.stringContaining('output.escapeFormulas was false and is now true') });
    expect(await contents(folder)).toEqual(before);
    expect(service.requests).toEqual([]);
  });

  test('a job that is not finished', async () => {
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    const run = folder.start(args({ 'max-calls': '50' }));
    expect((await run.ended).code).toBe(77);
    service.forget();
    expect(await folder.run(['retry', ...args().slice(1)])).toMatchObject({ code: 65, stderr: expect.stringMatching(/is not finished: it stopped after \d+ rows\n.*millrace run/) });
    expect(service.requests).toEqual([]);
  });
});

test('nothing failed: nothing is called', async () => {
  const { folder, service, args } = await makeWorld(toCsv(ROWS.filter(({ key }) => key?.startsWith('person') === true)));
  expect((await folder.run(args())).code).toBe(0);
  const before = await contents(folder);
  service.forget();
  expect(await folder.run(['retry', ...args({ progress: 'log' }).slice(1)])).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing is left to retry: nothing was called') });
  expect(service.requests).toEqual([]);
  expect(await contents(folder)).toEqual(before);
});

test('what fails again stays failed, and the next retry asks for that alone', async () => {
  const { folder, service, line } = await finished();
  const fails = oneIn(2, 'again');
  service.script = refusing((key) => fails(key));
  expect((await folder.run(line('retry'))).code).toBe(1);
  const some = (await folder.json('out.csv.report.json')) as { records: { failed: number; total: number }; lookups: { unique: number } };
  expect(some.records.failed).toBeGreaterThan(0);
  const stillFailed = await failures(folder, 'out.csv');
  service.script = (_asked, _response, reply, usual) => reply(usual());
  service.forget();
  expect((await folder.run(line('retry', { 'max-errors': '100%' }))).code).toBe(0);
  const asked = [...service.asked.keys()].filter((name) => name.startsWith('enrich'));
  expect(asked.sort()).toEqual([...stillFailed].filter((name) => name.startsWith('enrich')).sort());
  const all = (await folder.json('out.csv.report.json')) as typeof some;
  expect(all.records.total).toBe(120);
  // Those who are refused for ever remain.
  const refused = ROWS.filter(({ key }) => key?.startsWith('refused') === true).length;
  expect(all.records.failed).toBe(refused);
});

test('limits.maxCalls counts the run and the retry together', async () => {
  const { folder, service, line } = await finished({ steps: 'enrich' });
  const { calls } = (await folder.json('out.csv.report.json')) as { calls: { enrich: number } };
  const stopped = await folder.run(line('retry', { 'max-calls': String(calls.enrich + 5) }));
  expect(stopped).toMatchObject({ code: 77, stderr: expect.stringContaining('limits.maxCalls is reached') });
  expect(service.requests).toHaveLength(5);
  expect((await folder.run(line('retry', { 'max-errors': '100%' }))).code).toBe(0);
  expect(service.repeated).toBe(0);
});

test('a signal drains it: 75, the old output in place, status knows, and the same command goes on', async () => {
  const { folder, service, line } = await finished({ concurrency: '4' });
  const { records } = (await folder.json('out.csv.report.json')) as { records: { failed: number } };
  const old = await folder.read('out.csv');
  service.script = ({ number }, _response, reply, usual) => {
    if (number <= 10) reply(usual());
  };
  const started = folder.start(line('retry'));
  await service.when(() => service.answered === 10 && service.unanswered.size === 4);
  expect(JSON.parse((await folder.run(line('status', { json: true }))).stdout)).toMatchObject({ state: 'running', retry: { failed: records.failed }, exitCode: null });
  started.kill('SIGTERM');
  // Two of a kind could arrive as one, and the drain would last its 25 s.
  started.kill('SIGINT');
  service.script = (_asked, _response, reply, usual) => reply(usual());
  const inFlight = [...service.unanswered.keys()];
  expect(await started.ended).toMatchObject({ code: 75 });
  expect(await folder.read('out.csv')).toBe(old);
  expect((await folder.run(line('status'))).stdout).toMatch(new RegExp(`^out: stopped, \\d+ % of [\\d,]+ records, retrying ${records.failed} failed records`));

  expect(await folder.run(line('retry', { 'max-errors': '100%', progress: 'log' }))).toMatchObject({ code: 0, stderr: expect.stringContaining('a retry was under way and goes on') });
  expect([...service.asked].filter(([, times]) => times > 1).map(([name]) => name).sort()).toEqual(inFlight.sort());
  for (const name of inFlight) expect(service.idempotencyKeys.get(name)?.size).toBe(1);
  expect(JSON.parse((await folder.run(line('status', { json: true }))).stdout)).toMatchObject({ state: 'finished', retry: null });
});

test.each([true, false])('given up for a higher limit, a retry leaves no two rows of one key that differ (with the ledger: %s)', async (withLedger) => {
  const emails = Array.from({ length: 40 }, (_, i) => `e${i}@works.example`);
  const { folder, service } = await makeWorld(`email\n${[...emails, ...emails].map((email) => `${email}\n`).join('')}`);
  const line = (command: string, more: Readonly<Record<string, string>> = {}): string[] => [command, ...flags({ ...LINE, 'base-url': service.url, steps: 'enrich', concurrency: '1', output: 'out.jsonl', progress: 'none', ...more })];
  service.script = refusing((key) => oneIn(2)(key));
  await folder.run(line('run', { limit: '40' }));
  const failed = ((await folder.json('out.jsonl.report.json')) as { records: { failed: number } }).records.failed;
  service.forget();
  service.script = (_asked, _response, reply, usual) => {
    if (service.requests.length <= failed / 2) reply(usual());
  };
  const started = folder.start(line('retry', { limit: '40' }));
  await service.when(() => service.unanswered.size === 1);
  started.kill('SIGTERM');
  started.kill('SIGINT');
  expect((await started.ended).code).toBe(75);
  service.script = (_asked, _response, reply, usual) => reply(usual());
  service.forget();
  if (!withLedger) await rm(folder.at('out.jsonl.ledger'));
  await folder.run(line('run'));
  // What had failed, and was not asked for again by the retry, stays so; with the ledger gone nothing is known of the second half.
  expect(service.requests).toHaveLength(withLedger ? 0 : 40);
  const outcomes = (await folder.read('out.jsonl')).trim().split('\n').map((row) => (JSON.parse(row) as { result: { outcome: string } }).result.outcome);
  expect(outcomes).toHaveLength(80);
  if (withLedger) expect(outcomes.slice(40)).toEqual(outcomes.slice(0, 40));
  await folder.run(line('retry'));
  const { records } = (await folder.json('out.jsonl.report.json')) as { records: Record<string, number> };
  expect(records).toMatchObject({ total: 80, matched: 80 });
});

test('without the ledger no row loses what it has, and what was paid for stays where the service answers alike', async () => {
  // Verify fails for half of them, enrich for a few.
  const first = refusing((key, path) => oneIn(path === 'verify' ? 2 : 8)(`${path} ${key}`));
  const kept = await finished({}, first);
  const { folder, service, line } = await finished({}, first);
  const rows = await folder.read('out.csv');
  const lookups = async (): Promise<number> => ((await folder.json('out.csv.report.json')) as { lookups: { unique: number } }).lookups.unique;
  const looked = await lookups();
  for (const suffix of ['', '-wal', '-shm']) await rm(folder.at(`out.csv.ledger${suffix}`), { force: true });
  // Now enrich fails for all, verify for none.
  service.script = refusing((_key, path) => path === 'enrich');
  expect(await folder.run(line('retry', { 'max-errors': '100%', 'limits.trustMisses': true }))).toMatchObject({ code: 0, stderr: expect.stringMatching(/the ledger .* is gone: .*no row loses what it has/) });
  expect(withoutErrors(await folder.read('out.csv'))).toEqual(withoutErrors(rows));
  expect(await lookups()).toBeGreaterThanOrEqual(looked);
  // And at last all is well: as if the ledger had been there.
  service.script = (_asked, _response, reply, usual) => reply(usual());
  await folder.run(line('retry', { 'max-errors': '100%' }));
  await kept.folder.run(kept.line('retry', { 'max-errors': '100%' }));
  expect(await folder.read('out.csv')).toBe(await kept.folder.read('out.csv'));
});

/** The code of an error may be another one. */
function withoutErrors(rows: string): string {
  return rows.replaceAll(/,failed,[a-z0-9_:]*,/g, ',failed,,');
}

test('a job from standard input is given it again, also to go on with a retry; without it the retry says so', async () => {
  const { folder, service } = await makeWorld();
  const stdin = toCsv(ROWS);
  const line = (command: string): string[] => [command, ...flags({ ...LINE, input: '-', steps: 'enrich', 'base-url': service.url, 'max-errors': '0' })];
  service.script = refusing((key) => oneIn(4)(key));
  expect((await folder.run(line('run'), { stdin })).code).toBe(1);
  service.script = (_asked, _response, reply, usual) => reply(usual());
  const before = await contents(folder);
  for (const other of ['', 'email\nana@works1.example\n']) {
    expect(await folder.run(line('retry'), { stdin: other })).toMatchObject({ code: 65, stderr: expect.stringContaining('Give the same input on standard input again') });
    expect(await contents(folder)).toEqual(before);
  }
  service.script = () => undefined;
  const retry = folder.start(line('retry'), { stdin });
  await service.sees(1);
  retry.kill('SIGKILL');
  await retry.ended;
  service.script = (_asked, _response, reply, usual) => reply(usual());
  // What the retry kept of it is gone.
  for (const name of await folder.files()) if (name.includes('stdin')) await rm(folder.at(name));
  expect(await folder.run(line('run'), { stdin })).toMatchObject({ code: 1, stderr: expect.stringContaining('a retry was under way and goes on') });
  expect(((await folder.json('out.csv.report.json'))['records'] as { failed: number }).failed).toBe(ROWS.filter(({ key }) => key?.startsWith('refused') === true).length);
  expect((await folder.files()).filter((name) => name.includes('stdin'))).toEqual([]);
});
