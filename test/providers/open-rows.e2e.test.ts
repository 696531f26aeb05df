/** Rows that lack a field because a provider gave no answer: they are counted, listed, and mended by a retry. */
import { readFile, rm } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Report } from '../../src/job/report/report.ts';
import type { Folder } from '../support/cli.ts';
import { present } from '../../src/util/assert.ts';
import { faultyBucket } from '../s3/faulty-bucket.ts';
import { describeWith } from '../services/needed.ts';
import { makeFolder } from '../support/world.ts';
import { checkpoint, definition, keys, run, start, writeJob, writePeople, type ProviderJob } from './jobs.ts';
import { startPeopleDataLabs } from './stand-ins/people-data-labs.ts';
import { startPromises } from './stand-ins/promises.ts';
import type { StandIn, StandInOptions } from './stand-ins/stand-in.ts';

const RECORDS = 120;
/** The first vendor has no title of every third person. */
const LACKING = RECORDS / 3;
const FIELDS: NonNullable<StandInOptions['fields']> = (person, i) => Object.keys(person).filter((name) => name !== 'title' || i % 3 !== 0);

interface Two {
  readonly folder: Folder;
  readonly first: StandIn;
  readonly second: StandIn;
  readonly job: ProviderJob;
}

/** A job over two vendors. The second has every field, and is asked for what the first lacks. */
async function two(output = 'out.csv', settings: Readonly<Record<string, unknown>> = {}): Promise<Two> {
  const folder = await makeFolder();
  const vendors = [await start(startPeopleDataLabs, { fields: FIELDS }), await start(startPeopleDataLabs)] as const;
  const job: ProviderJob = {
    providers: {
      first: { use: definition('person'), baseUrl: `${vendors[0].url}/v5`, concurrency: 4 },
      second: { use: definition('person'), baseUrl: `${vendors[1].url}/v5`, concurrency: 4, onUnavailable: 'skip', ...settings },
    },
    steps: [{ enrich: { from: ['first', 'second'], until: ['name', 'title'] } }],
    output: { uri: output },
    limits: { maxErrors: 0, maxOutageMs: 300 },
  };
  await Promise.all([writePeople(folder, RECORDS), writeJob(folder, job)]);
  return { folder, first: vendors[0], second: vendors[1], job };
}

const command = (folder: Folder, name: string): ReturnType<Folder['run']> =>
  folder.run([name, 'job.yaml', ...(name === 'status' ? [] : ['--progress', 'log'])], { env: keys('first', 'second') });

const reportOf = async (folder: Folder, output = 'out.csv'): Promise<Report> =>
  (await folder.json(`${output}.report.json`)) as unknown as Report;

interface Line {
  readonly line: number;
  readonly outcome: string;
  readonly steps: readonly { readonly missing: readonly string[]; readonly providers: readonly object[] }[];
}

async function openLines(folder: Folder, output = 'out.csv'): Promise<Line[]> {
  const text = await folder.read(`${output}.open.jsonl`).catch(() => '');
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]));
}

/** The rows, and what the report says that a run without an outage would say too. */
async function resultOf(folder: Folder, output: string): Promise<unknown> {
  const { records, verification, providers = {}, open = 0, duplicateLookups } = await reportOf(folder, output);
  const bytes = await readFile(folder.at(output));
  const steps = Object.entries(providers).map(([name, { steps: all }]) => {
    const { credits: _, creditsPerRow: __, ...counts } = present(all.enrich, 'it is asked');
    return [name, counts];
  });
  return {
    rows: (output.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString(),
    records,
    verification,
    steps,
    open,
    duplicateLookups,
  };
}

/** The job without the limits of its second provider. */
function calmed(job: ProviderJob): ProviderJob {
  const { maxCredits: _, ...second } = job.providers['second'] ?? {};
  return { ...job, providers: { ...job.providers, second } };
}

const WAYS: readonly {
  readonly name: string;
  readonly output: string;
  readonly code: string;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly begin?: (second: StandIn) => void;
}[] = [
  { name: 'is down', output: 'out.csv', code: 'unavailable', begin: (second) => second.setDown(true) },
  {
    name: 'has no credits left',
    output: 'out.jsonl.gz',
    code: 'unavailable',
    begin: (second) => {
      second.hook = ({ number }) => (number > 10 ? { status: 402, body: {} } : null);
    },
  },
  { name: 'has reached its maxCredits', output: 'out.csv.gz', code: 'unavailable', settings: { maxCredits: 10 } },
  {
    name: 'refuses some',
    output: 'out.parquet',
    code: 'http_422',
    begin: (second) => {
      second.hook = ({ number }) => (number % 2 === 0 ? { status: 422, body: {} } : null);
    },
  },
  {
    name: 'answers in a form that no rule takes',
    output: 'out.csv',
    code: 'bad_shape',
    begin: (second) => {
      second.hook = ({ number }) => (number % 2 === 0 ? { status: 200, body: { status: 'maintenance' } } : null);
    },
  },
];

test.each(WAYS)(
  'a retry mends the rows that lack a field because the second provider $name, as a run without that would have written them',
  async ({ output, code, settings, begin }) => {
    const calm = await two(output);
    expect(await run(calm.folder, calm.job)).toMatchObject({ code: 0 });
    const { folder, first, second, job } = await two(output, settings);
    begin?.(second);
    expect((await command(folder, 'run')).code).toBe(0);
    expect((await command(folder, 'status')).stdout).toMatch(/^open +\d+ +lack a field/m);
    expect((await folder.run(['jobs'])).stdout).toMatch(/ failed +open +credits /);
    const before = await reportOf(folder, output);
    const lines = await openLines(folder, output);
    expect(before).toMatchObject({ records: { total: RECORDS, matched: RECORDS, failed: 0 }, open: lines.length });
    expect(before.files).toMatchObject({ errors: null, open: `${output}.open.jsonl` });
    expect(lines.length).toBeGreaterThanOrEqual(LACKING / 2);
    expect(lines.length).toBeLessThanOrEqual(LACKING);
    const provider = { name: 'second', end: code === 'unavailable' ? 'unavailable' : 'failed', code };
    for (const { outcome, steps } of lines)
      expect([outcome, steps]).toEqual([
        'matched',
        [
          {
            step: 'enrich',
            key: expect.any(String),
            missing: ['title'],
            providers: [{ name: 'first', end: 'matched', fields: 3 }, provider],
          },
        ],
      ]);

    second.hook = null;
    second.setDown(false);
    await writeJob(folder, calmed(job));
    const [asked, askedFirst] = [second.counts.requests, first.counts.requests];
    const retried = await command(folder, 'retry');
    expect(retried).toMatchObject({ code: 0, stderr: expect.stringMatching(`retrying: ${lines.length} lack a field`) });
    // The missing provider alone, once for each open row.
    expect([second.counts.requests - asked, first.counts.requests - askedFirst]).toEqual([lines.length, 0]);
    expect(await resultOf(folder, output)).toEqual(await resultOf(calm.folder, output));
    expect(await folder.files()).not.toContain(`${output}.open.jsonl`);
    expect(await command(folder, 'retry')).toMatchObject({ code: 0, stderr: expect.stringMatching('nothing is left to retry') });
  },
);

/** Answers this number of requests, and holds the others for ever. */
function holdAfter(vendor: StandIn, answered: number): void {
  const last = vendor.counts.requests + answered;
  vendor.hook = ({ number }) => (number > last ? new Promise<null>(() => undefined) : null);
}

test('a run and its retry that are killed end with the same rows, open rows and counts, and pay for nothing twice', async () => {
  const output = 'out.csv';
  const [calm, away] = [await two(output), await two(output)];
  expect((await run(calm.folder, calm.job)).code).toBe(0);
  away.second.setDown(true);
  expect((await run(away.folder, away.job)).code).toBe(0);

  const { folder, first, second, job } = await two(output);
  const killed = async (name: string, vendor: StandIn, answered: number): Promise<void> => {
    holdAfter(vendor, answered);
    const { requests } = vendor.counts;
    const one = folder.start([name, 'job.yaml', '--progress', 'none'], { env: keys('first', 'second') });
    await vendor.when(() => vendor.counts.requests >= requests + answered + 4);
    // The answers before are durable with the second checkpoint from now on.
    for (let saved = 0, last = ''; saved < 3;) {
      const { updatedAt } = await checkpoint(folder);
      if (updatedAt !== last) saved++;
      last = updatedAt;
      await nextTurn();
    }
    one.kill('SIGKILL');
    await one.ended;
    vendor.hook = null;
  };
  second.setDown(true);
  await killed('run', first, RECORDS / 2);
  expect((await run(folder, job)).code).toBe(0);
  expect(await folder.read(`${output}.open.jsonl`)).toBe(await away.folder.read(`${output}.open.jsonl`));
  expect((await reportOf(folder)).open).toBe(LACKING);

  second.setDown(false);
  await killed('retry', second, LACKING / 4);
  await killed('retry', second, LACKING / 4);
  expect((await command(folder, 'status')).stdout).toContain(`retrying: ${LACKING} lack a field`);
  expect((await command(folder, 'retry')).code).toBe(0);
  expect(await resultOf(folder, output)).toEqual(await resultOf(calm.folder, output));
  expect([first, second].flatMap(({ paidFor }) => [...paidFor.values()]).filter((times) => times > 1)).toEqual([]);
});

test('rows stay open, and keep their lines, when the provider is away at the retry too', async () => {
  const { folder, first, second, job } = await two();
  second.setDown(true);
  expect((await run(folder, job)).code).toBe(0);
  const before = [await folder.read('out.csv'), await folder.read('out.csv.open.jsonl'), first.counts.requests];
  expect((await command(folder, 'retry')).code).toBe(0);
  expect([await folder.read('out.csv'), await folder.read('out.csv.open.jsonl'), first.counts.requests]).toEqual(before);
  expect((await reportOf(folder)).open).toBe(LACKING);
});

test('a retry without the ledger keeps a row that would lose by it', async () => {
  const { folder, first, second, job } = await two();
  second.setDown(true);
  expect((await run(folder, job)).code).toBe(0);
  const before = await folder.read('out.csv');
  await Promise.all((await folder.files()).filter((name) => name.includes('.ledger')).map((name) => rm(folder.at(name))));
  second.setDown(false);
  first.hook = () => ({ status: 422, body: {} });
  second.hook = ({ number }) => (number % 2 === 0 ? { status: 404, body: { error: { type: 'not_found' } } } : null);
  expect((await command(folder, 'retry')).code).toBe(0);
  const [now, open] = [(await folder.read('out.csv')).split('\n'), (await reportOf(folder)).open ?? 0];
  expect(open).toBeGreaterThan(0);
  expect(open).toBeLessThan(LACKING);
  // Each row is as it was, or has the title that it lacked.
  const changed = before.split('\n').filter((row, i) => row !== now[i]);
  expect(changed).toHaveLength(LACKING - open);
});

test('a retry asks for the verdict of a provider that was skipped where the others said unknown', async () => {
  const verifying = async (
    isAway: boolean,
  ): Promise<{ readonly folder: Folder; readonly vendors: readonly StandIn[]; readonly result: () => Promise<unknown> }> => {
    const folder = await makeFolder();
    const vendors = [
      await start(startPromises, { knows: (_person: unknown, i: number) => i % 4 !== 0 }),
      await start(startPromises),
    ] as const;
    const job: ProviderJob = {
      providers: {
        first: { use: definition('promises'), baseUrl: vendors[0].url },
        second: { use: definition('promises'), baseUrl: vendors[1].url, onUnavailable: 'skip' },
      },
      steps: [{ verify: { from: ['first', 'second'] } }],
      limits: { maxErrors: 0, maxOutageMs: 300 },
    };
    await Promise.all([writePeople(folder, RECORDS), writeJob(folder, job)]);
    vendors[1].setDown(isAway);
    expect((await run(folder, job)).code).toBe(0);
    const result = async (): Promise<unknown> => {
      const { verification, records, providers } = await reportOf(folder);
      return { rows: await folder.read('out.csv'), verification, records, asked: providers?.['second']?.steps.verify?.asked };
    };
    return { folder, vendors, result };
  };
  const [calm, away] = [await verifying(false), await verifying(true)];
  const lines = await openLines(away.folder);
  expect(lines.map(({ steps }) => steps)).toEqual(lines.map(() => [expect.objectContaining({ step: 'verify', missing: ['result'] })]));
  const [, second] = away.vendors;
  second?.setDown(false);
  const asked = away.vendors.map(({ counts }) => counts.lookups);
  expect((await command(away.folder, 'retry')).code).toBe(0);
  expect(away.vendors.map(({ counts }, i) => counts.lookups - (asked[i] ?? 0))).toEqual([0, lines.length]);
  expect(await away.result()).toEqual(await calm.result());
});

test.each(['out.csv', 'out.csv.gz'])('the open rows of shards are joined, and a retry mends them: %s', async (output) => {
  const [calm, away, shards] = [await two(output), await two(output), await two(output)];
  expect((await run(calm.folder, calm.job)).code).toBe(0);
  away.second.setDown(true);
  expect((await run(away.folder, away.job)).code).toBe(0);
  shards.second.setDown(true);
  const { folder, first, second, job } = shards;
  for (const index of [0, 1, 2]) expect((await run(folder, job, ['--shard', `${index}/3`])).code).toBe(0);
  for (const name of [output, `${output}.open.jsonl`])
    expect((await readFile(folder.at(name))).equals(await readFile(away.folder.at(name)))).toBe(true);
  expect((await reportOf(folder, output)).open).toBe(LACKING);
  expect((await folder.files()).filter((name) => name.includes('shard-'))).toEqual([]);
  second.setDown(false);
  const asked = [first.counts.requests, second.counts.requests];
  expect((await command(folder, 'retry')).code).toBe(0);
  expect([first.counts.requests, second.counts.requests]).toEqual([asked[0], (asked[1] ?? 0) + LACKING]);
  expect((await readFile(folder.at(output))).equals(await readFile(calm.folder.at(output)))).toBe(true);
});

await describeWith('s3', 'open rows in S3', async (server) => {
  const { bucket, env, at } = await faultyBucket(server);
  const text = async (name: string): Promise<string> => String(await bucket.get(name));

  test('lie beside the output, and a retry reads them there', async () => {
    const [calm, away] = [await two(), await two()];
    expect((await run(calm.folder, calm.job)).code).toBe(0);
    away.second.setDown(true);
    const { folder, second, job } = away;
    await writeJob(folder, { ...job, output: { uri: at('out.csv') }, ledger: { uri: 'ledger' } });
    const inS3 = (name: string): ReturnType<Folder['run']> =>
      folder.run([name, 'job.yaml', '--progress', 'none'], { env: { ...keys('first', 'second'), ...env } });
    expect((await inS3('run')).code).toBe(0);
    expect((await text('out.csv.open.jsonl')).match(/\n/g)).toHaveLength(LACKING);
    second.setDown(false);
    expect((await inS3('retry')).code).toBe(0);
    expect(await text('out.csv')).toBe(await calm.folder.read('out.csv'));
    expect((await bucket.names('')).filter((name) => /open|partial/.test(name))).toEqual([]);
  });
});
