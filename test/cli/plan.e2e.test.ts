import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { toCsv } from '../support/leads.ts';
import { flags, makeWorld } from '../support/world.ts';
import { ADDRESSES, INVALID, KEYS, plan, type Plan, ROWS, UNVERIFIED } from './planned.ts';

const MORE = { plan: false, rpm: '600', 'max-errors': '100%' } as const;

test('plan counts records, answers in the ledger, requests and time before, during and after a run', async () => {
  const world = await makeWorld(toCsv(ROWS));
  const { folder, service, args } = world;
  const first = await plan(world);
  // A bad address alone is not enriched, and so not verified either.
  const verified = [...ADDRESSES].filter((email) => email.includes('@')).length;
  expect(first).toEqual({
    job: 'out',
    shard: null,
    start: 'new',
    files: 1,
    bytes: Buffer.byteLength(toCsv(ROWS)),
    keys: { email: 'Work Email', domain: 'Website', linkedin_url: null },
    columns: [
      { key: 'email', column: 'Work Email', samples: expect.any(Array) },
      { key: 'domain', column: 'Website', samples: expect.any(Array) },
    ],
    warnings: [],
    records: 400,
    invalid: INVALID,
    cleaned: 0,
    surplus: null,
    lookups: { unique: KEYS.size + verified, fromLedger: 0 },
    requests: { enrich: KEYS.size, verify: 1, company: 0, reveal: 0, total: KEYS.size + 1 },
    // A lookup by domain may find an address to verify.
    credits: {
      atMost: KEYS.size + verified + [...KEYS].filter((key) => !key.includes('@')).length,
      expected: null,
      matchRates: {},
      from: null,
      cost: null,
    },
    heldBy: null,
    rpm: 600,
    seconds: Math.ceil((KEYS.size + 1) / 10),
    secondsWithBurst: 0,
    apiKey: 'missing',
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
  // Suppressed people, and those that enrich refused, are known by now to need no verdict.
  const settled = new Set(service.requests.slice(0, 150).flatMap(({ keys }) => keys.filter((key) => UNVERIFIED.has(key))));
  expect(settled.size).toBeGreaterThan(0);
  expect(half).toMatchObject({
    start: 'resume',
    records: 400,
    invalid: INVALID,
    lookups: { unique: first.lookups.unique - settled.size, fromLedger: 150 },
    requests: { enrich: KEYS.size - 150, verify: 1 },
  });
  expect(half.seconds).toBe(Math.ceil(half.requests.total / 10));

  service.script = (_asked, _response, reply, usual) => reply(usual());
  service.forget();
  expect((await folder.run(args(run))).code).toBe(0);
  // The run sends the planned number of requests.
  expect(service.calls).toMatchObject({ enrich: half.requests.enrich });
  const after = await plan(world);
  expect(after).toMatchObject({ start: 'finished', records: 400, requests: { enrich: 0, verify: 0, total: 0 }, seconds: 0 });
  const needed = first.lookups.unique - UNVERIFIED.size;
  expect(after.lookups).toEqual({ unique: needed, fromLedger: needed });
});

test('plan counts rows with more fields than the header, and the run warns of the first', async () => {
  const world = await makeWorld('Name,Work Email\nAna,ana@works1.example,,\nBob, Jr.,bob@works1.example\n"C","c@works2.example","note"\n');
  expect(await plan(world)).toMatchObject({ records: 3, surplus: { records: 2, file: 'in.csv', line: 3 } });
  expect(await plan(world, { limit: '1' })).toMatchObject({ records: 1, surplus: null });
  const said = await world.folder.run(['plan', ...flags({ input: 'in.csv', output: 'out.csv', embedded: true })]);
  expect(said.stdout).toMatch(/^with surplus fields +2, the first in in\.csv, line 3: /m);
  const ran = await world.folder.run(world.args({ progress: 'log' }));
  expect(ran.stderr.split('\n').filter((line) => line.includes('surplus_fields'))).toEqual([
    expect.stringContaining('in.csv, line 3, has more fields than the header'),
  ]);
});

test('plan counts only the records of a limit, and says when no rate limit applies', async () => {
  const world = await makeWorld(toCsv(ROWS));
  const asked = new Set(ROWS.slice(0, 50).flatMap(({ key }) => key ?? []));
  expect(await plan(world, { limit: '50', steps: 'enrich' })).toMatchObject({
    records: 50,
    requests: { enrich: asked.size, verify: 0, total: asked.size },
  });
  const ended = await world.folder.run(['plan', ...flags({ input: 'in.csv', output: 'out.csv', plan: 'enterprise', embedded: true })]);
  expect(ended.stdout).toMatch(/^records +400, of them \d+ with nothing to look up\nunique lookups /m);
  expect(ended.stdout).toMatch(/^time +no limit: as fast as the service answers$/m);
});

test('plan reads standard input, also for a job to standard output and for one that was stopped', async () => {
  const { folder, service, args } = await makeWorld();
  const line = (more: Record<string, string>): string[] => [
    'plan',
    ...flags({
      input: '-',
      output: 'out.csv',
      plan: 'enterprise',
      'base-url': service.url,
      steps: 'enrich',
      'checkpoint.everyMs': '50',
      json: true,
      ...more,
    }),
  ];
  const planned = async (more: Record<string, string> = {}): Promise<Plan> =>
    JSON.parse((await folder.run(line(more), { stdin: toCsv(ROWS) })).stdout) as Plan;
  expect(await planned()).toMatchObject({ start: 'new', records: 400, requests: { total: KEYS.size } });
  expect(
    JSON.parse(
      (await folder.run(['plan', ...flags({ input: '-', output: '-', embedded: true, json: true })], { stdin: toCsv(ROWS) })).stdout,
    ),
  ).toMatchObject({ start: 'new', records: 400 });
  expect(await folder.files()).toEqual([]);
  service.latencyMs = 3;
  const run = args({ input: '-', steps: 'enrich', 'max-errors': '100%' });
  const first = folder.start(run, { stdin: toCsv(ROWS) });
  await service.sees(100);
  first.kill('SIGTERM');
  expect((await first.ended).code).toBe(75);
  const before = await folder.files();
  expect(await planned()).toMatchObject({ start: 'resume', requests: { total: KEYS.size - service.asked.size } });
  expect(JSON.parse((await folder.run(line({}))).stdout)).toMatchObject({
    start: 'resume',
    requests: { total: KEYS.size - service.asked.size },
  });
  expect(await folder.files()).toEqual(before);
  expect((await folder.run(run, { stdin: toCsv(ROWS) })).code).toBe(0);
});

test('plan counts a lookup by domain as if it found an address, and names the process that holds the job', async () => {
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

test('plan counts separate verify requests for addresses that only enrich returns', async () => {
  const many = Array.from({ length: 1_500 }, (_, i) => `,works${i}.example`).join('\n');
  expect(await plan(await makeWorld(`email,website\n${many}\n`))).toMatchObject({
    lookups: { unique: 1_500 },
    requests: { enrich: 1_500, verify: 2 },
  });
});
