/** The objects of a ledger in S3: a few segments that only grow. Objects of other programs are refused. */
import { gzipSync } from 'node:zlib';
import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import * as fc from '../support/fast-check.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { LedgerAnswer } from '../../src/ledger/ledger.ts';
import type { SharedAnswer } from '../../src/ledger/options.ts';
import type { LedgerLocation } from '../../src/definition/ledger-location.ts';
import { packAnswers, unpackAnswers, type RunAnswers } from '../../src/ledger/s3/segment.ts';
import { S3Contents } from '../../src/ledger/s3/s3-contents.ts';
import { Segments } from '../../src/ledger/s3/segments.ts';
import { SegmentSeries } from '../../src/ledger/s3/series.ts';
import { clientOf, makeBucket } from '../s3/bucket.ts';
import { FaultProxy } from '../services/fault-proxy.ts';
import { describeWith } from '../services/needed.ts';
import { QUICK, s3Site, START, type Site } from './shared.ts';

const HIT = { kind: 'hit', text: '{"name":"Ada"}' } as const;
const text = fc.string({ unit: 'grapheme', maxLength: 12 });
const answer: fc.Arbitrary<LedgerAnswer> = fc.oneof(
  text.map((value): LedgerAnswer => ({ kind: 'hit', text: JSON.stringify(value) })),
  text.map((value): LedgerAnswer => ({ kind: 'unsettled', text: JSON.stringify(value) })),
  fc.constantFrom<LedgerAnswer>({ kind: 'miss' }, { kind: 'suppressed' }),
  fc.record({ kind: fc.constant('failed' as const), code: text, attempts: fc.nat(9), requestId: fc.option(text) }),
);
const part: fc.Arbitrary<RunAnswers> = fc
  .tuple(text, text, fc.array(fc.tuple(fc.tuple(text, text, text), text, fc.nat(), answer), { maxLength: 20 }), fc.option(text))
  .map(([job, run, answers, spent]) => ({
    job,
    run,
    totals: { lookups: answers.length, reused: 1, lastAt: 7 },
    // Segments of older versions have none.
    ...(spent === null ? {} : { spent }),
    answers: answers.map(([scope, key, at, one]): SharedAnswer => ({ scope, key, at, job, run, answer: one })),
  }));

describe('a segment', () => {
  it('returns its parts unchanged, also when parts are appended to it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 4 }), async (parts) => {
        const packed = await Promise.all(parts.map(async (one) => (await packAnswers(one)).packed));
        expect(await unpackAnswers(Buffer.concat(packed), 's3://b/l')).toEqual(parts);
        expect(await unpackAnswers(Buffer.concat(packed.slice(1)), 's3://b/l')).toEqual(parts.slice(1));
      }),
      { numRuns: 50 },
    );
  });

  it.each([
    ['not a gzip archive', Buffer.from('a text')],
    ['cut off', gzipSync('{"v":1}\n').subarray(0, 15)],
    ['not JSON', gzipSync('a text\n')],
    ['a list of answers without a header', gzipSync('[0,"k",1,0,"{}"]\n')],
    [
      'an answer of an unknown scope',
      gzipSync('{"v":1,"job":"j","run":"r","lookups":0,"reused":0,"lastAt":0,"scopes":[]}\n[3,"k",1,0,"{}"]\n'),
    ],
    ['from a newer version', gzipSync('{"v":9,"job":"j","run":"r","lookups":0,"reused":0,"lastAt":0,"scopes":[]}\n')],
    ['larger than the limit', gzipSync(Buffer.alloc(97 * 1024 * 1024))],
  ])('reading ends with 74 and names the object when it is %s', async (_name, bytes) => {
    await expect(unpackAnswers(bytes, 's3://b/l/segment.gz')).rejects.toMatchObject({
      exitCode: 74,
      message: expect.stringContaining('s3://b/l/segment.gz'),
    });
  });
});

describe('a series of segments', () => {
  const some: RunAnswers = {
    job: 'j',
    run: 'r',
    totals: { lookups: 1, reused: 0, lastAt: 1 },
    answers: Array.from({ length: 100 }, (_, i) => ({ scope: ['o', 's', ''], key: `k${i}`, at: 1, job: 'j', run: 'r', answer: HIT })),
  };

  it('stays below 15 objects after 200 writes, and each write of an object begins with its earlier bytes', async () => {
    const objects = new Map<string, Buffer>();
    const series = new SegmentSeries(
      {
        write: async (name, bytes) => {
          const before = objects.get(name);
          if (before !== undefined) expect(bytes.subarray(0, before.length)).toEqual(before);
          objects.set(name, bytes);
        },
      },
      'r',
      START,
      100_000,
    );
    for (let i = 0; i < 200; i++) {
      await series.add(some);
      await series.write();
      await series.write();
    }
    const found = await Promise.all([...objects.values()].map((bytes) => unpackAnswers(bytes, 's3://b/l')));
    expect(found.flat()).toHaveLength(200);
    expect(objects.size).toBeGreaterThan(3);
    expect(objects.size).toBeLessThan(15);
    expect([...objects.keys()]).toEqual([...objects.keys()].sort());
  });
});

await describeWith('s3', 'a ledger in S3', async (server) => {
  const bucket = await makeBucket(server);
  const access = { client: clientOf(server), retryPolicy: QUICK };
  const uriOf = (place: LedgerLocation): string => ('uri' in place ? place.uri : '');
  const keyOf = (uri: string): string => uri.slice(`s3://${bucket.name}/`.length);

  it('each of two jobs writes its own segments and reads the new parts of the other’s when it starts', async () => {
    const site = s3Site(access, bucket.name);
    const open = (job: string): ReturnType<typeof site.open> => site.open({ job, run: job, machine: job, maxAgeDays: 7 });
    const a = await open('a');
    const scope = (ledger: typeof a): number => ledger.scope('o', 'enrich', '');
    for (let i = 0; i < 5; i++) {
      a.put([{ scope: scope(a), key: `a${i}`, answer: HIT }]);
      await a.keep();
      const b = await open('b');
      expect(b.get(scope(b), `a${i}`)).toEqual(HIT);
      b.put([{ scope: scope(b), key: `b${i}`, answer: HIT }]);
      await b.keep();
      await b.close();
    }
    await a.close();
    const segments = Segments.on(access, uriOf(site.place));
    const owners = (await segments.list()).segments.map(({ name }) => name[0]);
    expect([owners.length, owners.filter((owner) => owner === 'a').length]).toEqual([6, 1]);
    const again = await open('a');
    for (let i = 0; i < 5; i++) expect(again.get(scope(again), `b${i}`)).toEqual(HIT);
  });

  it('an answer whose segment was deleted is not found in a local copy either', async () => {
    const site = s3Site(access, bucket.name);
    const uri = uriOf(site.place);
    const first = await site.open();
    const scope = first.scope('o', 'enrich', '');
    first.put([{ scope, key: 'k', answer: HIT }]);
    await first.keep();
    await first.close();
    const [only] = (await Segments.on(access, uri).list()).segments;
    await access.client.send(new DeleteObjectCommand({ Bucket: bucket.name, Key: `${keyOf(uri)}/${only?.name}` }));
    const second = await site.open();
    expect(second.get(second.scope('o', 'enrich', ''), 'k')).toBeNull();
    await second.close();
  });

  it('a purge reads a segment again that a job extends meanwhile, and keeps the job’s new answers', async () => {
    const site = s3Site(access, bucket.name);
    const running = await site.open();
    const scope = running.scope('o', 'enrich', '');
    running.put([{ scope, key: 'ana@works.example', answer: HIT }]);
    await running.keep();
    const client = clientOf(server);
    let grows = true;
    client.middlewareStack.add(
      (next, { commandName }) =>
        async (args) => {
          if (commandName === 'PutObjectCommand' && grows) {
            grows = false;
            running.put([{ scope, key: 'ben@works.example', answer: HIT }]);
            await running.keep();
          }
          return next(args);
        },
      { step: 'initialize' },
    );
    const contents = new S3Contents(Segments.on({ client, retryPolicy: QUICK }, uriOf(site.place)));
    expect(await contents.purge({ email: 'ana@works.example', before: null })).toMatchObject({ answers: 1 });
    await running.close();
    const segments = Segments.on(access, uriOf(site.place));
    const [only] = (await segments.list()).segments;
    expect((await segments.read(only?.name ?? '', 0)).parts.flatMap(({ answers }) => answers.map(({ key }) => key))).toEqual([
      'ben@works.example',
    ]);
  });

  it('opening ends with 74 on an object that is not a segment, on refused access and on a missing bucket', async () => {
    const site = s3Site(access, bucket.name);
    await bucket.put(`${keyOf(uriOf(site.place))}/notes.txt`, 'theirs');
    await bucket.put(`${keyOf(uriOf(site.place))}/run-1/1-ab-1.gz`, 'not an archive');
    await expect(site.open()).rejects.toMatchObject({ exitCode: 74, message: expect.stringContaining('run-1/1-ab-1.gz') });
    const stranger = { client: clientOf(server, server['endpoint'], 'stranger'), retryPolicy: QUICK };
    await expect(s3Site(stranger, bucket.name).open()).rejects.toMatchObject({
      exitCode: 74,
      code: 'ledger_failed',
      message: expect.stringContaining('could not be read'),
    });
    await expect(s3Site(access, 'no-such-bucket').open()).rejects.toMatchObject({
      exitCode: 74,
      hint: expect.stringContaining('AWS_ENDPOINT_URL'),
    });
    expect(() => Segments.on(access, 's3://bucket/')).toThrow(expect.objectContaining({ exitCode: 78 }));
  });

  it('a read or write that stalls is aborted and retried, and ends with 74 when all attempts stall', async () => {
    const proxy = await FaultProxy.start(server['endpoint'] ?? '');
    onTestFinished(() => proxy.stop());
    // Generous limits for a busy machine: only a hanging request may use up the attempts.
    const through = (attempts: number, idleMs: number): Site =>
      s3Site({ client: clientOf(server, proxy.url), retryPolicy: { ...QUICK, attempts, idleMs } }, bucket.name);
    let left = 1;
    proxy.faultFor = () => (left-- > 0 ? { kind: 'hang' } : null);
    const site = through(20, 1_000);
    const ledger = await site.open();
    ledger.put([{ scope: ledger.scope('o', 'enrich', ''), key: 'k', answer: HIT }]);
    left = 1;
    await ledger.keep();
    await ledger.close();
    left = 1;
    const elsewhere = await site.open({ machine: 'two' });
    expect(elsewhere.get(elsewhere.scope('o', 'enrich', ''), 'k')).toEqual(HIT);
    left = Infinity;
    await expect(through(2, 300).open()).rejects.toMatchObject({
      exitCode: 74,
      message: expect.stringContaining('nothing came for 0.3 s'),
    });
  });

  it('a run ends after a failed write, and the next run on that machine sends its answers to S3', async () => {
    let down = false;
    const flaky = {
      ...access,
      client: new Proxy(access.client, {
        get: (client, name) => (name === 'send' && down ? () => Promise.reject(new Error('no route')) : Reflect.get(client, name, client)),
      }),
    };
    const site = s3Site(flaky, bucket.name);
    const ledger = await site.open();
    ledger.put([{ scope: ledger.scope('o', 'enrich', ''), key: 'k', answer: HIT }]);
    down = true;
    await expect(ledger.keep()).rejects.toMatchObject({ exitCode: 74 });
    down = false;
    await expect(ledger.keep()).rejects.toMatchObject({ exitCode: 74 });
    await ledger.close();
    await (await site.open()).close();
    const elsewhere = await site.open({ machine: 'two' });
    expect(elsewhere.get(elsewhere.scope('o', 'enrich', ''), 'k')).toEqual(HIT);
  });
});
