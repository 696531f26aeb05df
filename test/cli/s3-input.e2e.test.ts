/** The real command on input in S3, through a proxy that counts requests and breaks connections. */
import { readFile, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { faultyBucket } from '../s3/faulty-bucket.ts';
import { SLOW_DOWN, type FaultProxy } from '../services/fault-proxy.ts';
import { describeWith } from '../services/needed.ts';
import { makeWorld, type World } from '../support/world.ts';

const HEADER = 'name,email\n';
/** A few wide rows make megabytes without making calls. */
const wide = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, i) => `${'x'.repeat(20_000)},person${from + i}@works.example\n`).join('');

await describeWith('s3', 'input in S3', async (server) => {
  const { bucket, proxy, env, at } = await faultyBucket(server);

  const sameAsLocal = async ({ folder, args }: World, uri: string, local: Readonly<Record<string, string>>): Promise<void> => {
    expect((await folder.run(args({ input: uri, output: 's3.csv' }), { env })).code).toBe(0);
    for (const [name, text] of Object.entries(local)) await writeFile(folder.at(name), text);
    for (const name of Object.keys(local)) await folder.run(args({ input: name, output: `local-${name}` }));
    const rows = await Promise.all(Object.keys(local).map((name) => readFile(folder.at(`local-${name}`), 'utf8')));
    const [header = ''] = rows[0]?.split('\n') ?? [];
    expect(await folder.read('s3.csv')).toBe(`${header}\n${rows.map((text) => text.slice(header.length + 1)).join('')}`);
  };

  test('a prefix with a plain and a compressed object gives the output of the same local files', async () => {
    const [first, second] = ['email\na@works.example\nb@works.example\n', 'email\nc@works.example\n'];
    await bucket.put('night/2026-11-20/1.csv', first);
    await bucket.put('night/2026-11-20/2.csv.gz', gzipSync(second));
    await bucket.put('night/2026-11-20/_SUCCESS', '');
    const world = await makeWorld();
    await sameAsLocal(world, at('night/{date:-1d}/').replace('{date:-1d}', '2026-11-20'), { '1.csv': first, '2.csv': second });
    expect(
      (await world.folder.run(world.args({ input: at('night/{date:-1d}/*.csv*'), output: 'dated.csv', date: '2026-11-21' }), { env })).code,
    ).toBe(0);
    expect(await world.folder.read('dated.csv')).toBe(await world.folder.read('s3.csv'));
  });

  test('a killed run resumes its S3 input by range where it stopped, through cut connections and SlowDown', async () => {
    const text = HEADER + wide(0, 1_000);
    await bucket.put('large.csv', text);
    const { folder, service, args } = await makeWorld();
    await writeFile(folder.at('in.csv'), text);
    expect((await folder.run(args({ output: 'local.csv', steps: 'enrich' }))).code).toBe(0);
    service.forget();
    // The first 700 lookups are answered. The rest waits until the run is dead.
    service.script = (_asked, _response, reply, usual) => (service.requests.length <= 700 || dead ? reply(usual()) : undefined);
    let dead = false;
    const cutEveryFifth = ({ number, method }: { number: number; method: string }): ReturnType<FaultProxy['faultFor']> =>
      method !== 'GET' ? null : number % 5 === 0 ? SLOW_DOWN : number % 5 === 2 ? { kind: 'cut', afterBytes: 300_000 } : null;
    proxy.faultFor = cutEveryFifth;
    const run = (): ReturnType<typeof folder.start> =>
      folder.start(args({ input: at('large.csv'), steps: 'enrich', concurrency: '20', output: 's3.csv' }), { env });
    const first = run();
    const progress = async (): Promise<number> => {
      const { mark } = JSON.parse(await folder.read('s3.csv.checkpoint.json').catch(() => '{"mark":{"tally":{"total":0}}}')) as {
        mark: { tally: { total: number } };
      };
      return mark.tally.total;
    };
    await expect.poll(progress).toBeGreaterThan(600);
    first.kill('SIGKILL');
    await first.ended;
    dead = true;
    proxy.relayed.length = 0;
    expect((await run().ended).code).toBe(0);
    expect(await folder.read('s3.csv')).toBe(await folder.read('local.csv'));
    const reads = proxy.relayed.filter(({ method }) => method === 'GET');
    expect(Number(/bytes=(\d+)/.exec(reads[0]?.range ?? '')?.[1])).toBeGreaterThan(600 * 20_000);
    expect(reads.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(text.length / 2);
  });

  test.each([
    ['replaced by another of the same size', 'email\nc@works.example\n', 'another ETag'],
    ['longer', 'email\na@works.example\nb@works.example\n', 'bytes'],
    ['gone', null, 'no longer there'],
  ])('an S3 input that is %s during a job ends it with 65', async (_what, other, said) => {
    await bucket.put('changing.csv', 'email\na@works.example\n');
    const { folder, service, args } = await makeWorld();
    service.script = () => undefined;
    const input = at('changing.csv');
    const held = folder.start(args({ input }), { env });
    await service.sees(1);
    held.kill('SIGKILL');
    await held.ended;
    if (other === null) await bucket.client.send(new DeleteObjectCommand({ Bucket: bucket.name, Key: 'changing.csv' }));
    else await bucket.put('changing.csv', other);
    const { code, stderr } = await folder.run(args({ input }), { env });
    expect({ code, stderr }).toEqual({ code: 65, stderr: expect.stringContaining(said) });
  });

  test('a missing S3 input is 0 with input.ifMissing succeed, else 65', async () => {
    const { folder, args } = await makeWorld();
    expect((await folder.run(args({ input: at('never/'), 'input.ifMissing': 'succeed' }), { env })).code).toBe(0);
    expect((await folder.run(args({ input: at('never/'), output: 'other.csv' }), { env })).code).toBe(65);
  });

  test('a finished job with an S3 input calls nothing again, and runs anew when the object changed', async () => {
    await bucket.put('again.csv', 'email\na@works.example\n');
    const { folder, service, args } = await makeWorld();
    const run = async (): Promise<number | null> => (await folder.run(args({ input: at('again.csv') }), { env })).code;
    expect([await run(), await run(), service.requests.length]).toEqual([0, 0, 2]);
    await bucket.put('again.csv', 'email\nb@works.example\n');
    expect([await run(), service.requests.length]).toEqual([0, 4]);
  });

  test.each<[string, Record<string, string>, number, RegExp]>([
    ['no credentials', { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' }, 77, /AWS_PROFILE/],
    ['a refused key', { AWS_ACCESS_KEY_ID: 'nobody' }, 77, /InvalidAccessKeyId/],
    ['no region', { AWS_REGION: '' }, 78, /AWS_REGION/],
    ['an endpoint that is no URL', { AWS_ENDPOINT_URL: 'nonsense' }, 78, /AWS_ENDPOINT_URL/],
  ])('%s is reported with its remedy', async (_what, more, code, said) => {
    const { folder, args } = await makeWorld();
    const ended = await folder.run(args({ input: at('again.csv') }), { env: { ...env, ...more } });
    expect({ code: ended.code, stderr: ended.stderr }).toEqual({ code, stderr: expect.stringMatching(said) });
    expect(ended.stderr).not.toContain(server['owner']);
  });

  test('an S3 input is read with endpoint, region and keys of a profile, path-style', async () => {
    await bucket.put('again.csv', 'email\na@works.example\n');
    const { folder, args } = await makeWorld();
    const port = new URL(proxy.url).port;
    await writeFile(
      folder.at('config'),
      '[profile lake]\nregion = eu-west-1\nservices = lake\naws_access_key_id = owner\n' +
        `aws_secret_access_key = ${server['owner']}\n[services lake]\n` +
        `s3 =\n  endpoint_url = http://localhost:${port}\n`,
    );
    const { AWS_REGION: _region, ...others } = env;
    const profile = {
      ...others,
      AWS_ENDPOINT_URL: '',
      AWS_ACCESS_KEY_ID: '',
      AWS_SECRET_ACCESS_KEY: '',
      AWS_PROFILE: 'lake',
      AWS_CONFIG_FILE: folder.at('config'),
    };
    const { code, stderr } = await folder.run(args({ input: at('again.csv') }), { env: profile });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.anything() });
    expect(proxy.relayed.every(({ url }) => url.startsWith(`/${bucket.name}/`))).toBe(true);
  });

  test('an S3 input is read through HTTP_PROXY, except hosts in NO_PROXY', async () => {
    await bucket.put('again.csv', 'email\na@works.example\n');
    const { folder, args } = await makeWorld();
    const proxied = { ...env, AWS_ENDPOINT_URL: 'http://s3.example', HTTP_PROXY: proxy.url, NO_PROXY: '127.0.0.1' };
    const { code, stderr } = await folder.run(args({ input: at('again.csv') }), { env: proxied });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.anything() });
    expect(proxy.relayed.map(({ url }) => url)).toEqual(
      expect.arrayContaining([expect.stringMatching(`^http://s3.example/${bucket.name}/again.csv`)]),
    );
    expect(proxy.relayed.every(({ url }) => url.startsWith('http://s3.example/'))).toBe(true);
  });

  test('plan reads an S3 input', async () => {
    const { folder, args } = await makeWorld();
    await bucket.put('planned.csv', 'email\na@works.example\nb@works.example\n');
    const plan = await folder.run(['plan', '--json', ...args({ input: at('planned.csv'), progress: false }).slice(1)], { env });
    expect(JSON.parse(plan.stdout)).toMatchObject({ records: 2, files: 1 });
  });
});
