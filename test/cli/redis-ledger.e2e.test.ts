/** Concurrent runs that share a ledger in Redis: real processes, and a real server that is killed and restarted. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { freeDatabase } from '../ledger/shared.ts';
import { describeWith } from '../services/needed.ts';
import { RedisServer } from '../services/redis.ts';
import { leads, toCsv } from '../support/leads.ts';
import { problem } from '../support/scripted-service.ts';
import { flags, makeWorld, type World } from '../support/world.ts';

/** The shared server keeps its data in memory alone, and a run warns of that. */
const ONLY_MEMORY = expect.stringMatching(/^warning: Redis keeps no append-only file .*\n$/) as string;
const ROWS = leads(360, 55);
const CONCURRENCY = 8;
const LENIENT = { 'max-errors': '100%', scratch: 'scratch' };

async function ownServer(more?: readonly string[]): Promise<RedisServer> {
  const server = await RedisServer.start(more);
  onTestFinished(() => server.end());
  return server;
}

const SIDES = { left: ROWS.slice(0, 270), right: ROWS.slice(90) };
let aloneOutputs: Promise<Buffer[]> | null = null;

/** The output of each side when it runs alone. */
async function outputsAlone(): Promise<Buffer[]> {
  const alone = await makeWorld();
  return Promise.all(
    Object.entries(SIDES).map(async ([side, rows]) => {
      await writeFile(alone.folder.at(`${side}.csv`), toCsv(rows));
      expect(await alone.folder.run(alone.args({ input: `${side}.csv`, output: `${side}-out.csv`, 'max-errors': '100%' }))).toMatchObject({
        code: 0,
      });
      return readFile(alone.folder.at(`${side}-out.csv`));
    }),
  );
}

/** The lookups of both runs together, and the output that each must write. */
async function twoSides(
  world: World,
): Promise<{ run: (side: string, more?: Record<string, string>) => string[]; expected: Promise<Buffer[]> }> {
  for (const [side, rows] of Object.entries(SIDES)) await writeFile(world.folder.at(`${side}.csv`), toCsv(rows));
  aloneOutputs ??= outputsAlone();
  const expected = aloneOutputs;
  return {
    run: (side, more = {}) =>
      world.args({
        ...LENIENT,
        name: side,
        input: `${side}.csv`,
        output: `${side}-out.csv`,
        concurrency: String(CONCURRENCY),
        'ledger.maxAgeDays': '30',
        ...more,
      }),
    expected,
  };
}

const outputs = ({ folder }: World): Promise<Buffer[]> =>
  Promise.all(['left', 'right'].map((side) => readFile(folder.at(`${side}-out.csv`))));

await describeWith('redis', 'a ledger in Redis', async (facts) => {
  test('two concurrent runs look up each key once, failures and unknown verdicts too, and write the outputs of single runs', async () => {
    const world = await makeWorld();
    const { folder, service } = world;
    const { run, expected } = await twoSides(world);
    const ledger = await freeDatabase(facts);
    service.latencyMs = 5;
    // No request is answered before both runs ask: a run does not reuse failures from before its start. One run alone has at most
    // CONCURRENCY requests in flight.
    const held: (() => void)[] = [];
    service.script = (_asked, _response, reply, usual) => {
      if (held.push(() => reply(usual())) <= CONCURRENCY) return;
      service.script = (_later, _, answer, asUsual) => answer(asUsual());
      for (const go of held) go();
    };
    const ended = await Promise.all(['left', 'right'].map((side) => folder.start(run(side, { ledger })).ended));
    expect(ended.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ONLY_MEMORY],
      [0, ONLY_MEMORY],
    ]);
    expect([...service.asked].filter(([, times]) => times > 1)).toEqual([]);
    expect(await outputs(world)).toEqual(await expected);
    const reports = await Promise.all(['left', 'right'].map((side) => folder.json(`${side}-out.csv.report.json`)));
    const lookups = reports.map((report) => report['lookups'] as { unique: number; fromLedger: number });
    expect(lookups.reduce((sum, { unique, fromLedger }) => sum + unique - fromLedger, 0)).toBe(service.asked.size);
    // No claim is left.
    const client = new Redis(ledger);
    expect([await client.keys('*:c:*'), await client.keys('*:h:*')]).toEqual([[], []]);
    client.disconnect();
  });

  test('plan, stats, retry and purge use a Redis ledger, and another machine continues from it', async () => {
    const world = await makeWorld(toCsv(ROWS));
    const { folder, service, args } = world;
    const ledger = await freeDatabase(facts);
    const more = { ...LENIENT, ledger, limit: '180' };
    let healed = false;
    service.script = (asked, _response, reply, usual) =>
      reply(healed && asked.path === 'enrich' && (asked.keys[0] ?? '').startsWith('refused') ? problem(404, 'no_match') : usual());
    expect(await folder.run(args(more))).toMatchObject({ code: 0, stderr: ONLY_MEMORY });
    const asked = service.asked.size;
    const stats = JSON.parse((await folder.run(['ledger', 'stats', '--ledger', ledger])).stdout) as { answers: number; ledger: string };
    expect(stats).toMatchObject({ answers: asked, ledger });

    // Another machine has only the checkpoint and Redis.
    await rm(folder.at('scratch'), { recursive: true });
    const plan = JSON.parse(
      (await folder.run(['plan', '--json', ...args({ ...more, scratch: false, progress: false, limit: '360' }).slice(1)])).stdout,
    ) as { lookups: { fromLedger: number; unique: number } };
    expect(plan.lookups.fromLedger).toBe(asked);
    service.forget();
    healed = true;
    expect(await folder.run(['retry', ...args(more).slice(1)])).toMatchObject({ code: 0, stderr: ONLY_MEMORY });
    expect([...service.asked.keys()].every((name) => name.startsWith('enrich refused') || name.startsWith('verify'))).toBe(true);
    expect(service.asked.size).toBeGreaterThan(0);
    expect((await folder.json('out.csv.report.json'))['lookups']).toMatchObject({
      unique: asked + [...service.asked.keys()].filter((name) => name.startsWith('verify')).length,
    });

    const person = ROWS.flatMap(({ key }) => (key?.startsWith('person') === true ? [key] : []))[0] ?? '';
    const purged = await folder.run([
      'ledger',
      'purge',
      ...flags({ input: 'in.csv', output: 'out.csv', 'base-url': service.url, plan: 'enterprise', ledger, email: person }),
    ]);
    expect({ ...purged, stdout: JSON.parse(purged.stdout) as unknown }).toMatchObject({
      code: 0,
      stdout: { purged: 2, steps: { enrich: 1, verify: 1 } },
    });
    service.forget();
    expect(await folder.run(args({ ...more, fresh: true }))).toMatchObject({ code: 0, stderr: ONLY_MEMORY });
    // The working copy in --scratch is made again.
    expect([...service.asked.keys()].filter((name) => name.includes('person') && name.startsWith('enrich'))).toEqual([`enrich ${person}`]);
  });

  test('a killed run with a Redis ledger repeats only requests in flight, also from another machine', async () => {
    const world = await makeWorld(toCsv(ROWS));
    const { folder, service, args } = world;
    const run = args({ ...LENIENT, ledger: await freeDatabase(facts), steps: 'enrich', concurrency: '8' });
    service.script = (asked, _response, reply, usual) => (asked.number <= 200 || done ? reply(usual()) : undefined);
    let done = false;
    const first = folder.start(run);
    await service.when(() => service.answered >= 200 && service.unanswered.size === 8);
    // Answers go to Redis as they come, and later checkpoints count on them.
    const client = new Redis(run[run.indexOf('--ledger') + 1] ?? '');
    await expect.poll(async () => (await client.keys('*:a:*')).length).toBe(200);
    client.disconnect();
    first.kill('SIGKILL');
    await first.ended;
    await rm(folder.at('scratch'), { recursive: true });
    done = true;
    expect(await folder.run(run)).toMatchObject({ code: 0, stderr: ONLY_MEMORY });
    expect(service.repeated).toBe(8);
  });

  test('a run waits while Redis restarts, and pays for no lookup twice', async () => {
    const world = await makeWorld();
    const { folder, service } = world;
    const { run, expected } = await twoSides(world);
    const server = await ownServer();
    service.latencyMs = 5;
    const both = ['left', 'right'].map((side) => folder.start(run(side, { ledger: server.uri })).ended);
    for (const moment of [60, 160]) {
      await service.when(() => service.answered >= moment);
      await server.kill();
      await server.startAgain();
    }
    expect((await Promise.all(both)).map(({ code }) => code)).toEqual([0, 0]);
    // Failures are not shared: a later run asks again.
    expect([...service.asked].filter(([key, times]) => times > 1 && !key.includes('refused'))).toEqual([]);
    expect(await outputs(world)).toEqual(await expected);
  });

  test('a run whose Redis stays down ends with 74 and keeps its answers, and the same command resumes', async () => {
    const world = await makeWorld(toCsv(ROWS));
    const { folder, service, args } = world;
    const server = await ownServer();
    const run = args({ ...LENIENT, ledger: server.uri, 'limits.maxOutageMs': '2000', concurrency: '4' });
    service.latencyMs = 2;
    const started = folder.start(run).ended;
    await service.when(() => service.answered >= 100);
    await server.kill();
    const { code, stderr } = await started;
    expect({ code, stderr }).toEqual({
      code: 74,
      stderr: expect.stringMatching(/Redis at redis:\/\/127\.0\.0\.1:\d+\/0 has not answered for \d+ s[^]*the job resumes/),
    });
    await server.startAgain();
    expect((await folder.run(run)).code).toBe(0);
    expect([...service.asked].filter(([, times]) => times > 1)).toEqual([]);
  });

  test('a Redis ledger works over TLS with a password from the environment, which no file or output contains', async () => {
    const { server, certificate } = await RedisServer.startEncrypted(['--requirepass', 'p@ss/w0rd-never-seen', '--appendonly', 'no']);
    onTestFinished(() => server.end());
    const { folder, args } = await makeWorld(toCsv(ROWS.slice(0, 20)));
    const ledger = `rediss://:{env:REDIS_PASSWORD}@127.0.0.1:${server.port}/0`;
    const env = { REDIS_PASSWORD: encodeURIComponent('p@ss/w0rd-never-seen'), NODE_EXTRA_CA_CERTS: certificate };
    expect((await folder.run(args({ ...LENIENT, ledger, progress: 'log' }), { env })).code).toBe(0);
    const stats = await folder.run(['ledger', 'stats'], {
      env: { ...env, MILLRACE_LEDGER: `rediss://:${env.REDIS_PASSWORD}@127.0.0.1:${server.port}/0` },
    });
    expect(JSON.parse(stats.stdout)).toMatchObject({ ledger: `rediss://127.0.0.1:${server.port}/0` });
    const stranger = await folder.run(args({ ...LENIENT, ledger, output: 'other.csv', 'limits.maxOutageMs': '500' }), {
      env: { REDIS_PASSWORD: env.REDIS_PASSWORD },
    });
    expect(stranger).toMatchObject({ code: 78, stderr: expect.stringMatching(/self-signed certificate[^]*cacert=/) });
    const refused = await folder.run(args({ ...LENIENT, ledger, output: 'other.csv' }), { env: { ...env, REDIS_PASSWORD: 'wrong-one' } });
    expect(refused).toMatchObject({ code: 77, stderr: expect.stringMatching(/does not let us in/) });
    const changed = await folder.run(args({ ...LENIENT, ledger: 'elsewhere.ledger' }), { env });
    expect(changed).toMatchObject({ code: 78, stderr: expect.stringContaining('ledger.uri') });
    const texts = [
      stats.stdout,
      stranger.stderr,
      refused.stderr,
      changed.stderr,
      ...(await Promise.all((await folder.files()).map((name) => folder.read(name)))),
    ];
    expect(texts.filter((text) => /never-seen|wrong-one/.test(text))).toEqual([]);
  });
});
