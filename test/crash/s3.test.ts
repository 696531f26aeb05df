/** Jobs in S3, killed and paused around each request that changes something there. */
import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { makeBucket } from '../s3/bucket.ts';
import { FaultProxy, type Relayed } from '../services/fault-proxy.ts';
import { describeWith } from '../services/needed.ts';
import { csvJob, type Job } from '../support/crash-jobs.ts';
import { leads } from '../support/leads.ts';
import { standsStill } from '../support/paused-run.ts';
import { sampleOf } from '../support/sample.ts';
import {
  changes,
  durableIn,
  killedAt,
  killStepByStep,
  objects,
  putInput,
  resultIn,
  s3Args,
  start,
  type S3Site,
} from '../support/s3-job.ts';
import { makeFolder, startService } from '../support/world.ts';
import { expectSameRequests, undisturbed } from './crashed-job.ts';
import { SEED } from '../support/seed.ts';

/** Takes all moments, in all tests. */
const SWEEP = process.env['EVERY_CASE'] === '1';
const STRIDE = SWEEP ? 1 : 5;
const ROWS = leads(60, SEED % 1_000);
const JOB = csvJob(ROWS);
/** A few wide rows. Two shards write parts of more than 5 MiB from them, which S3 copies. */
const WIDE_ROWS = leads(40, SEED % 1_000).map(({ cells: [name = '', email = '', website = ''], key }) => ({
  cells: [name, email, website, 'x'.repeat(300_000)],
  key,
}));
const WIDE = csvJob(WIDE_ROWS, { 'checkpoint.everyMs': '60000' });
/** The same job on other input. */
const OTHER = csvJob(leads(50, (SEED + 1) % 1_000));
const LONG_TIMEOUT = { timeout: 300_000 };
/** The files of a finished job. */
const LEFT = ['out.csv', 'out.csv.checkpoint.json', 'out.csv.errors.jsonl', 'out.csv.report.html', 'out.csv.report.json'];

await describeWith('s3', `in S3 (SEED=${SEED})`, async (server) => {
  const bucket = await makeBucket(server);
  const [proxy, other] = [await FaultProxy.start(server['endpoint'] ?? ''), await FaultProxy.start(server['endpoint'] ?? '')];
  /** The result of the same job on a disk. */
  let made: Promise<unknown> | null = null;
  const expected = (): Promise<unknown> => (made ??= undisturbed(JOB, ROWS));
  let madeWide: ReturnType<typeof undisturbed> | null = null;
  const expectedWide = (): ReturnType<typeof undisturbed> => (madeWide ??= undisturbed(WIDE, WIDE_ROWS));
  afterAll(() => Promise.all([proxy.stop(), other.stop()]));

  async function prepare(job = JOB): Promise<S3Site> {
    const [folder, service] = await Promise.all([makeFolder(), startService()]);
    const site = { server, bucket, proxy, folder, service, prefix: `${randomUUID()}/` };
    await putInput(site, job);
    return site;
  }

  async function expectUnharmed(site: S3Site): Promise<void> {
    await expectNothingLeft(site, JOB);
    expect(await resultIn(site, JOB)).toEqual(await expected());
    expectSameRequests(site.service);
  }

  async function expectNothingLeft(site: S3Site, job: Job): Promise<void> {
    expect([[...(await objects(site, job)).keys()].sort(), await bucket.uploads()]).toEqual([LEFT, []]);
  }

  // Matches from the first object that the server assembles from parts.
  const finishing = (): ((request: Pick<Relayed, 'method' | 'url'>) => boolean) => {
    let begun = false;
    return (request) => (begun ||= request.method === 'POST' && request.url.includes('?uploads')) && changes(request);
  };

  // Matches the first checkpoint with answers of this run, which gets only a few of them.
  const counting = ({ service }: S3Site): ((request: Pick<Relayed, 'method' | 'url'>) => boolean) => {
    let [hasLedger, left] = [false, 12];
    service.script = (_asked, _response, reply, usual) => {
      if (left-- > 0) reply(usual());
    };
    return ({ method, url }) => {
      hasLedger ||= method === 'PUT' && url.includes('/ledger/');
      return hasLedger && method === 'PUT' && url.includes('/out.csv.checkpoint.json?');
    };
  };

  test.each(
    sampleOf(
      [
        {
          name: 'a few steps further than the one before, around a request that changes S3',
          of: () => changes,
          first: 1 + (SEED % STRIDE),
          stride: STRIDE,
        },
        { name: 'a step further into finishing', of: finishing, first: 1, stride: SWEEP ? 1 : 4 },
        { name: 'when its answers are in S3 and its checkpoint is on its way', of: counting, first: 1, stride: 0 },
      ],
      1,
      SEED,
    ),
  )('each run is killed $name', LONG_TIMEOUT, async ({ of, first, stride }) => {
    const site = await prepare();
    const { kills, paidTwice } = await killStepByStep(site, s3Args(site, JOB), () => of(site), first, stride);
    expect(paidTwice).toEqual([]);
    expect(kills).toBeGreaterThan(2);
    await expectUnharmed(site);
    // This checks that the answers were stored in S3.
    expect([...(await durableIn(site))].sort()).toEqual([...site.service.asked.keys()].sort());
  });

  const shard = (site: S3Site, job: Job, index: number): string[] => [...s3Args(site, job), '--shard', `${index}/2`];
  const joins = ({ method, url }: Pick<Relayed, 'method' | 'url'>): boolean => method === 'PUT' && url.includes('/out.csv.partial');
  const appears = ({ method, url }: Pick<Relayed, 'method' | 'url'>): boolean => method === 'POST' && url.includes('/out.csv?uploads');

  /** A site whose last run was killed before it joined both parts, which are too large for an upload. */
  async function killedWhereTheyJoin(at: typeof joins): Promise<S3Site> {
    const site = await prepare(WIDE);
    expect(await start(site, shard(site, WIDE, 0)).ended).toMatchObject({ code: 0, stderr: '' });
    expect(await killedAt(site, shard(site, WIDE, 1), at, 1, false)).toMatchObject({ signal: 'SIGKILL' });
    site.service.forget();
    proxy.relayed.length = 0;
    return site;
  }

  /**
   * Each shard counts a lookup that both meet. The second finds it in the ledger, or repeats it if it failed or has no verdict:
   * docs/shards.md.
   */
  const asked = (numbers: unknown): { asked: number; unsettled: number; others: object } => {
    const {
      lookups: { unique, fromLedger },
      ...others
    } = numbers as { lookups: { unique: number; fromLedger: number }; records: { failed: number }; verification: { unknown: number } };
    return { asked: unique - fromLedger, unsettled: others.records.failed + others.verification.unknown, others };
  };

  async function expectJoined(site: S3Site): Promise<void> {
    await expectNothingLeft(site, WIDE);
    const [{ bytes, errors, numbers }, wanted] = [await resultIn(site, WIDE), await expectedWide()];
    // `toEqual` would print megabytes.
    expect(bytes === wanted.bytes).toBe(true);
    const [ours, undisturbedRun] = [asked(numbers), asked(wanted.numbers)];
    expect([errors, ours.others]).toEqual([wanted.errors, undisturbedRun.others]);
    expect(ours.asked).toBeGreaterThanOrEqual(undisturbedRun.asked);
    expect(ours.asked).toBeLessThanOrEqual(undisturbedRun.asked + undisturbedRun.unsettled);
    expect(site.service.requests).toEqual([]);
    const uploads = proxy.relayed.filter(({ method, url }) => method === 'PUT' && /\/out\.csv(?:\.partial[^?]*)?\?/.test(url));
    expect(uploads.length).toBeGreaterThan(2);
    expect(uploads.reduce((sum, { sent }) => sum + sent, 0)).toBeLessThan(10_000);
  }

  test.each(
    sampleOf(
      [
        {
          name: 'where they join and then a few steps further each time: the next start of either goes on',
          at: joins,
          goOn: async (site: S3Site) =>
            expect(
              (await killStepByStep(site, shard(site, WIDE, 0), () => changes, 1 + (SEED % STRIDE), SWEEP ? 1 : 9)).kills,
            ).toBeGreaterThan(1),
        },
        {
          name: 'when all is joined but for the name: a run in one piece puts it in place before the parts go',
          at: appears,
          goOn: async (site: S3Site) => expect(await start(site, s3Args(site, WIDE)).ended).toMatchObject({ code: 0, stderr: '' }),
        },
      ],
      1,
      SEED,
    ),
  )('two shards are killed $name', LONG_TIMEOUT, async ({ at, goOn }) => {
    const site = await killedWhereTheyJoin(at);
    await goOn(site);
    await expectJoined(site);
  });

  test.runIf(SWEEP)('a part that is missing before a join publishes its file is 74, and --fresh starts over', LONG_TIMEOUT, async () => {
    const site = await killedWhereTheyJoin(appears);
    await bucket.put(`${site.prefix}out.csv.shard-0-of-2`, 'another');
    expect(await start(site, shard(site, WIDE, 1)).ended).toMatchObject({ code: 74, stderr: expect.stringContaining('--fresh') });
    for (const args of [[...shard(site, WIDE, 0), '--fresh'], shard(site, WIDE, 1)])
      expect(await start(site, args).ended).toMatchObject({ code: 0, stderr: '' });
    await expectNothingLeft(site, WIDE);
    expect((await resultIn(site, WIDE)).bytes === (await expectedWide()).bytes).toBe(true);
  });

  const USUAL: readonly [string, RegExp, number, number, boolean?][] = [
    ['a checkpoint', /^PUT .*out\.csv\.checkpoint\.json\?/, 3, 75],
    // Another night's run has replaced its output by the time that it arrives.
    ['the word that makes the output appear', /^POST .*out\.csv\?.*uploadId=/, 1, 75, true],
  ];
  const MORE: readonly [string, RegExp, number, number, boolean?][] = [
    ['a part', /^PUT .*out\.csv\.partial\.[0-9a-f]{8}\.\d+\?/, 2, 75],
    ['its first checkpoint', /^PUT .*out\.csv\.checkpoint\.json\?/, 1, 75],
    ['the word that its output is about to appear', /^PUT .*out\.csv\.partial\.[0-9a-f]{8}\.upload\?/, 2, 75],
    ['the copy of a part', /^PUT .*out\.csv\?.*partNumber=1/, 1, 75],
    ['its report', /^PUT .*out\.csv\.report\.json\?/, 1, 75],
    ['the page of its report', /^PUT .*out\.csv\.report\.html\?/, 1, 75],
    // The other run wrote the same bytes, so there is no error.
    ['its last checkpoint', /^PUT .*out\.csv\.checkpoint\.json\?/, -1, 0],
  ];

  test.each([...sampleOf(USUAL, 1, SEED), ...(SWEEP ? MORE : [])])(
    'a run paused with %s on its way, whose job another run took over, changes nothing',
    LONG_TIMEOUT,
    async (_what, pattern, nth, exit, replaced = false) => {
      const site = await prepare();
      site.service.latencyMs = 10;
      const args = s3Args(site, JOB, { concurrency: '4' });
      const held = Promise.withResolvers<void>();
      let [seen, reported] = [0, false];
      let request: Relayed | undefined;
      proxy.faultFor = (one) => {
        reported ||= /^PUT .*report\.html/.test(`${one.method} ${one.url}`);
        // The last checkpoint follows the report's page.
        if (!pattern.test(`${one.method} ${one.url}`) || (nth === -1 ? !reported : ++seen !== nth)) return null;
        proxy.faultFor = () => null;
        holder.kill('SIGSTOP');
        queueMicrotask(() => {
          request = proxy.relayed.at(-1);
        });
        return { kind: 'held', until: held.promise };
      };
      const holder = start(site, args);
      await standsStill(holder);
      expect(holder.child.exitCode).toBeNull();
      await takeOver(site, args);
      if (replaced) await runOn(site, args, OTHER);
      const before = await objects(site, JOB);
      held.resolve();
      await expect.poll(() => request?.answered).toBe(true);
      holder.kill('SIGCONT');
      const { code, stderr } = await holder.ended;
      expect({ code, stderr }).toEqual({
        code: exit,
        stderr: exit === 0 ? '' : expect.stringMatching(/^millrace: this run lost the job: /m),
      });
      // A part of its own may remain, which no checkpoint refers to.
      const after = new Map([...(await objects(site, JOB))].filter(([name]) => !/\.partial\.[0-9a-f]{8}\.(?:\d+|upload)$/.test(name)));
      expect([...after.keys()].sort()).toEqual(LEFT);
      expect([...after].filter(([name, bytes]) => before.get(name)?.equals(bytes) !== true).map(([name]) => name)).toEqual([]);
      if (replaced) return;
      await runOn(site, args, JOB);
      await expectUnharmed(site);
    },
  );

  async function runOn(site: S3Site, args: readonly string[], input: Job): Promise<void> {
    await putInput(site, input);
    expect(await start(site, args).ended).toMatchObject({ code: 0, stderr: '' });
  }

  /** Another machine sees a holder that has not renewed for a minute. */
  async function takeOver(site: S3Site, args: readonly string[]): Promise<void> {
    const lock = `${site.prefix}out.csv.checkpoint.json.lock`;
    await bucket.put(lock, JSON.stringify({ ...(JSON.parse(String(await bucket.get(lock))) as object), host: 'far-away' }));
    let aged = false as boolean;
    other.faultFor = ({ method, url, headers }) => {
      // True from the moment at which the successor takes the lock.
      aged ||= method === 'PUT' && url.includes('.lock?') && headers['if-match'] !== undefined;
      return method === 'GET' && url.includes('.lock?') && !aged ? { kind: 'aged', byMs: 60_000 } : null;
    };
    const heir = await start({ ...site, proxy: other }, args).ended;
    other.faultFor = () => null;
    expect(heir).toMatchObject({ code: 0, stderr: '' });
  }
});
