import { copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { STEPS, type Step } from '../../src/job/steps.ts';
import { leads, PROFILE_COLUMNS, toCsv, withProfiles, type Lead } from '../support/leads.ts';
import { SAMPLE_SEED, sampleOf } from '../support/sample.ts';
import { flags, makeFolder, makeWorld, type World } from '../support/world.ts';

interface Plan {
  readonly start: string;
  readonly records: number;
  readonly invalid: number;
  readonly lookups: { readonly unique: number; readonly fromLedger: number };
  readonly requests: Readonly<Record<Step | 'total', number>>;
  readonly rpm: number | null;
  readonly seconds: number | null;
}

const ROWS = leads(400, 51);
/** What a run of them needs, by the contract. */
const KEYS = new Set(ROWS.flatMap(({ key }) => key ?? []));
const ADDRESSES = new Set(ROWS.map(({ cells }) => (cells[1] ?? '').trim().toLowerCase()).filter((email) => email !== ''));
const INVALID = ROWS.filter(({ key }) => key === null).length;
/** Never verified: people who are suppressed, and those whom enrich refused. */
const UNVERIFIED = new Set(ROWS.flatMap(({ key }) => (key !== null && /^(gone|refused)/.test(key) ? [key] : [])));
const MORE = { plan: false, rpm: '600', 'max-errors': '100%' } as const;

async function plan({ folder, service }: World, more: Record<string, string> = {}): Promise<Plan> {
  const before = await folder.files();
  const ended = await folder.run(['plan', ...flags({ input: 'in.csv', output: 'out.csv', rpm: '600', 'base-url': service.url, 'checkpoint.everyMs': '50', json: true, ...more })], { env: { MILLRACE_API_KEY: '' } });
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  // No file stays behind, not even one of SQLite's.
  expect(await folder.files()).toEqual(before);
  return JSON.parse(ended.stdout) as Plan;
}

test('before, half-way and after: what there is, what the ledger has, what it takes', async () => {
  const world = await makeWorld(toCsv(ROWS));
  const { folder, service, args } = world;
  const first = await plan(world);
  // A bad address alone is not enriched, and so not verified either.
  const verified = [...ADDRESSES].filter((email) => email.includes('@')).length;
  expect(first).toEqual({
    job: 'out', shard: null, start: 'new', files: 1, bytes: Buffer.byteLength(toCsv(ROWS)), keys: { email: 'Work Email', domain: 'Website', linkedin_url: null },
    records: 400, invalid: INVALID, cleaned: 0, surplus: null,
    lookups: { unique: KEYS.size + verified, fromLedger: 0 },
    requests: { enrich: KEYS.size, verify: 1, company: 0, reveal: 0, total: KEYS.size + 1 },
    heldBy: null, rpm: 600, seconds: Math.ceil((KEYS.size + 1) / 10), secondsWithBurst: 0, apiKey: 'missing',
  });
  expect(await folder.files()).toEqual(['in.csv']);

  const run = { ...MORE, plan: 'enterprise', rpm: false } as const;
  service.script = (asked, _response, reply, usual) => {
    if (asked.number <= 150) reply(usual());
  };
  const started = folder.start(args(run));
  await service.when(() => service.answered === 150 && service.unanswered.size > 0);
  started.kill('SIGTERM');
  started.kill('SIGINT');
  expect((await started.ended).code).toBe(75);
  const half = await plan(world);
  // Of people who are suppressed, and those whom enrich refused, it is known by now that they are not verified.
  const settled = new Set(service.requests.slice(0, 150).flatMap(({ keys }) => keys.filter((key) => UNVERIFIED.has(key))));
  expect(settled.size).toBeGreaterThan(0);
  expect(half).toMatchObject({ start: 'resume', records: 400, invalid: INVALID, lookups: { unique: first.lookups.unique - settled.size, fromLedger: 150 }, requests: { enrich: KEYS.size - 150, verify: 1 } });
  expect(half.seconds).toBe(Math.ceil(half.requests.total / 10));

  service.script = (_asked, _response, reply, usual) => reply(usual());
  service.forget();
  expect((await folder.run(args(run))).code).toBe(0);
  // The plan was right.
  expect(service.calls).toMatchObject({ enrich: half.requests.enrich });
  const after = await plan(world);
  expect(after).toMatchObject({ start: 'finished', records: 400, requests: { enrich: 0, verify: 0, total: 0 }, seconds: 0 });
  const needed = first.lookups.unique - UNVERIFIED.size;
  expect(after.lookups).toEqual({ unique: needed, fromLedger: needed });
});

test('a key that a run would miss is told of, and the plan is made all the same', async () => {
  const { folder, service } = await makeWorld(toCsv(ROWS));
  const job = flags({ input: 'in.csv', output: 'out.csv', rpm: '600', 'base-url': service.url });
  const said = async (env: Record<string, string>, more: string[] = job): Promise<[code: number | null, said: string, apiKey: unknown]> => {
    const ended = await folder.run(['plan', ...more], { env });
    expect(ended.stderr).toBe('');
    const { apiKey } = JSON.parse((await folder.run(['plan', ...more, '--json'], { env })).stdout) as { apiKey: unknown };
    return [ended.code, ended.stdout.slice(ended.stdout.indexOf('millrace run')), apiKey];
  };
  const none = { MILLRACE_API_KEY: '', MILLRACE_API_KEY_FILE: '' };
  expect(await said(none)).toEqual([0, expect.stringMatching(/^millrace run +would end with 78: There is no API key\n +Set MILLRACE_API_KEY, /), 'missing']);
  const run = await folder.run(['run', ...job], { env: none });
  expect([run.code, run.stderr]).toEqual([78, expect.stringContaining('There is no API key')]);
  expect(await said({ ...none, MILLRACE_API_KEY_FILE: 'no.key' })).toEqual([0, expect.stringMatching(/would end with 78: MILLRACE_API_KEY_FILE: no\.key does not exist\n/), 'unusable']);
  expect(await said({ ...none, MILLRACE_API_KEY: 'k' })).toEqual([0, expect.stringMatching(/^millrace run +would start\n$/), 'set']);
  expect(await said(none, flags({ input: 'in.csv', output: 'out.csv', rpm: '600', embedded: true }))).toEqual([0, expect.stringMatching(/would start\n$/), 'not_needed']);
  expect(service.requests).toEqual([]);
});

test('the sample job is found from any folder, and so is what it reads; a file of that name there goes first', async () => {
  const folder = await makeFolder();
  const planned = async (): Promise<Plan> => JSON.parse((await folder.run(['plan', 'sample', '--json'])).stdout) as Plan;
  expect(await planned()).toMatchObject({ job: 'sample', records: 2_500 });
  await mkdir(folder.at('fixtures'));
  await writeFile(folder.at('fixtures/leads.csv'), toCsv(ROWS));
  expect(await planned()).toMatchObject({ records: 400 });
});

test('rows with more fields than the header are counted, and the run tells of the first', async () => {
  const world = await makeWorld('Name,Work Email\nAna,ana@works1.example,,\nBob, Jr.,bob@works1.example\n"C","c@works2.example","note"\n');
  expect(await plan(world)).toMatchObject({ records: 3, surplus: { records: 2, file: 'in.csv', line: 3 } });
  expect(await plan(world, { limit: '1' })).toMatchObject({ records: 1, surplus: null });
  const said = await world.folder.run(['plan', ...flags({ input: 'in.csv', output: 'out.csv', embedded: true })]);
  expect(said.stdout).toMatch(/^with surplus fields +2, the first in in\.csv, line 3: /m);
  const ran = await world.folder.run(world.args({ progress: 'log' }));
  expect(ran.stderr.split('\n').filter((line) => line.includes('surplus_fields'))).toEqual([expect.stringContaining('in.csv, line 3, has more fields than the header')]);
});

test('a limit, and unlimited requests', async () => {
  const world = await makeWorld(toCsv(ROWS));
  const asked = new Set(ROWS.slice(0, 50).flatMap(({ key }) => key ?? []));
  expect(await plan(world, { limit: '50', steps: 'enrich' })).toMatchObject({ records: 50, requests: { enrich: asked.size, verify: 0, total: asked.size } });
  const ended = await world.folder.run(['plan', ...flags({ input: 'in.csv', output: 'out.csv', plan: 'enterprise', embedded: true })]);
  expect(ended.stdout).toMatch(/^records +400, of them \d+ with nothing to look up\nunique lookups /m);
  expect(ended.stdout).toMatch(/^time +no limit: as fast as the service answers$/m);
});

test('what keeps a run from starting keeps the plan from being made, with the same code, and leaves no file', async () => {
  const { folder, service } = await makeWorld('colour\nred\n');
  const line = (more: Record<string, string>): string[] => ['plan', ...flags({ input: 'in.csv', output: 'out.csv', rpm: '600', 'base-url': service.url, ...more })];
  const temporary = folder.at('tmp');
  await mkdir(temporary);
  for (const [more, code] of [[{}, 65], [{ input: 'none.csv' }, 65], [{ rpm: '0' }, 64], [{ 'base-url': 'nowhere' }, 64]] as const) {
    expect([more, (await folder.run(line(more), { env: { TMPDIR: temporary } })).code]).toEqual([more, code]);
  }
  await writeFile(folder.at('out.csv'), 'not ours');
  expect((await folder.run(line({}), { env: { TMPDIR: temporary } })).code).toBe(65);
  expect(await readdir(temporary)).toEqual([]);
  expect(await folder.files()).toEqual(['in.csv', 'out.csv']);
});

test('stopped while standard input is read: nothing of it is left behind', async () => {
  const { folder } = await makeWorld();
  const temporary = folder.at('tmp');
  await mkdir(temporary);
  const started = folder.start(['plan', ...flags({ input: '-', output: 'out.csv', embedded: true })], { keepStdin: true, env: { TMPDIR: temporary } });
  // More than the pipe holds: once it is taken, it is being read.
  const taken = promisify((text: string, done: (error?: Error | null) => void) => started.child.stdin?.write(text, done));
  await taken(`Work Email\n${'ana@works1.example\n'.repeat(20_000)}`);
  expect((await readdir(temporary)).length).toBeGreaterThan(0);
  started.kill('SIGTERM');
  expect((await started.ended).code).toBe(75);
  expect(await readdir(temporary)).toEqual([]);
});

test('of standard input, and to standard output', async () => {
  const { folder, service, args } = await makeWorld();
  const line = (more: Record<string, string>): string[] => ['plan', ...flags({ input: '-', output: 'out.csv', plan: 'enterprise', 'base-url': service.url, steps: 'enrich', 'checkpoint.everyMs': '50', json: true, ...more })];
  const planned = async (more: Record<string, string> = {}): Promise<Plan> => JSON.parse((await folder.run(line(more), { stdin: toCsv(ROWS) })).stdout) as Plan;
  expect(await planned()).toMatchObject({ start: 'new', records: 400, requests: { total: KEYS.size } });
  expect(JSON.parse((await folder.run(['plan', ...flags({ input: '-', output: '-', embedded: true, json: true })], { stdin: toCsv(ROWS) })).stdout)).toMatchObject({ start: 'new', records: 400 });
  expect(await folder.files()).toEqual([]);
  service.latencyMs = 3;
  const run = args({ input: '-', steps: 'enrich', 'max-errors': '100%' });
  const first = folder.start(run, { stdin: toCsv(ROWS) });
  await service.sees(100);
  first.kill('SIGTERM');
  expect((await first.ended).code).toBe(75);
  const before = await folder.files();
  expect(await planned()).toMatchObject({ start: 'resume', requests: { total: KEYS.size - service.asked.size } });
  expect(JSON.parse((await folder.run(line({}))).stdout)).toMatchObject({ start: 'resume', requests: { total: KEYS.size - service.asked.size } });
  expect(await folder.files()).toEqual(before);
  expect((await folder.run(run, { stdin: toCsv(ROWS) })).code).toBe(0);
});

test(`what a shared ledger saves, by the age of its answers: the run that follows makes the calls that were planned (SAMPLE_SEED=${SAMPLE_SEED})`, async () => {
  const rows = leads(1_600, 52).filter(({ key }) => key === null || !/^(gone|refused)/.test(key));
  const csv = (some: readonly Lead[]): string => toCsv(withProfiles(some), PROFILE_COLUMNS);
  const world = await makeWorld(csv(rows.slice(0, 700)));
  const { folder, service, args } = world;
  const shared = { ledger: 'shared.ledger', 'ledger.maxAgeDays': '30' };
  expect((await folder.run(args({ ...shared, steps: STEPS.join(','), output: 'other.csv' }))).code).toBe(0);
  // A third of the answers is older than 30 days.
  const db = new DatabaseSync(folder.at('shared.ledger'));
  db.exec('UPDATE answers SET at = at - 31 * 86400000 WHERE id % 3 = 0');
  db.close();
  await writeFile(folder.at('in.csv'), csv(rows));
  for (const steps of sampleOf(['enrich', 'verify', 'enrich,verify', 'company,reveal', STEPS.join(',')], 3)) {
    const job = { ...shared, steps, output: `${steps.replaceAll(',', '-')}.csv` };
    // Each of them has the shared ledger as the first job left it.
    await copyFile(folder.at('shared.ledger'), folder.at('copy.ledger'));
    const planned = await plan(world, { ...job, ledger: 'copy.ledger' });
    expect(planned.lookups.fromLedger).toBeGreaterThan(200);
    service.forget();
    expect((await folder.run(args({ ...job, ledger: 'copy.ledger' }))).code).toBe(0);
    expect({ ...service.calls, total: service.requests.length }).toEqual(planned.requests);
    expect((await folder.json(`${job.output}.report.json`))['lookups']).toEqual(planned.lookups);
    for (const suffix of ['', '-wal', '-shm']) await rm(folder.at(`copy.ledger${suffix}`), { force: true });
  }
});

test('verify only where enrich says unverified: exact of what the ledger has', async () => {
  const world = await makeWorld(toCsv(ROWS));
  const { folder, service, args } = world;
  const shared = { ledger: 'shared.ledger', 'ledger.maxAgeDays': '30' };
  expect((await folder.run(args({ ...shared, steps: 'enrich', output: 'other.csv', 'max-errors': '100%' }))).code).toBe(0);
  const planned = await plan(world, { ...shared, 'verify.when': 'unverified' });
  service.forget();
  // Refusals alone would be held back until the service has shown what it is, and with them the addresses behind them.
  expect((await folder.run(args({ ...shared, 'verify.when': 'unverified', 'max-errors': '100%', 'limits.trustMisses': true }))).code).toBe(0);
  const refused = new Set(ROWS.flatMap(({ key }) => (key?.startsWith('refused') === true ? [key] : []))).size;
  // A refusal is not kept for other jobs: it is asked for again, and its address is planned for in vain.
  expect(planned.requests.enrich).toBe(refused);
  expect({ ...service.calls, total: service.requests.length }).toEqual(planned.requests);
  const { lookups } = (await folder.json('out.csv.report.json')) as { lookups: Plan['lookups'] };
  expect(planned.lookups).toEqual({ unique: lookups.unique + refused, fromLedger: lookups.fromLedger });
});

test('a lookup by domain is counted as if it found an address, and a job that is held names its holder', async () => {
  const world = await makeWorld('email,website\n,works1.example\n,works2.example\n,works1.example\nana@works3.example,\n');
  const planned = await plan(world, { 'verify.when': 'always' });
  expect(planned).toMatchObject({ lookups: { unique: 4 }, requests: { enrich: 3, verify: 1, total: 4 }, heldBy: null });
  const { folder, service, args } = world;
  service.script = () => undefined;
  const running = folder.start(args());
  await service.sees(1);
  const beside = await folder.run(['plan', ...args({ json: true, progress: false }).slice(1)]);
  expect(beside).toMatchObject({ code: 0, stderr: '' });
  expect((JSON.parse(beside.stdout) as { heldBy: unknown }).heldBy).toMatchObject({ pid: expect.any(Number), host: hostname() });
  running.kill('SIGTERM');
  running.kill('SIGINT');
  await running.ended;
});

test('addresses that only enrich knows fill verify requests of their own', async () => {
  const many = Array.from({ length: 1_500 }, (_, i) => `,works${i}.example`).join('\n');
  expect(await plan(await makeWorld(`email,website\n${many}\n`))).toMatchObject({ lookups: { unique: 1_500 }, requests: { enrich: 1_500, verify: 2 } });
});
