/** Finding and naming objects on a real S3 server. */
import { expect, test } from 'vitest';
import { sourceOn } from '../../src/sources/s3-source.ts';
import { RETRY_POLICY } from '../../src/s3/retry.ts';
import { clientOf, makeBucket } from '../s3/bucket.ts';
import { FaultProxy, type Fault } from '../services/fault-proxy.ts';
import { describeWith } from '../services/needed.ts';

const QUICK = { ...RETRY_POLICY, attempts: 3, baseMs: 1, capMs: 2 };
/** Objects: more than one page of a listing. */
const MANY = 1_100;

await describeWith('s3', 'a source in S3', async (server) => {
  const bucket = await makeBucket(server);
  const source = sourceOn({ client: bucket.client, retryPolicy: QUICK });
  const at = (key: string): string => `s3://${bucket.name}/${key}`;
  const keys = [
    'one.csv',
    'day/a.csv',
    'day/b.jsonl.gz',
    'day/notes.txt',
    'day/_SUCCESS',
    'day/',
    'day/deep/',
    'day/deep/c.tsv',
    'day-old/d.csv',
    'odd[1].csv',
    'odd1.csv',
    'spaced out/e+f%20.csv',
    'äö/ü.csv',
  ];
  for (const key of keys) await bucket.put(key, `email\n${key}\n`);
  for (let i = 0; i < MANY; i += 50)
    await Promise.all(Array.from({ length: 50 }, (_, j) => bucket.put(`many/${String(i + j).padStart(5, '0')}.csv`, '')));

  const found = async (uri: string, mayLack = false): Promise<string[]> =>
    (await source.find(uri, mayLack, {})).files.map((file) => file.uri).sort();
  const codeOf = async (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => 'no error',
      (error: unknown) => ({
        code: (error as { code: string }).code,
        exitCode: (error as { exitCode: number }).exitCode,
        said: (error as Error).message,
      }),
    );

  test('an object is found by its name', async () => {
    expect(await source.find(at('one.csv'), false, {})).toEqual({ named: true, files: [{ uri: at('one.csv'), path: at('one.csv') }] });
    expect(await source.identify({ uri: at('one.csv'), path: at('one.csv') }, {})).toEqual({
      size: 14,
      digest: expect.stringMatching(/^"[0-9a-f]{32}"$/),
    });
  });

  test('names are used literally, without escapes', async () => {
    expect(await found(at('spaced out/e+f%20.csv'))).toEqual([at('spaced out/e+f%20.csv')]);
    expect(await found(at('äö/*.csv'))).toEqual([at('äö/ü.csv')]);
  });

  test.each(['day', 'day/'])('the prefix %s finds the tables below it, and not keys that only begin alike', async (prefix) => {
    expect(await found(at(prefix))).toEqual([at('day/a.csv'), at('day/b.jsonl.gz'), at('day/deep/c.tsv')]);
  });

  test('a glob has the dialect of local globs', async () => {
    expect(await found(at('day*/*.csv'))).toEqual([at('day-old/d.csv'), at('day/a.csv')]);
    expect(await found(at('day/**/*.{tsv,csv}'))).toEqual([at('day/a.csv'), at('day/deep/c.tsv')]);
    expect(await found(at('day/*'))).toEqual([at('day/a.csv'), at('day/b.jsonl.gz'), at('day/notes.txt')]);
    expect(await found(at('nothing/*.csv'))).toEqual([]);
  });

  test('an object whose name contains glob characters wins over the glob', async () => {
    expect(await found(at('odd[1].csv'))).toEqual([at('odd[1].csv')]);
  });

  test('a listing of several pages is complete', async () => {
    expect((await found(at('many/'))).length).toBe(MANY);
  });

  test('a range of an object is read', async () => {
    const file = { uri: at('one.csv'), path: at('one.csv') };
    const { digest } = await source.identify(file, {});
    const parts: Buffer[] = [];
    for await (const part of source.readRange({ ...file, digest }, { start: 6, end: 9 }, { chunkBytes: 2 })) parts.push(part);
    expect(parts.map(String)).toEqual(['on', 'e']);
  });

  test('a stopped run does not wait for a silent server', async () => {
    const proxy = await FaultProxy.start(server['endpoint'] ?? '');
    try {
      proxy.faultFor = () => ({ kind: 'hang' });
      const silent = sourceOn({ client: clientOf(server, proxy.url), retryPolicy: RETRY_POLICY });
      const file = { uri: at('one.csv'), path: at('one.csv') };
      for (const [n, look] of [
        (signal: AbortSignal) => silent.find(at('one.csv'), false, { signal }),
        (signal: AbortSignal) => silent.find(at('*.csv'), false, { signal }),
        (signal: AbortSignal) => silent.identify(file, { signal }),
      ].entries()) {
        const stop = new AbortController();
        const looking = look(stop.signal);
        await expect.poll(() => proxy.relayed.length).toBe(n + 1);
        stop.abort(new Error('stopped'));
        await expect(looking).rejects.toThrow('stopped');
      }
    } finally {
      await proxy.stop();
    }
  });

  test.each<[string, string, number, string]>([
    ['no such object or prefix', at('none.csv'), 65, 'input_missing'],
    ['an empty bucket’s name with a typing error', `s3://${bucket.name}-not/x.csv`, 65, 'input_missing'],
    ['no bucket below a glob', `s3://${bucket.name}-not/*.csv`, 65, 'input_missing'],
  ])('%s: the error names it', async (_what, uri, exitCode, code) => {
    expect(await codeOf(source.find(uri, false, {}))).toEqual({ exitCode, code, said: expect.stringContaining(uri) });
  });

  test('a missing object may be accepted, a missing bucket never', async () => {
    expect(await found(at('none.csv'), true)).toEqual([]);
    expect(await codeOf(source.find(`s3://${bucket.name}-not/x.csv`, true, {}))).toMatchObject({ code: 'input_missing' });
  });

  test('a stranger’s bucket is denied', async () => {
    const stranger = sourceOn({ client: clientOf(server, server['endpoint'], 'stranger'), retryPolicy: QUICK });
    for (const uri of [at('one.csv'), at('day/'), at('day/*.csv')])
      expect(await codeOf(stranger.find(uri, false, {}))).toEqual({
        exitCode: 65,
        code: 'input_unreadable',
        said: expect.stringContaining(uri),
      });
  });

  test('a wrong secret is distinguished from a denied object, although HEAD answers both with 403', async () => {
    const wrong = sourceOn({ client: clientOf({ ...server, owner: 'wrong' }), retryPolicy: QUICK });
    expect(await codeOf(wrong.find(at('one.csv'), false, {}))).toMatchObject({
      exitCode: 77,
      code: 's3_credentials',
      said: expect.stringContaining('SignatureDoesNotMatch'),
    });
  });

  test.each<[string, Fault, number, string]>([
    [
      'a bucket of another region',
      {
        kind: 'answer',
        status: 400,
        body: '<Error><Code>AuthorizationHeaderMalformed</Code><Message>expecting eu-west-1</Message><Region>eu-west-1</Region></Error>',
      },
      78,
      's3_region',
    ],
    [
      'an archived object',
      { kind: 'answer', status: 403, body: '<Error><Code>InvalidObjectState</Code><Message>archived</Message></Error>' },
      65,
      'input_unreadable',
    ],
    [
      'an expired token',
      { kind: 'answer', status: 400, body: '<Error><Code>ExpiredToken</Code><Message>expired</Message></Error>' },
      77,
      's3_credentials',
    ],
    [
      'a server that stays unavailable',
      { kind: 'answer', status: 503, body: '<Error><Code>SlowDown</Code><Message>slow</Message></Error>' },
      74,
      'input_read_failed',
    ],
    ['a server that is not there', { kind: 'reset' }, 74, 'input_read_failed'],
    ['something that is no S3', { kind: 'answer', status: 418, body: '<html>teapot</html>' }, 65, 'input_unreadable'],
  ])('%s', async (_what, fault, exitCode, code) => {
    const proxy = await FaultProxy.start(server['endpoint'] ?? '');
    try {
      proxy.faultFor = () => fault;
      const broken = sourceOn({ client: clientOf(server, proxy.url), retryPolicy: QUICK });
      expect(await codeOf(broken.find(at('one.csv'), false, {}))).toMatchObject({ exitCode, code });
    } finally {
      await proxy.stop();
    }
  });
});
