/** Jobs of which one provider stays away, refuses, or has given all that it may. */
import { expect, test } from 'vitest';
import type { Checkpoint } from '../../src/checkpoint/checkpoint-file.ts';
import type { Ended, Folder } from '../support/cli.ts';
import { makeFolder } from '../support/world.ts';
import {
  checkpoint,
  definition,
  keys,
  rowsOf,
  run,
  start,
  writeJob,
  writePeople,
  type ProviderJob,
  type ProviderSettings,
} from './jobs.ts';
import { startPeopleDataLabs } from './stand-ins/people-data-labs.ts';
import type { StandIn, StandInOptions } from './stand-ins/stand-in.ts';

const RECORDS = 120;

interface Two {
  readonly folder: Folder;
  readonly first: StandIn;
  readonly second: StandIn;
  readonly job: (settings: ProviderSettings, more?: Readonly<Record<string, unknown>>) => ProviderJob;
  readonly run: (settings: ProviderSettings, more?: Readonly<Record<string, unknown>>) => Promise<Ended>;
}

/** Two vendors: the first knows two of three people, the second the rest. */
async function two(options: StandInOptions = {}): Promise<Two> {
  const folder = await makeFolder();
  const first = await start(startPeopleDataLabs, { knows: (_person: unknown, i: number) => i % 3 !== 0, ...options });
  const second = await start(startPeopleDataLabs, { knows: (_person: unknown, i: number) => i % 3 === 0 });
  await writePeople(folder, RECORDS);
  const job: Two['job'] = (settings, more = {}) => ({
    providers: {
      first: { use: definition('person'), baseUrl: `${first.url}/v5`, concurrency: 4, ...settings },
      second: { use: definition('person'), baseUrl: `${second.url}/v5`, concurrency: 4 },
    },
    steps: [{ enrich: { from: ['first', 'second'] } }],
    limits: { maxErrors: '100%', maxOutageMs: 300 },
    ...more,
  });
  return {
    folder,
    first,
    second,
    job,
    run: async (settings, more) => {
      await writeJob(folder, job(settings, more));
      return run(folder, job(settings, more));
    },
  };
}

/** A provider goes away in each of these ways; `asked` is the number of its calls that may have a result. */
const WAYS: readonly {
  readonly name: string;
  readonly options?: StandInOptions;
  readonly settings?: ProviderSettings;
  readonly begin?: (first: StandIn) => void;
  readonly end?: (first: StandIn) => void;
  readonly code: number;
  readonly said: RegExp;
  readonly lookups: number;
}[] = [
  {
    name: 'is down from the start',
    begin: (first) => first.setDown(true),
    end: (first) => first.setDown(false),
    code: 69,
    said: /first: the service has been unavailable for/,
    lookups: 0,
  },
  {
    name: 'goes down in the middle',
    begin: (first) => {
      first.hook = ({ number }) => {
        if (number < 50) return null;
        first.setDown(true);
        return { status: 500, body: {} };
      };
    },
    end: (first) => {
      first.hook = null;
      first.setDown(false);
    },
    code: 69,
    said: /first: the service has been unavailable for/,
    lookups: 49,
  },
  {
    name: 'has no credits left',
    options: { credits: 20 },
    code: 77,
    said: /first: the service says that the credits are used up \(402 payment_required/,
    lookups: 30,
  },
  {
    name: 'has used up its day',
    options: { windows: [{ name: 'day', limit: 30 }] },
    settings: { windows: ['30/day'] },
    code: 69,
    said: /first: the quota of 30 requests a day is used up until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/,
    lookups: 30,
  },
  {
    name: 'has reached its maxCredits',
    settings: { maxCredits: 25 },
    code: 77,
    said: /first: providers\.first\.maxCredits is reached: 25 of 25 credits are spent/,
    lookups: 37,
  },
];

test.each(WAYS)('a job ends when a provider $name', async ({ options = {}, settings = {}, begin, code, said, lookups }) => {
  const { first, run: runWith } = await two(options);
  begin?.(first);
  const ended = await runWith(settings);
  expect(ended).toMatchObject({ code, stderr: expect.stringMatching(said) });
  expect(first.counts.lookups).toBe(lookups);
  expect(first.counts.refused429).toBe(0);
});

test.each(WAYS)(
  'with onUnavailable: skip, a job goes on when a provider $name, and a retry asks for the rest',
  async ({ options = {}, settings = {}, begin, end, said, lookups }) => {
    const { folder, first, second, job, run: runWith } = await two(options);
    begin?.(first);
    const ended = await runWith({ ...settings, onUnavailable: 'skip' });
    expect(ended).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(new RegExp(`${said.source}.*the run goes on without this provider`)),
    });
    expect(first.counts).toMatchObject({ lookups, refused429: 0 });
    const { tally, providers } = await saved(folder);
    expect(providers?.['first']?.skipped).toMatch(/./);
    const { asked = 0, matched = 0, missed = 0, unavailable = 0, failed } = tally.providers?.enrich?.['first'] ?? {};
    expect([asked, failed, matched + missed + unavailable]).toEqual([RECORDS, 0, RECORDS]);
    expect(unavailable).toBeGreaterThanOrEqual(RECORDS - lookups);
    // The second knows its 40 records all the same. Records that both miss are settled, and those of the first alone are not.
    expect(tally.outcomes.matched).toBe(RECORDS / 3 + matched);
    expect(second.counts.lookups).toBe(RECORDS - matched);
    expect((await rowsOf(folder)).filter((row) => row['enrich.source'] === 'second' && row['enrich.name'] !== '')).toHaveLength(0);

    if (end === undefined) return;
    end(first);
    const [before, beforeSecond] = [first.counts.lookups, second.counts.lookups];
    await writeJob(folder, job({ onUnavailable: 'skip' }));
    expect(await folder.run(['retry', 'job.yaml', '--progress', 'none'], { env: keys('first', 'second') })).toMatchObject({ code: 0 });
    // Only what has failed: not the rows that the second has filled.
    expect(first.counts.lookups - before).toBe(tally.outcomes.failed);
    expect(second.counts.lookups).toBe(beforeSecond);
    expect((await saved(folder)).tally.outcomes).toMatchObject({ matched: RECORDS, failed: 0 });
    expect([...first.paidFor.values(), ...second.paidFor.values()].filter((times) => times > 1)).toEqual([]);
  },
);

test.each(['wait', 'skip'])('limits.maxCredits ends the job by its own name, whatever a provider may do without it (%s)', async (how) => {
  const { folder, first, second, run: runWith } = await two();
  const ended = await runWith({ onUnavailable: how }, { limits: { maxCredits: 30 } });
  expect(ended).toMatchObject({
    code: 77,
    stderr: expect.stringMatching(/^millrace: limits\.maxCredits is reached: 30 of 30 credits are spent\n/),
  });
  expect(first.counts.charged + second.counts.charged).toBe(30);
  expect((await saved(folder)).providers?.['first']?.skipped).toBeNull();
});

test('a wrong key ends the job with the name of its variable, also for a provider that may be skipped', async () => {
  const { first, second, run: runWith } = await two({ apiKey: 'another' });
  expect(await runWith({ onUnavailable: 'skip' })).toMatchObject({
    code: 77,
    stderr: expect.stringMatching(
      /first: the service refused the API key \(401 .*\n +Set MILLRACE_FIRST_API_KEY or MILLRACE_FIRST_API_KEY_FILE /,
    ),
  });
  expect([first.counts.charged, second.counts.requests]).toEqual([0, 0]);
});

test('a page of another server ends the job with the setting that names the address', async () => {
  const { first, run: runWith } = await two();
  first.hook = () => ({ status: 404, headers: { 'content-type': 'text/html' }, body: '<html><body>Not Found</body></html>' });
  const { code, stderr } = await runWith({ onUnavailable: 'skip' });
  expect(code).toBe(78);
  expect(stderr).toMatch(
    /^millrace: first: this does not look like this provider: GET .* answered 404\n +Check providers\.first\.baseUrl: /,
  );
  // Only the specification's service has its paths below /v1.
  expect(stderr).not.toContain('/v1');
});

async function saved(folder: Folder): Promise<Pick<Checkpoint, 'providers'> & { readonly tally: Checkpoint['mark']['tally'] }> {
  const { mark, providers } = await checkpoint(folder);
  return { tally: mark.tally, ...(providers === undefined ? {} : { providers }) };
}
