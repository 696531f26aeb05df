/**
 * The image, built and run. It takes minutes, so only `npm run test:image` runs it. Without a container engine it is skipped with a
 * message, also under `CI=true`.
 */
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { makeBucket, s3Environment } from '../s3/bucket.ts';
import { neededFacts } from '../services/needed.ts';
import { Folder } from '../support/cli.ts';
import { API_KEY, ScriptedService } from '../support/scripted-service.ts';
import { ensureBaseImage, startEngine, type Engine } from './engine.ts';

const REPOSITORY = fileURLToPath(new URL('../../', import.meta.url));
const MAX_BYTES = 350_000_000;
const MINUTE = 60_000;
const asked = process.env['MILLRACE_TEST_IMAGE'] === '1';
const engine = asked ? await startEngine() : 'it is not asked for: npm run test:image';

if (typeof engine === 'string') process.stderr.write(`\nSKIPPED: the test of the container image. ${engine}\n\n`);

describe.skipIf(typeof engine === 'string')(
  'the image',
  async () => {
    if (typeof engine === 'string') {
      test('builds', () => undefined);
      return;
    }
    const { docker } = engine;
    afterAll(() => engine.end(), MINUTE);
    try {
      await build(engine);
    } catch (error) {
      await engine.end();
      throw error;
    }
    const facts = JSON.parse((await docker('image', 'inspect', 'millrace')).stdout) as [
      { Size: number; Config: { User: string; Entrypoint: string[]; Labels: Record<string, string>; Healthcheck: { Test: string[] } } },
    ];
    const [{ Size, Config }] = facts;

    test('has less than 350 MB unpacked, an ordinary user, and labels', () => {
      process.stderr.write(`\nimage: ${(Size / 1e6).toFixed(0)} MB\n`);
      expect(Size).toBeLessThan(MAX_BYTES);
      expect(Config).toMatchObject({
        User: '1000:1000',
        Entrypoint: ['node', '/app/dist/cli/millrace.js'],
        Labels: { 'org.opencontainers.image.title': 'millrace', 'org.opencontainers.image.licenses': 'MIT' },
        Healthcheck: { Test: ['CMD', 'node', '-e', expect.anything()] },
      });
    });

    test('contains its run-time files, and no build tools', async () => {
      const { stdout } = await docker(
        'run',
        '--rm',
        '--network',
        'host',
        '--entrypoint',
        'node',
        'millrace',
        '-e',
        'console.log(JSON.stringify([require("fs").readdirSync("/app"), require("fs").readdirSync("/app/node_modules")]))',
      );
      const [app = [], modules = []] = JSON.parse(stdout) as string[][];
      expect(app).toEqual(['LICENSE', 'dist', 'fixtures', 'jobs', 'node_modules', 'package.json']);
      const { dependencies } = JSON.parse(await readFile(`${REPOSITORY}package.json`, 'utf8')) as { dependencies: object };
      expect(modules).toEqual(expect.arrayContaining([...new Set(Object.keys(dependencies).map((name) => name.split('/')[0]))]));
      for (const name of ['typescript', 'vitest', 'oxlint', 'fast-check']) expect(modules).not.toContain(name);
    });

    test('runs a job on a mounted folder, with no other writable place', async () => {
      const { folder, service, args } = await world();
      await writeFile(folder.at('in.csv'), 'email\nana@works.example\nmiss@works.example\n');
      const { code, stderr } = await docker(
        ...args(),
        'run',
        '--input',
        'in.csv',
        '--output',
        'out.csv',
        '--base-url',
        service.url,
        '--plan',
        'enterprise',
      );
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.anything() });
      expect(await folder.json('out.csv.report.json')).toMatchObject({ exitCode: 0, records: { total: 2, matched: 1, no_match: 1 } });
    });

    test('drains within the grace period after docker stop and ends with 75, and the next run continues', async () => {
      const { folder, service, args } = await world();
      await writeFile(folder.at('in.csv'), `email\n${Array.from({ length: 200 }, (_, i) => `person${i}@works.example\n`).join('')}`);
      const command = [
        'run',
        '--input',
        'in.csv',
        '--output',
        'out.csv',
        '--steps',
        'enrich',
        '--concurrency',
        '2',
        '--base-url',
        service.url,
        '--plan',
        'enterprise',
      ];
      service.latencyMs = 50;
      const stopped = docker(...args('--name', 'stopped'), ...command);
      await service.sees(20);
      expect((await docker('stop', '-t', '30', 'stopped')).code).toBe(0);
      expect((await stopped).code).toBe(75);
      service.latencyMs = 0;
      expect((await docker(...args(), ...command)).code).toBe(0);
      expect(service.repeated).toBe(0);
      expect(await folder.json('out.csv.report.json')).toMatchObject({ exitCode: 0, records: { total: 200 } });
    });

    test('reports healthy while its process runs, and unhealthy while it is paused', async () => {
      const { folder, service, args } = await world();
      await writeFile(folder.at('in.csv'), 'email\nana@works.example\n');
      service.script = () => undefined;
      const held = docker(
        ...args('--name', 'held'),
        'run',
        '--input',
        'in.csv',
        '--output',
        'out.csv',
        '--base-url',
        service.url,
        '--plan',
        'enterprise',
      );
      await service.sees(1);
      const health = async (): Promise<number> => (await docker('exec', 'held', ...Config.Healthcheck.Test.slice(1))).code;
      expect(await health()).toBe(0);
      await docker('kill', '--signal', 'STOP', 'held');
      expect(await health()).toBe(1);
      await docker('kill', 'held');
      await held;
    });

    test('needs no volume for a job in S3: after a kill another container continues', async () => {
      const server = await neededFacts('s3');
      if (typeof server === 'string') throw new Error(server);
      const bucket = await makeBucket(server);
      await bucket.put('night/1.csv', `email\n${Array.from({ length: 50 }, (_, i) => `person${i}@works.example\n`).join('')}`);
      const { service } = await world();
      const env = Object.entries({ ...s3Environment(server), MILLRACE_API_KEY: API_KEY }).flatMap(([name, value]) => [
        '-e',
        `${name}=${value}`,
      ]);
      const at = (name: string): string => `s3://${bucket.name}/${name}`;
      const command = [
        'millrace',
        'run',
        '--input',
        at('night/'),
        '--output',
        at('done/leads.csv'),
        '--ledger',
        at('ledger'),
        '--steps',
        'enrich',
        '--concurrency',
        '2',
        '--checkpoint.everyMs',
        '200',
        '--base-url',
        service.url,
        '--plan',
        'enterprise',
      ];
      // The only writable place, which vanishes with the container.
      const container = (...more: string[]): string[] => [...confined, '--tmpfs', '/tmp', ...env, ...more, ...command];
      service.script = (asked, _response, reply, usual) => {
        if (asked.number <= 20) reply(usual());
      };
      const killed = docker(...container('--name', 'killed'));
      const inS3 = ['done/leads.csv.checkpoint.json', 'done/leads.csv.checkpoint.json.lock', expect.stringMatching(/^ledger\//)];
      await expect.poll(() => bucket.names(), { timeout: MINUTE }).toEqual(expect.arrayContaining(inS3));
      await docker('kill', 'killed');
      expect((await killed).code).toBe(137);
      service.script = (_asked, _response, reply, usual) => reply(usual());
      const before = service.requests.length;
      // It waits until the dead holder has not renewed the lock for 30 s.
      const { code, stderr } = await docker(...container());
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.anything() });
      expect(service.requests.length - before).toBeLessThan(50);
      expect((await bucket.names('done/')).filter((name) => /\.(?:lock|partial)/.test(name))).toEqual([]);
      const output = String(await bucket.get('done/leads.csv'));
      expect([...output.matchAll(/^(person\d+@works\.example),matched,/gm)].map(([, email]) => email)).toEqual(
        Array.from({ length: 50 }, (_, i) => `person${i}@works.example`),
      );
      expect(JSON.parse(String(await bucket.get('done/leads.csv.report.json')))).toMatchObject({ exitCode: 0, records: { total: 50 } });
    });

    test('prints its version and its help', async () => {
      expect((await docker(...confined, 'millrace', '--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
      expect((await docker(...confined, 'millrace')).stdout).toContain('millrace run');
    });
  },
  10 * MINUTE,
);

async function build(engine: Engine): Promise<void> {
  const dockerfile = await readFile(`${REPOSITORY}Dockerfile`, 'utf8');
  await ensureBaseImage(engine, /^FROM (\S+)/m.exec(dockerfile)?.[1] ?? '');
  const built = await engine.docker('build', '--network', 'host', '-t', 'millrace', REPOSITORY);
  if (built.code !== 0) throw new Error(`${built.stdout}\n${built.stderr}`);
}

const confined = ['run', '--rm', '--network', 'host', '--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];

interface ImageWorld {
  readonly folder: Folder;
  readonly service: ScriptedService;
  /** Runs `docker run` in the folder, confined, with the key as a file. */
  args: (...more: string[]) => string[];
}

async function world(): Promise<ImageWorld> {
  const [folder, service] = await Promise.all([Folder.make(), ScriptedService.start()]);
  onTestFinished(async () => {
    await service.stop();
    await folder.remove();
  });
  await mkdir(folder.at('secrets'));
  await writeFile(folder.at('secrets', 'key'), API_KEY);
  // The folder belongs to the user who runs the test, and the image has another user.
  await chmod(folder.path, 0o777);
  return {
    folder,
    service,
    args: (...more) => [
      ...confined,
      ...more,
      '-v',
      `${folder.path}:/data`,
      '-v',
      `${folder.at('secrets')}:/run/secrets:ro`,
      '-e',
      'MILLRACE_API_KEY_FILE=/run/secrets/key',
      'millrace',
    ],
  };
}
