/** Parquet from and to S3, through a proxy that counts requests and breaks connections. */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { Cell } from '../../src/formats/parquet/column-type.ts';
import { parquetOf } from '../formats/parquet/written.ts';
import { faultyBucket } from '../s3/faulty-bucket.ts';
import { SLOW_DOWN, type FaultProxy } from '../services/fault-proxy.ts';
import { describeWith } from '../services/needed.ts';
import { makeWorld } from '../support/world.ts';

const TEXT = { type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const;
const COLUMNS = ['name', 'email', 'note'].map((name) => ({ name, type: TEXT }));
/** Text of 20 kB that does not compress, so that a row group has many pages. */
const noise = (i: number): string =>
  Array.from({ length: 320 }, (_, part) => createHash('sha256').update(`${i} ${part}`).digest('base64'))
    .join('')
    .slice(0, 14_000);
const rows = (from: number, to: number): Cell[][] =>
  Array.from({ length: to - from }, (_, i) => [`Name ${from + i}`, `person${from + i}@works.example`, noise(from + i)]);

await describeWith('s3', 'Parquet in S3', async (server) => {
  const { bucket, proxy, env, at } = await faultyBucket(server);

  test('a killed run resumes within a row group by ranges, through cut connections and SlowDown, to the bytes of a local run', async () => {
    // One row group that is too large to be read at once, and small ones.
    const content = parquetOf(COLUMNS, [rows(0, 1_000), rows(1_000, 1_020), rows(1_020, 1_030)]);
    expect(content.length).toBeGreaterThan(12_000_000);
    await bucket.put('large.parquet', content);
    const { folder, service, args } = await makeWorld();
    await writeFile(folder.at('in.parquet'), content);
    expect((await folder.run(args({ input: 'in.parquet', output: 'local.csv', steps: 'enrich' }))).code).toBe(0);
    expect((await folder.run(args({ input: 'in.parquet', output: 'local.parquet', steps: 'enrich' }))).code).toBe(0);
    service.forget();
    let dead = false;
    // The first 700 lookups are answered. The rest waits until the run is dead.
    service.script = (_asked, _response, reply, usual) => (service.requests.length <= 700 || dead ? reply(usual()) : undefined);
    proxy.faultFor = ({ number, method }): ReturnType<FaultProxy['faultFor']> =>
      method !== 'GET' ? null : number % 5 === 0 ? SLOW_DOWN : number % 5 === 2 ? { kind: 'cut', afterBytes: 300_000 } : null;
    const run = (): ReturnType<typeof folder.start> =>
      folder.start(args({ input: at('large.parquet'), steps: 'enrich', concurrency: '20', output: 's3.csv' }), { env });
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
    expect(reads.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(content.length * 0.7);

    const toS3 = args({ input: at('large.parquet'), steps: 'enrich', output: at('out.parquet') });
    expect((await folder.run(toS3, { env })).code).toBe(0);
    expect(await bucket.get('out.parquet')).toEqual(await readFile(folder.at('local.parquet')));
    // A retry has nothing to do, and finds the finished object.
    expect(await folder.run(['retry', ...toS3.slice(1)], { env })).toMatchObject({ code: 0 });
  });

  test('a killed run with its output in S3 goes on after the last row group', async () => {
    proxy.faultFor = () => null;
    const many = Array.from({ length: 21_000 }, (_, i): Cell[] => [`Name ${i}`, `person${i}@works.example`, null]);
    await bucket.put('many.parquet', parquetOf(COLUMNS, [many]));
    const { folder, service, args } = await makeWorld();
    await writeFile(folder.at('in.parquet'), parquetOf(COLUMNS, [many]));
    const job = { steps: 'verify', 'checkpoint.everyMs': '50' };
    expect((await folder.run(args({ ...job, input: 'in.parquet', output: 'local.parquet' }))).code).toBe(0);
    service.forget();
    service.latencyMs = 100;
    const command = args({ ...job, input: at('many.parquet'), output: at('many-out.parquet'), concurrency: '2' });
    const first = folder.start(command, { env });
    const groups = async (): Promise<number> => {
      const text = (await bucket.get('many-out.parquet.checkpoint.json'))?.toString() ?? '{}';
      return (JSON.parse(text) as { mark?: { groups?: unknown[] } }).mark?.groups?.length ?? 0;
    };
    await expect.poll(groups).toBeGreaterThan(0);
    first.kill('SIGKILL');
    await first.ended;
    const asked = service.requests.length;
    expect((await folder.run(command, { env })).code).toBe(0);
    expect(await bucket.get('many-out.parquet')).toEqual(await readFile(folder.at('local.parquet')));
    expect(service.requests.length - asked).toBeLessThan(21);
  });
});
