import { writeFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { Bucket, Sliding } from '../limiter/services.ts';
import { describeWith } from '../services/needed.ts';
import { RedisServer } from '../services/redis.ts';
import type { Started } from '../support/cli.ts';
import { flags, makeFolder, makeWorld, startService } from '../support/world.ts';

const RPM = 1_200;
const PODS = [0, 1, 2];
const ROWS = 3_000;

await describeWith('redis', 'one quota for several processes', () => {
  test('a run with a shared quota ends when its set-up fails', async () => {
    const [{ folder, args }, redis] = await Promise.all([makeWorld('email\nada@works.example\n'), RedisServer.start()]);
    onTestFinished(() => redis.end());
    for (const output of ['out.csv', '-']) {
      const ended = await folder.run(
        args({
          output,
          'base-url': 'https://service.example',
          plan: false,
          rpm: '60',
          'service.quota': `redis://127.0.0.1:${redis.port}/0`,
        }),
        { env: { HTTPS_PROXY: 'nonsense' } },
      );
      expect(ended).toMatchObject({ code: 78, stderr: expect.stringContaining('HTTPS_PROXY') });
    }
  });

  test('a provider that a job names shares its quota as the one service does', async () => {
    const [{ folder, service }, redis] = await Promise.all([makeWorld('email\nada@works.example\n'), RedisServer.start()]);
    onTestFinished(() => redis.end());
    const quota = `redis://127.0.0.1:${redis.port}/0`;
    const job = {
      input: { uri: 'in.csv' },
      output: { uri: 'out.csv' },
      steps: ['enrich'],
      providers: { millrace: { baseUrl: service.url, rpm: 60, quota } },
    };
    await writeFile(folder.at('job.yaml'), JSON.stringify(job));
    const ended = await folder.run(['run', 'job.yaml', '--progress', 'log']);
    expect([ended.code, service.requests.length]).toEqual([0, 1]);
    expect(ended.stderr).toContain(`"msg":"millrace: the quota is shared at ${quota}`);
  });

  test('three shards share a window of two calls a second, which they could not divide', async () => {
    const rows = Array.from({ length: 15 }, (_, i) => `person-${i}@works.example`);
    const [{ folder, service }, redis] = await Promise.all([makeWorld(`email\n${rows.join('\n')}\n`), RedisServer.start()]);
    onTestFinished(() => redis.end());
    const window = new Sliding(2, false, 1_000);
    let refused = 0;
    service.script = (_asked, _response, reply, usual) => {
      const isAdmitted = window.take(performance.now());
      if (!isAdmitted) refused++;
      reply(isAdmitted ? usual() : { status: 429, body: '{}' });
    };
    const job = {
      input: { uri: 'in.csv' },
      output: { uri: 'out.csv' },
      steps: ['enrich'],
      providers: { millrace: { baseUrl: service.url, windows: ['2/second'], quota: `redis://127.0.0.1:${redis.port}/0` } },
    };
    await writeFile(folder.at('job.yaml'), JSON.stringify(job));
    const shards = await Promise.all(
      [0, 1, 2].map((index) => folder.run(['run', 'job.yaml', '--shard', `${index}/3`, '--progress', 'none'])),
    );
    expect(shards.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect([refused, service.requests.length]).toEqual([0, rows.length]);
    expect((await folder.read('out.csv')).match(/^person-\d+@[^,]*/gm)).toEqual(rows);
  });

  test('two runs with a shared quota cause no 429, also when one is killed; without Redis each keeps to a fixed share', async () => {
    const [folder, service, redis] = await Promise.all([makeFolder(), startService(), RedisServer.start()]);
    onTestFinished(() => redis.end());
    const bucket = new Bucket(RPM, RPM / 10);
    const refused: number[] = [];
    service.script = (_asked, _response, reply, usual) => {
      const now = performance.now();
      const admitted = bucket.take(now);
      if (!admitted) refused.push(now);
      const headers = {
        'x-ratelimit-limit': String(RPM),
        'x-ratelimit-remaining': String(bucket.remaining(now)),
        'x-ratelimit-reset': String(Math.ceil(bucket.resetMs(now))),
        ...(admitted ? {} : { 'retry-after': '1' }),
      };
      reply(admitted ? { ...usual(), headers } : { status: 429, body: '{}', headers });
    };
    const asked = (pod: number): number => service.requests.filter(({ keys }) => keys[0]?.startsWith(`pod${pod}-`)).length;
    const eachAsks = (pods: readonly number[], more: number): Promise<void> => {
      const targets = pods.map((pod) => asked(pod) + more);
      return service.when(() => pods.every((pod, i) => asked(pod) >= (targets[i] as number)));
    };
    const start = async (pod: number): Promise<Started> => {
      await writeFile(
        folder.at(`in${pod}.csv`),
        `email\n${Array.from({ length: ROWS }, (_, i) => `pod${pod}-${i}@works.example\n`).join('')}`,
      );
      return folder.start([
        'run',
        ...flags({
          input: `in${pod}.csv`,
          output: `out${pod}.csv`,
          steps: 'enrich',
          'base-url': service.url,
          rpm: String(RPM),
          'service.quota': `redis://127.0.0.1:${redis.port}/0`,
          progress: 'log',
        }),
      ]);
    };
    const [first, ...runs] = await Promise.all(PODS.map(start));
    await Promise.all(runs.map((run) => run.says('"event":"quota_shared"')));
    await eachAsks(PODS, 20);
    first?.kill('SIGKILL');
    await first?.ended;
    const left = [1, 2];
    await eachAsks(left, 20);
    expect(refused).toEqual([]);

    await redis.kill();
    await Promise.all(runs.map((run) => run.says(/"event":"quota_alone"[^\n]*its own share of the plan, (?:400|600) requests a minute/)));
    await eachAsks(left, 10);
    await redis.startAgain();
    await Promise.all(runs.map((run) => run.says(/"quota_alone"[\s\S]*"event":"quota_shared"/)));
    await eachAsks(left, 20);
    // A pod that shares again sends one probe, which is refused when the quota is used up.
    expect(refused.length).toBeLessThanOrEqual(left.length);
    for (const run of runs) run.kill('SIGTERM');
    for (const run of runs) expect((await run.ended).code).toBe(75);
  });
});
