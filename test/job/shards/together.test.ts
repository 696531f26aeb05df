/** Shards, and commands for the whole job: which may continue, and which are refused. */
import { watch } from 'node:fs';
import { appendFile, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { JobLock } from '../../../src/lock/job-lock.ts';
import { EXIT } from '../../../src/util/errors.ts';
import type { ShardPlan } from '../../../src/job/shards/shard-plan.ts';
import { csvJob } from '../../support/crash-jobs.ts';
import { oneIn, refusing } from '../../support/failing.ts';
import { leads } from '../../support/leads.ts';
import { requestsIn } from '../../support/report-page.ts';
import { InProcess } from './world.ts';

const ROWS = leads(120, 31);
const JOB = csvJob(ROWS, { steps: 'enrich', concurrency: '4' });

test('a job in progress in shards is refused in one piece, in another number of shards and with another definition', async () => {
  const world = await InProcess.with(JOB);
  await world.runFor(20, 'out.csv', { index: 1, of: 4 });
  const onePiece = {
    exitCode: EXIT.config,
    code: 'job_in_shards',
    message: 'this job is under way in 4 shards, and cannot go on in one piece',
  };
  await expect(world.run('out.csv')).rejects.toMatchObject(onePiece);
  await expect(world.retry('out.csv')).rejects.toMatchObject(onePiece);
  await expect(world.plan('out.csv')).rejects.toMatchObject(onePiece);
  const another = { exitCode: EXIT.config, code: 'job_in_shards', message: 'this job is under way in 4 shards, and is to go on in 3' };
  await expect(world.run('out.csv', { index: 0, of: 3 })).rejects.toMatchObject(another);
  await expect(world.plan('out.csv', { index: 0, of: 3 })).rejects.toMatchObject(another);
  await expect(world.run('out.csv', { index: 1, of: 4 }, { steps: 'verify' })).rejects.toMatchObject({
    exitCode: EXIT.config,
    code: 'job_changed',
    message: expect.stringContaining('steps was ["enrich"] and is now ["verify"]'),
  });
});

test('a job in progress in one piece cannot continue in shards', async () => {
  const world = await InProcess.with(JOB);
  await world.runFor(20, 'out.csv', null);
  await expect(world.run('out.csv', { index: 0, of: 4 })).rejects.toMatchObject({
    exitCode: EXIT.config,
    code: 'job_in_shards',
    message: expect.stringMatching(/^this job is under way in one piece, with \d+ rows written, and cannot go on in shards$/),
  });
  expect(await world.run('out.csv')).toBe(EXIT.ok);
});

test('a joined job has an exit code by all failures, can be retried, and runs in shards again for a changed input', async () => {
  const world = await InProcess.with(JOB);
  await world.run('whole.csv');
  world.service.script = refusing(oneIn(3));
  const strict = { 'max-errors': '5' };
  expect(await world.run('out.csv', { index: 1, of: 2 }, strict)).toBe(EXIT.ok);
  expect(await world.run('out.csv', { index: 0, of: 2 }, strict)).toBe(EXIT.tooManyFailed);
  expect(await world.run('out.csv', { index: 1, of: 2 }, strict)).toBe(EXIT.tooManyFailed);
  world.service.script = (_asked, _response, reply, usual) => reply(usual());
  world.service.forget();
  expect(await world.retry('out.csv')).toBe(EXIT.ok);
  expect((await world.outcome('out.csv')).bytes).toBe((await world.outcome('whole.csv')).bytes);
  expect(world.service.requests.length).toBeGreaterThan(10);
  expect(world.service.repeated).toBe(0);

  await appendFile(world.folder.at('in.csv'), 'Näme 240,new@works1.example,,\n');
  const before = await world.folder.read('out.csv');
  expect(await world.run('out.csv', { index: 0, of: 2 })).toBe(EXIT.ok);
  // The old output stays until the new one is complete.
  expect(await world.folder.read('out.csv')).toBe(before);
  expect(await world.run('out.csv', { index: 1, of: 2 })).toBe(EXIT.ok);
  expect((await world.folder.json('out.csv.report.json'))['records']).toMatchObject({ total: ROWS.length + 1 });
});

test('a shard with only misses continues when another shard trusts the service, and stops when none does', async () => {
  const known = Array.from({ length: 60 }, (_, i) => `Näme ${i},person${i}@works1.example,,\n`);
  const unknown = Array.from({ length: 400 }, (_, i) => `Lost ${i},miss${i}@works2.example,,\n`);
  const world = await InProcess.with(JOB);
  await writeFile(world.folder.at('in.csv'), `Name,Work Email,Website,Notes\n${known.join('')}${unknown.join('')}`);
  await expect(world.run('out.csv', { index: 1, of: 2 })).rejects.toMatchObject({ exitCode: EXIT.config, code: 'one_kind_of_answer' });
  expect(await world.run('out.csv', { index: 0, of: 2 })).toBe(EXIT.ok);
  expect(await world.run('out.csv', { index: 1, of: 2 })).toBe(EXIT.ok);
  expect((await world.folder.json('out.csv.report.json'))['records']).toMatchObject({ total: 460, matched: 60, no_match: 400 });
});

test('an input that changes during shards makes shard 0 start all over, and --fresh in one piece takes over', async () => {
  const world = await InProcess.with(JOB);
  await world.runFor(20, 'out.csv', { index: 1, of: 2 });
  const { generation: first } = (await world.folder.json('out.csv.checkpoint.json.shards')) as unknown as ShardPlan;
  await appendFile(world.folder.at('in.csv'), '\n');
  for (const index of [0, 1])
    await expect(world.run('out.csv', { index, of: 2 })).rejects.toMatchObject({ exitCode: EXIT.input, code: 'input_changed' });
  expect(await world.run('out.csv', { index: 0, of: 3 }, {}, true)).toBe(EXIT.ok);
  expect(await world.folder.json('out.csv.checkpoint.json.shards')).toMatchObject({ of: 3, generation: first + 1 });
  expect((await world.folder.files()).filter((name) => name.includes('-of-2'))).toEqual([]);
  expect(await world.run('out.csv', null, {}, true)).toBe(EXIT.ok);
  // Each start over begins a generation of Idempotency-Keys.
  expect(await world.folder.json('out.csv.checkpoint.json')).toMatchObject({ generation: first + 2 });
  expect(await world.left()).toEqual([]);
  await world.run('whole.csv');
  expect((await world.outcome('out.csv')).bytes).toBe((await world.outcome('whole.csv')).bytes);
});

test('--fresh in one piece leaves no damaged shard plan behind, and begins a generation of its own', async () => {
  const world = await InProcess.with(JOB);
  await world.runFor(20, 'out.csv', { index: 1, of: 2 });
  const { generation: first } = (await world.folder.json('out.csv.checkpoint.json.shards')) as unknown as ShardPlan;
  await truncate(world.folder.at('out.csv.checkpoint.json.shards'), 40);
  await expect(world.run('out.csv')).rejects.toMatchObject({ exitCode: EXIT.input, code: 'checkpoint_invalid' });
  expect(await world.run('out.csv', null, {}, true)).toBe(EXIT.ok);
  expect(await world.folder.files()).not.toContain('out.csv.checkpoint.json.shards');
  const { generation } = await world.folder.json('out.csv.checkpoint.json');
  expect(generation).toBeGreaterThan(first);
  expect(await world.run('out.csv')).toBe(EXIT.ok);
});

test('a part that was removed or damaged is written again, from the ledger', async () => {
  const world = await InProcess.with(JOB);
  await world.run('whole.csv');
  const first = 'out.csv.shard-0-of-3';
  for (const index of [0, 1]) await world.run('out.csv', { index, of: 3 });
  await truncate(world.folder.at(first), 10);
  world.service.forget();
  await expect(world.run('out.csv', { index: 2, of: 3 })).rejects.toMatchObject({
    exitCode: EXIT.input,
    code: 'output_not_ours',
    message: expect.stringContaining(first),
  });
  const { length } = world.service.requests;
  await rm(world.folder.at(first));
  expect(await world.run('out.csv', { index: 2, of: 3 })).toBe(EXIT.ok);
  expect(await world.run('out.csv', { index: 0, of: 3 })).toBe(EXIT.ok);
  expect(world.service.requests).toHaveLength(length);
  expect((await world.outcome('out.csv')).bytes).toBe((await world.outcome('whole.csv')).bytes);
});

test('shards of a finished job that start over reuse every final answer of the ledger, in both steps', async () => {
  const rows = Array.from({ length: 200 }, (_, i) => `Näme ${i},person${i % 150}@works${i % 7}.example,,\n`);
  const world = await InProcess.with({ ...JOB, files: { 'in.csv': `Name,Work Email,Website,Notes\n${rows.join('')}` } });
  const shared = { steps: 'enrich,verify', ledger: world.folder.at('kept.ledger'), 'ledger.maxAgeDays': '30' };
  world.service.script = (asked, _response, reply, usual) => {
    const { status, body, headers } = usual();
    // An unknown verdict would be asked for again.
    reply(
      asked.path === 'verify'
        ? {
            status,
            body: String(body).replaceAll(/"result":"[a-z_]+"/g, '"result":"deliverable"'),
            ...(headers === undefined ? {} : { headers }),
          }
        : { status, body, ...(headers === undefined ? {} : { headers }) },
    );
  };
  const both = async (fresh: boolean): Promise<void> => {
    for (const index of [0, 1]) expect(await world.run('out.csv', { index, of: 2 }, shared, fresh && index === 0)).toBe(EXIT.ok);
  };
  await both(false);
  const first = await world.outcome('out.csv');
  world.service.forget();
  await both(true);
  expect(world.service.requests).toEqual([]);
  expect((await world.outcome('out.csv')).bytes).toBe(first.bytes);
});

test('limits.maxCalls is shared by records: the shards together never send more', async () => {
  const world = await InProcess.with(JOB);
  for (const index of [0, 1, 2])
    await expect(world.run('out.csv', { index, of: 3 }, { 'max-calls': '31' })).rejects.toMatchObject({
      exitCode: EXIT.refused,
      code: 'max_calls',
    });
  expect(world.service.requests).toHaveLength(31);
  for (const index of [0, 1, 2]) expect(await world.run('out.csv', { index, of: 3 }, { 'max-calls': '1000' })).toBe(EXIT.ok);
  expect(await world.folder.json('out.csv.report.json')).toMatchObject({ calls: { enrich: world.service.requests.length } });
  expect(requestsIn(await world.folder.read('out.csv.report.html'))).toEqual({
    said: world.service.requests.length,
    inTable: world.service.requests.length,
  });
});

test('shards change no file of another owner', async () => {
  const world = await InProcess.with({ ...JOB, files: { ...JOB.files, 'out.csv': 'mine', 'other.csv.shard-1-of-2': 'mine too' } });
  await expect(world.run('out.csv', { index: 0, of: 2 })).rejects.toMatchObject({ exitCode: EXIT.input, code: 'output_not_ours' });
  await expect(world.run('other.csv', { index: 1, of: 2 })).rejects.toMatchObject({ exitCode: EXIT.input, code: 'output_not_ours' });
  expect(await world.folder.read('out.csv')).toBe('mine');
  expect(await world.folder.read('other.csv.shard-1-of-2')).toBe('mine too');
});

test('a shard decides anew after it has waited for another process', async () => {
  const world = await InProcess.with(JOB);
  expect(await world.run('out.csv', { index: 0, of: 2 })).toBe(EXIT.ok);
  const lock = await JobLock.acquire({
    path: world.folder.at('out.csv.checkpoint.json.shard-1-of-2.lock'),
    now: Date.now,
    monotonicNow: () => performance.now(),
    onLost: () => undefined,
  });
  // It has released the lock of the whole job: it knows its work and waits for the lock of its shard.
  const settled = new Promise<void>((resolve) => {
    const watcher = watch(world.folder.path, (_event, name) => {
      if (!/json\.lock\..*\.stale$/.test(name ?? '')) return;
      watcher.close();
      resolve();
    });
  });
  const run = world.run('out.csv', { index: 1, of: 2 });
  await settled;
  // Meanwhile the shards were divided again, and this shard has no work.
  await changePlan(world, (plan) => ({
    ...plan,
    run: 'another',
    ranges: [
      { from: null, before: 0, records: ROWS.length },
      { from: null, before: ROWS.length, records: 0 },
    ],
  }));
  world.service.forget();
  await lock.release();
  expect(await run).toBe(EXIT.ok);
  expect(world.service.requests).toEqual([]);
  expect(await world.folder.json('out.csv.checkpoint.json.shard-1-of-2')).toMatchObject({ run: 'another', state: 'finished' });
  expect(await world.folder.files()).not.toContain('out.csv');
});

test('one of two shards that finish at once joins, and the other exits with 0, whatever failed', async () => {
  const world = await InProcess.with(JOB);
  const held: (() => void)[] = [];
  const refused = refusing(oneIn(3));
  world.service.script = (...asked) => held.push(() => refused(...asked));
  const runs = [0, 1].map((index) => world.run('out.csv', { index, of: 2 }, { 'max-errors': '5' }));
  // Each sends at most four requests, so both have begun.
  await world.service.when(() => held.length > 4);
  // Neither can decide its next work before both have finished.
  const lock = await JobLock.acquire({
    path: world.folder.at('out.csv.checkpoint.json.lock'),
    now: Date.now,
    monotonicNow: () => performance.now(),
    onLost: () => undefined,
  });
  world.service.script = refused;
  for (const answer of held) answer();
  for (const index of [0, 1]) while ((await world.folder.json(`out.csv.checkpoint.json.shard-${index}-of-2`))['state'] !== 'finished');
  await lock.release();
  expect((await Promise.all(runs)).sort((one, other) => one - other)).toEqual([EXIT.ok, EXIT.tooManyFailed]);
});

test('a shard that finds fewer records than were counted reports a changed input', async () => {
  const world = await InProcess.with(JOB);
  await world.runFor(10, 'out.csv', { index: 1, of: 2 });
  await changePlan(world, ({ ranges: [first, last], ...plan }) => ({
    ...plan,
    ranges: [first, { ...last, records: (last?.records ?? 0) + 5 }],
  }));
  for (const name of ['', '.shard-1-of-2']) await rm(world.folder.at(`out.csv.checkpoint.json${name}`), { force: true });
  for (const name of await world.left()) if (name.startsWith('out.csv.shard-1-of-2')) await rm(world.folder.at(name));
  await expect(world.run('out.csv', { index: 1, of: 2 })).rejects.toMatchObject({
    exitCode: EXIT.input,
    code: 'input_changed',
    message: expect.stringMatching(/shard 1 was to have \d+ records and has \d+/),
  });
});

async function changePlan(world: InProcess, change: (plan: ShardPlan) => object): Promise<void> {
  const path = world.folder.at('out.csv.checkpoint.json.shards');
  await writeFile(path, JSON.stringify(change(JSON.parse(await readFile(path, 'utf8')) as ShardPlan)));
}
