/** A job over a recorded ledger in S3 or Redis finds every answer in it, and sends nothing. */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { freeDatabase } from '../ledger/shared.ts';
import { makeBucket, s3Environment, type TestBucket } from '../s3/bucket.ts';
import { describeWith } from '../services/needed.ts';
import { expectGolden, GOLDEN, isToRecord } from './golden-file.ts';
import type { GoldenJob } from './jobs.ts';
import { PAID_JOBS } from './paid-jobs.ts';
import { loadRedis, saveRedis } from './saved-redis.ts';
import { KEYS, makeGoldenWorld, runArgs, transcript, writeGoldenJob } from './run-job.ts';
import type { Sent } from './vendors.ts';

/** The job's own ledger, and one that jobs share: another job reads it. */
const KINDS = [
  { kind: 'own', maxAgeDays: 0, reader: null },
  { kind: 'kept', maxAgeDays: 3_650, reader: 'another-job' },
] as const;
type Kind = (typeof KINDS)[number];

const SHARED_JOBS = PAID_JOBS.filter(({ name }) => ['paid-every-key', 'paid-providers-waterfall'].includes(name));
const CASES = SHARED_JOBS.flatMap((job) => KINDS.map((kind) => ({ ...kind, job, name: job.name })));

/** Runs the job with a ledger at this address. @returns its requests and rows */
async function runOver(
  job: GoldenJob,
  { maxAgeDays }: Kind,
  uri: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly sent: readonly Sent[]; readonly rows: string }> {
  const { folder, vendors } = await makeGoldenWorld();
  await writeGoldenJob(folder, job, { ledger: { uri, maxAgeDays } });
  const args = [...runArgs(job), '--scratch', folder.at('scratch')];
  const ended = await folder.start(args, { env: { ...KEYS, ...vendors.env, ...env, NO_PROXY: '127.0.0.1' } }).ended;
  expect(ended).toMatchObject({ code: 0 });
  return { sent: vendors.sent, rows: await folder.read('out.csv') };
}

/** Runs the job, or another one with the same lookups, over the recorded ledger. */
async function expectPaid(
  folder: string,
  job: GoldenJob,
  kind: Kind,
  uri: string,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { sent, rows } = await runOver({ ...job, name: kind.reader ?? job.name }, kind, uri, env);
  expect(transcript(sent)).toBe('');
  await expectGolden(`${folder}/out.csv`, rows);
}

await describeWith('redis', 'a ledger in Redis', (server) => {
  test.each(CASES)('the ledger of $name, $kind, answers its records for nothing', async ({ job, ...kind }) => {
    const folder = `ledgers/${job.name}/redis-${kind.kind}`;
    if (isToRecord(`${folder}/keys.json`)) {
      const uri = await freeDatabase(server);
      await runOver(job, kind, uri);
      await saveRedis(`${folder}/keys.json`, uri);
    }
    const uri = await freeDatabase(server);
    await loadRedis(`${folder}/keys.json`, uri);
    await expectPaid(folder, job, kind, uri);
  });
});

await describeWith('s3', 'a ledger in S3', async (server) => {
  const bucket = await makeBucket(server);
  const env = s3Environment(server);
  describe.each(CASES)('the ledger of $name, $kind,', ({ job, ...kind }) => {
    test('it answers its records for nothing', async () => {
      const folder = `ledgers/${job.name}/s3-${kind.kind}`;
      const prefix = `${job.name}-${kind.kind}`;
      if (isToRecord(`${folder}/objects`)) {
        await runOver(job, kind, `s3://${bucket.name}/recorded/${prefix}`, env);
        await saveObjects(`${folder}/objects`, bucket, `recorded/${prefix}/`);
      }
      await loadObjects(`${folder}/objects`, bucket, `loaded/${prefix}/`);
      await expectPaid(folder, job, kind, `s3://${bucket.name}/loaded/${prefix}`, env);
    });
  });
});

async function saveObjects(name: string, bucket: TestBucket, prefix: string): Promise<void> {
  await rm(join(GOLDEN, name), { recursive: true, force: true });
  for (const key of await bucket.names(prefix)) {
    const path = join(GOLDEN, name, key.slice(prefix.length));
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, (await bucket.get(key)) ?? '');
  }
}

async function loadObjects(name: string, bucket: TestBucket, prefix: string): Promise<void> {
  const from = join(GOLDEN, name);
  for (const entry of await readdir(from, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    await bucket.put(prefix + path.slice(from.length + 1), await readFile(path));
  }
}
