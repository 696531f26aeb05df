/** The real command on outputs, checkpoints and locks in S3, through a proxy that counts requests and breaks connections. */
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { HeadObjectCommand } from '@aws-sdk/client-s3';
import { beforeEach, expect, test } from 'vitest';
import { faultyBucket } from '../s3/faulty-bucket.ts';
import { SLOW_DOWN, type Relayed } from '../services/fault-proxy.ts';
import { describeWith } from '../services/needed.ts';
import { oneIn, refusing } from '../support/failing.ts';
import { leads, toCsv } from '../support/leads.ts';
import { makeWorld, type World } from '../support/world.ts';

const MIB = 1024 * 1024;
const ROWS = leads(60, 5);
const INPUT = toCsv(ROWS);
/** A few wide rows make megabytes without making calls. */
const WIDE = `name,email\n${Array.from({ length: 650 }, (_, i) => `${'x'.repeat(20_000)},person${i}@works.example\n`).join('')}`;

await describeWith('s3', 'output in S3', async (server) => {
  const { bucket, proxy, env, at: atRoot } = await faultyBucket(server);
  let prefix = '';
  const at = (key: string): string => atRoot(`${prefix}${key}`);
  const get = async (key: string): Promise<Buffer> => (await bucket.get(prefix + key)) ?? Buffer.from('none');
  const names = async (): Promise<string[]> => (await bucket.names(prefix)).map((key) => key.slice(prefix.length));

  beforeEach(() => {
    prefix = `${randomUUID()}/`;
  });

  /** The same input and answers, with the output on a disk. */
  async function onDisk({ folder, args }: World, more: Readonly<Record<string, string>> = {}): Promise<Buffer> {
    expect((await folder.run(args({ output: 'local.csv', 'max-errors': '100%', ...more }))).code).toBe(0);
    return readFile(folder.at('local.csv'));
  }

  test.each([
    [
      'the output in S3 and its checkpoint on a disk',
      (): Record<string, string> => ({ output: at('out.csv'), checkpoint: 'checkpoint.json' }),
      ['out.csv', 'out.csv.errors.jsonl', 'out.csv.report.html', 'out.csv.report.json'],
    ],
    [
      'the output on a disk and its checkpoint in S3',
      (): Record<string, string> => ({ output: 'out.csv', checkpoint: at('checkpoint.json') }),
      ['checkpoint.json'],
    ],
  ])('a job with %s gives the files of a local one, and a second run has nothing to do', async (_what, where, left) => {
    const world = await makeWorld(INPUT);
    const { folder, service, args } = world;
    const expected = await onDisk(world);
    const command = args({ 'max-errors': '100%', ledger: 'ledger', ...where() });
    expect(await folder.run(command, { env })).toMatchObject({ code: 0, stderr: '' });
    expect((left.includes('out.csv') ? await get('out.csv') : await readFile(folder.at('out.csv'))).equals(expected)).toBe(true);
    expect(await names()).toEqual(left);
    // A browser shows the page from the bucket.
    if (left.includes('out.csv'))
      expect(
        (await bucket.client.send(new HeadObjectCommand({ Bucket: bucket.name, Key: `${prefix}out.csv.report.html` }))).ContentType,
      ).toBe('text/html; charset=utf-8');
    const asked = service.requests.length;
    expect((await folder.run(command, { env })).code).toBe(0);
    expect(service.requests.length).toBe(asked);
  });

  test('a killed run uploads no complete part to S3 again, through lost connections and SlowDown', async () => {
    const world = await makeWorld(WIDE);
    const { folder, service, args } = world;
    const expected = await onDisk(world, { steps: 'enrich' });
    service.forget();
    let dead = false;
    service.script = (_asked, _response, reply, usual) => (service.requests.length <= 550 || dead ? reply(usual()) : undefined);
    proxy.faultFor = ({ number, method }) =>
      method === 'GET' ? null : number % 5 === 0 ? SLOW_DOWN : number % 7 === 0 ? { kind: 'lost' } : null;
    const run = (): ReturnType<typeof folder.start> =>
      folder.start(args({ output: at('out.csv'), steps: 'enrich', concurrency: '20', ledger: 'ledger' }), { env });
    const first = run();
    const written = async (): Promise<number> =>
      (
        JSON.parse(String((await bucket.get(`${prefix}out.csv.checkpoint.json`)) ?? '{"mark":{"tally":{"total":0}}}')) as {
          mark: { tally: { total: number } };
        }
      ).mark.tally.total;
    await expect.poll(written).toBeGreaterThan(450);
    first.kill('SIGKILL');
    await first.ended;
    dead = true;
    expect(await run().ended).toMatchObject({ code: 0, stderr: '' });
    expect((await get('out.csv')).equals(expected)).toBe(true);
    const parts = proxy.relayed.filter(
      ({ method, url, sent, fault }: Relayed) =>
        method === 'PUT' && /\.partial\.[0-9a-f]{8}\.\d+\?/.test(url) && sent >= 8 * MIB && fault === null,
    );
    expect(parts.reduce((sum, { sent }) => sum + sent, 0)).toBeLessThanOrEqual(expected.length);
    expect([await names(), await bucket.uploads()]).toEqual([
      ['out.csv', 'out.csv.checkpoint.json', 'out.csv.report.html', 'out.csv.report.json'],
      [],
    ]);
  });

  test('a second run on one S3 output waits and ends with 75, naming the first; status names the holder', async () => {
    const { folder, service, args } = await makeWorld(INPUT);
    service.script = () => undefined;
    const command = args({ output: at('out.csv'), ledger: 'ledger', progress: 'log' });
    const first = folder.start(command, { env });
    await service.sees(1);
    const second = folder.start(command, { env });
    await second.says('"job_held"');
    second.kill('SIGTERM');
    expect(await second.ended).toMatchObject({
      code: 75,
      stderr: expect.stringContaining(`another run holds this job: process ${first.child.pid} on`),
    });
    const status = await folder.run(['status', '--input', 'in.csv', '--output', at('out.csv'), '--embedded'], { env });
    expect(status.stdout).toContain(`running by process ${first.child.pid} on`);
    first.kill('SIGKILL');
    await first.ended;
    service.script = (_asked, _response, reply, usual) => reply(usual());
    expect((await folder.run(args({ output: at('out.csv'), ledger: 'ledger', 'max-errors': '100%' }), { env })).code).toBe(0);
    expect(await names()).not.toContain('out.csv.checkpoint.json.lock');
  });

  test('a second signal ends a run whose S3 no longer answers, with 75', async () => {
    const { folder, service, args } = await makeWorld(INPUT);
    service.script = ({ number }, _response, reply, usual) => (number <= 10 ? reply(usual()) : undefined);
    const run = folder.start(args({ output: at('out.csv'), ledger: 'ledger' }), { env });
    await service.when(() => service.answered === 10 && service.unanswered.size > 0);
    proxy.faultFor = () => ({ kind: 'hang' });
    run.kill('SIGTERM');
    run.kill('SIGINT');
    expect(await run.ended).toMatchObject({ code: 75, stderr: expect.stringContaining('stopped by') });
  });

  test('a pilot with an S3 output continues, and retry asks for failed lookups again', async () => {
    const world = await makeWorld(INPUT);
    const { folder, service, args } = world;
    const expected = await onDisk(world);
    service.forget();
    const command = (more: Readonly<Record<string, string>>): string[] =>
      args({ output: at('out.csv'), ledger: 'ledger', 'max-errors': '100%', ...more });
    service.script = refusing((key, path) => path === 'enrich' && oneIn(4)(key));
    expect((await folder.run(command({ limit: '20' }), { env })).code).toBe(0);
    const pilot = await get('out.csv');
    expect((await folder.run(command({}), { env })).code).toBe(0);
    expect((await get('out.csv')).subarray(0, pilot.length).equals(pilot)).toBe(true);
    expect((await get('out.csv')).equals(expected)).toBe(false);
    service.script = (_asked, _response, reply, usual) => reply(usual());
    expect((await folder.run(['retry', ...command({}).slice(1)], { env })).code).toBe(0);
    expect((await get('out.csv')).equals(expected)).toBe(true);
    expect((await names()).filter((name) => /\.partial|\.lock/.test(name))).toEqual([]);
  });

  test('an S3 object of another owner is 65 and stays unchanged, and a refusal of S3 is reported', async () => {
    const { folder, args } = await makeWorld(INPUT);
    await bucket.put(`${prefix}out.csv`, 'theirs');
    expect(await folder.run(args({ output: at('out.csv') }), { env })).toMatchObject({
      code: 65,
      stderr: expect.stringContaining('out.csv exists, and there is no checkpoint'),
    });
    expect([String(await get('out.csv')), await names()]).toEqual(['theirs', ['out.csv']]);
    const refused = async (output: string, more: Record<string, string> = {}): Promise<unknown> => {
      const { code, stderr } = await folder.run(args({ output }), { env: { ...env, ...more } });
      return { code, stderr };
    };
    expect(await refused(at('other.csv'), { AWS_ACCESS_KEY_ID: 'nobody' })).toEqual({
      code: 77,
      stderr: expect.stringContaining('AWS_PROFILE'),
    });
    expect(await refused('s3://no-such-bucket-here/out.csv')).toEqual({ code: 74, stderr: expect.stringContaining('Make the bucket') });
    expect(await refused(at('other.csv'), { AWS_ACCESS_KEY_ID: 'stranger', AWS_SECRET_ACCESS_KEY: server['stranger'] ?? '' })).toEqual({
      code: 74,
      stderr: expect.stringContaining('s3:PutObject'),
    });
    await writeFile(folder.at('none.csv'), 'email\n');
    expect((await folder.run(args({ input: 'none.csv', output: at('empty.jsonl'), ledger: 'none.ledger' }), { env })).code).toBe(0);
    expect(String(await get('empty.jsonl'))).toBe('');
  });
});
