/** A ledger in S3 behind the real command: killed, moved to other machines, and with a server that fails. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { Segments } from '../../src/ledger/s3/segments.ts';
import { QUICK } from '../ledger/shared.ts';
import type { TestBucket } from '../s3/bucket.ts';
import { faultyBucket } from '../s3/faulty-bucket.ts';
import { SLOW_DOWN } from '../services/fault-proxy.ts';
import { describeWith } from '../services/needed.ts';
import { afterKill, Checkpoints, lastWords } from '../support/crash-site.ts';
import { expectSameRequests } from '../crash/crashed-job.ts';
import { leads, seeded, toCsv } from '../support/leads.ts';
import { problem } from '../support/scripted-service.ts';
import { makeWorld } from '../support/world.ts';
import { SEED } from '../support/seed.ts';

const ROWS = leads(300, 66);
const LENIENT = { 'max-errors': '100%', scratch: 'scratch' };

await describeWith('s3', `a ledger in S3 (SEED=${SEED})`, async (server) => {
  const { bucket, proxy, env, at } = await faultyBucket(server);

  test(
    'a run with an S3 ledger, killed at random moments and resumed on new machines, pays for no durable answer again',
    { timeout: 240_000 },
    async () => {
      const alone = await makeWorld(toCsv(ROWS));
      expect(await alone.folder.run(alone.args({ 'max-errors': '100%', concurrency: '8' }))).toMatchObject({ code: 0 });
      const { folder, service, args } = await makeWorld(toCsv(ROWS));
      const run = args({ ...LENIENT, ledger: at('chain.ledger'), concurrency: '8' });
      service.latencyMs = 3;
      const random = seeded(SEED);
      let bound = 0;
      const paidTwice: string[] = [];
      let durable: ReadonlySet<string> = new Set();
      for (let kills = 0; kills < 3; kills++) {
        const since = service.exchanges.length;
        const checkpoints = new Checkpoints(folder, 'out.csv.checkpoint.json');
        const started = folder.start(run, { env });
        const more = Math.floor(random() * 100);
        void service.sees(more + 1).then(() => started.kill('SIGKILL'));
        const { signal, code } = await started.ended;
        checkpoints.stop();
        const { last, again } = lastWords(service.exchanges.slice(since));
        paidTwice.push(...again, ...[...last.keys()].filter((name) => durable.has(name)));
        if (signal === null) expect(code).toBe(0);
        // A new machine finds only the objects in S3.
        await rm(folder.at('scratch'), { recursive: true, force: true });
        durable = await durableNames(bucket, at('chain.ledger'));
        // The ledger is written before each checkpoint, so its last write began after the last checkpoint but one.
        const left = afterKill(last, { names: durable, last: 0, lastWriteAt: -Infinity }, checkpoints.beforeLast());
        bound += left.mayRepeat.length;
        expect(left.late).toEqual([]);
        if (signal === null) break;
      }
      expect(await folder.run(run, { env })).toMatchObject({ code: 0, stderr: '' });
      expect(paidTwice).toEqual([]);
      expect(service.repeated).toBeLessThanOrEqual(bound);
      expectSameRequests(service);
      expect(await readFile(folder.at('out.csv'))).toEqual(await readFile(alone.folder.at('out.csv')));
      expect((await folder.json('out.csv.report.json'))['lookups']).toEqual((await alone.folder.json('out.csv.report.json'))['lookups']);
      // Each execution leaves a few objects, whatever the number of checkpoints.
      expect((await bucket.names('chain.ledger/')).length).toBeLessThanOrEqual(8);
    },
  );

  test('an output in S3 has its ledger beside it by default: a new machine continues, and no machine keeps a file', async () => {
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    const run = args({ ...LENIENT, output: at('all/out.csv'), steps: 'enrich', concurrency: '8' });
    let dead = false;
    service.script = (asked, _response, reply, usual) => (asked.number <= 100 || dead ? reply(usual()) : undefined);
    const first = folder.start(run, { env });
    await service.when(() => service.answered >= 100 && service.unanswered.size === 8);
    await expect.poll(async () => (await durableNames(bucket, at('all/out.csv.ledger'))).size).toBe(100);
    first.kill('SIGKILL');
    await first.ended;
    await rm(folder.at('scratch'), { recursive: true });
    dead = true;
    expect(await folder.run(run, { env })).toMatchObject({ code: 0, stderr: '' });
    expect(service.repeated).toBe(8);
    expect((await folder.files()).filter((name) => !name.startsWith('scratch/'))).toEqual(['in.csv']);
    expect((await bucket.names('all/')).filter((name) => !name.includes('.ledger/')).sort()).toEqual([
      'all/out.csv',
      'all/out.csv.checkpoint.json',
      'all/out.csv.errors.jsonl',
      'all/out.csv.report.html',
      'all/out.csv.report.json',
    ]);
  });

  test('an intact working copy of an S3 ledger is not fetched again, and a damaged one is replaced', async () => {
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    const more = { ...LENIENT, ledger: at('copy.ledger'), steps: 'enrich', limit: '200' };
    expect(await folder.run(args(more), { env })).toMatchObject({ code: 0, stderr: '' });
    const gets = (): number => proxy.relayed.filter(({ method, url }) => method === 'GET' && url.includes('.gz')).length;
    proxy.relayed.length = 0;
    expect(await folder.run(args({ ...more, limit: '300' }), { env })).toMatchObject({ code: 0, stderr: '' });
    expect(gets()).toBe(0);
    const copy = (await folder.files()).find((name) => name.includes('.millrace-ledger-') && !/-(wal|shm)$/.test(name)) ?? '';
    await writeFile(folder.at(copy), (await readFile(folder.at(copy))).fill(0xff, 16_384));
    expect(await folder.run(args({ ...more, limit: '400' }), { env })).toMatchObject({ code: 0, stderr: '' });
    expect(gets()).toBeGreaterThan(0);
    expect([...service.asked].filter(([, times]) => times > 1)).toEqual([]);
  });

  test('retry, plan, stats and purge of another job use an S3 ledger', async () => {
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    const more = { ...LENIENT, ledger: at('shared.ledger'), 'ledger.maxAgeDays': '30', steps: 'enrich' };
    expect(await folder.run(args(more), { env })).toMatchObject({ code: 0, stderr: '' });
    const asked = service.asked.size;
    const refused = [...service.asked.keys()].filter((name) => name.includes(' refused'));
    const ledger = (...words: string[]): ReturnType<typeof folder.run> => folder.run(['ledger', ...words], { env });
    expect(JSON.parse((await ledger('stats', '--ledger', at('shared.ledger'))).stdout)).toMatchObject({
      answers: asked,
      jobs: 1,
      runs: 1,
      ledger: at('shared.ledger'),
    });
    await rm(folder.at('scratch'), { recursive: true });
    const other = { ...more, name: 'other', output: 'other.csv' };
    const plan = await folder.run(['plan', '--json', ...args({ ...other, scratch: false, progress: false }).slice(1)], { env });
    expect(JSON.parse(plan.stdout)).toMatchObject({ lookups: { unique: asked, fromLedger: asked - refused.length } });
    service.forget();
    expect(await folder.run(args(other), { env })).toMatchObject({ code: 0, stderr: '' });
    expect([...service.asked.keys()].sort()).toEqual(refused.sort());

    service.forget();
    service.script = (_asked, _response, reply) => reply(problem(404, 'no_match'));
    await rm(folder.at('scratch'), { recursive: true });
    expect(await folder.run(['retry', ...args({ ...more, 'limits.trustMisses': true }).slice(1)], { env })).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect([...service.asked.keys()].sort()).toEqual(refused.sort());
    service.script = (_asked, _response, reply, usual) => reply(usual());

    const person = ROWS.flatMap(({ key }) => (key?.startsWith('person') === true ? [key] : []))[0] ?? '';
    const purged = await ledger('purge', '--ledger', at('shared.ledger'), '--email', person);
    expect(JSON.parse(purged.stdout)).toMatchObject({ purged: 1, steps: { enrich: 1 } });
    service.forget();
    const third = { ...more, name: 'other', output: 'other.csv', fresh: true };
    expect(await folder.run(args(third), { env })).toMatchObject({ code: 0 });
    // The working copy of this machine is removed as well.
    expect([...service.asked.keys()].filter((name) => name.includes('person'))).toEqual([`enrich ${person}`]);
    expect(await ledger('stats', '--ledger', at('none.ledger'))).toMatchObject({ code: 65 });
  });

  test('throttled, cut and reset S3 connections do not change the result of a run', async () => {
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    proxy.faultFor = ({ number, url }) =>
      !url.includes('faulty') ? null : number % 3 === 0 ? SLOW_DOWN : number % 5 === 0 ? { kind: 'reset' } : null;
    service.latencyMs = 2;
    expect(await folder.run(args({ ...LENIENT, ledger: at('faulty.ledger'), concurrency: '8' }), { env })).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect([...service.asked].filter(([, times]) => times > 1)).toEqual([]);
    expect(proxy.relayed.filter(({ fault }) => fault !== null).length).toBeGreaterThan(0);
  });

  test('a run whose S3 is down at the end is 74, and the same command finishes without a call', async () => {
    const { folder, service, args } = await makeWorld(toCsv(ROWS.slice(0, 40)));
    const run = args({ ...LENIENT, ledger: at('down.ledger'), steps: 'enrich', 'checkpoint.everyMs': '600000' });
    proxy.faultFor = ({ method }) =>
      method === 'PUT' ? { kind: 'answer', status: 403, body: '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>' } : null;
    const { code, stderr } = await folder.run(run, { env });
    expect({ code, stderr }).toEqual({
      code: 74,
      stderr: expect.stringMatching(
        /The ledger s3:\/\/\S+ could not be written \(AccessDenied, HTTP 403[^]*Permit s3:GetObject and s3:PutObject[^]*the job resumes/,
      ),
    });
    const calls = service.requests.length;
    proxy.faultFor = () => null;
    expect(await folder.run(run, { env })).toMatchObject({ code: 0, stderr: '' });
    expect(service.requests.length).toBe(calls);
    const refused = await folder.run(args({ ...LENIENT, ledger: at('down.ledger'), output: 'x.csv' }), {
      env: { ...env, AWS_ACCESS_KEY_ID: 'nobody' },
    });
    expect(refused).toMatchObject({ code: 77, stderr: expect.stringMatching(/S3 has no valid credentials/) });
  });
});

/** `enrich ana@works.example` for each stored answer. */
async function durableNames(bucket: TestBucket, uri: string): Promise<ReadonlySet<string>> {
  const segments = Segments.on({ client: bucket.client, retryPolicy: QUICK }, uri);
  const names = new Set<string>();
  for (const { name } of (await segments.list()).segments) {
    for (const { answers } of (await segments.read(name, 0)).parts) for (const { scope, key } of answers) names.add(`${scope[1]} ${key}`);
  }
  return names;
}
