/** A provider that promises its answers and does not give them in time. */
import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { freeDatabase } from '../ledger/shared.ts';
import { describeWith } from '../services/needed.ts';
import { schemaFaults } from '../support/report-schema.ts';
import { makeFolder } from '../support/world.ts';
import { keys, rowsOf, RUN, start, writeJob, writePeople } from './jobs.ts';
import { startPromises } from './stand-ins/promises.ts';

const PEOPLE = 5;
const RETRY = ['retry', 'job.yaml', '--progress', 'none'] as const;
const env = { env: keys('late') };

const ANSWERS = { pending: 'status = 202', match: 'status = 200 and $exists(body.person)', miss: 'status = 200' };
const VERDICT = { email: 'body.person.email', result: "'deliverable'" };

/** A job of one step at a provider that is asked at most a second for each promise. */
async function lateJob(
  step: 'enrich' | 'verify',
  settings: object = {},
  job: object = {},
  { people = PEOPLE, operation: own = {} }: { people?: number; operation?: { poll?: object; credits?: string } } = {},
) {
  const folder = await makeFolder();
  const late = await start<NonNullable<Parameters<typeof startPromises>[0]>>(startPromises, { notYet: 0 });
  const operation = {
    keys: ['email'],
    request: { method: 'POST', path: '/lookups', body: { email: 'email' } },
    answers: ANSWERS,
    record: step === 'verify' ? VERDICT : { email: 'body.person.email', title: 'body.person.title' },
    credits: 'body.credits',
    ...own,
    poll: {
      ticket: 'body.ticket',
      request: { method: 'GET', path: '/lookups/{ticket}' },
      everySeconds: 0.1,
      longestSeconds: 1,
      ...own.poll,
    },
  };
  const vendor = { name: 'late', baseUrl: late.url, authentication: { bearer: true }, operations: { [step]: operation } };
  await Promise.all([
    writeFile(folder.at('late.yaml'), JSON.stringify(vendor)),
    writePeople(folder, people),
    writeJob(folder, { providers: { late: { use: './late.yaml', ...settings } }, ...job, steps: [{ [step]: { from: ['late'] } }] }),
  ]);
  const errors = async (): Promise<string[]> =>
    (await folder.read('out.csv.errors.jsonl'))
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => (JSON.parse(line) as { code: string }).code);
  return { folder, late, errors };
}

test.each(['enrich', 'verify'] as const)(
  'a retry of %s asks for late answers with their tickets, and pays for none again',
  async (step) => {
    const { folder, late, errors } = await lateJob(step);
    late.hook = ({ method }) => (method === 'GET' ? { status: 202, body: {} } : null);
    await folder.run(RUN, env);
    expect(await errors()).toEqual(Array.from({ length: PEOPLE }, () => 'still_pending'));
    expect(late.counts.charged).toBe(PEOPLE);
    // Again too late: the tickets are kept.
    await folder.run(RETRY, env);
    expect(await errors()).toEqual(Array.from({ length: PEOPLE }, () => 'still_pending'));
    late.hook = null;
    expect(await folder.run(RETRY, env)).toMatchObject({ code: 0 });
    expect((await rowsOf(folder)).map((row) => row['result.outcome'])).toEqual(Array.from({ length: PEOPLE }, () => 'matched'));
    expect(late.counts.charged).toBe(PEOPLE);
  },
);

const matched = Array.from({ length: PEOPLE }, () => 'matched');

test('a skipped provider keeps its promises: a retry asks with their tickets, and so does another job on the same ledger', async () => {
  const ledger = { uri: 'answers.ledger', maxAgeDays: 30 };
  const { folder, late } = await lateJob(
    'enrich',
    { onUnavailable: 'skip' },
    { ledger, limits: { maxErrors: '100%', maxOutageMs: 1_000, maxCredits: PEOPLE } },
  );
  late.hook = ({ method }) => (method === 'GET' ? { status: 503, body: {} } : null);
  await folder.run(RUN, env);
  // A slow machine may use up the attempts of a lookup before the outage is noticed.
  const failed = expect.stringMatching(/^(?:unavailable|still_pending)$/) as string;
  expect((await rowsOf(folder)).map((row) => row['result.error'])).toEqual(matched.map(() => failed));
  expect(late.counts.charged).toBe(PEOPLE);
  late.hook = null;
  expect(await folder.run([...RUN, '--name', 'another', '--output', 'another.csv'], env)).toMatchObject({ code: 0 });
  expect((await rowsOf(folder, 'another.csv')).map((row) => row['result.outcome'])).toEqual(matched);
  expect(await folder.run(RETRY, env)).toMatchObject({ code: 0 });
  expect((await rowsOf(folder)).map((row) => row['result.outcome'])).toEqual(matched);
  expect(late.counts.charged).toBe(PEOPLE);
});

test('every promise is durable before more is submitted: a kill makes nobody pay for one again', async () => {
  const { folder, late } = await lateJob('enrich', { concurrency: 2 }, { checkpoint: { everyMs: 60_000 } });
  late.hook = ({ method }) => (method === 'GET' ? { status: 202, body: {} } : null);
  const killed = folder.start(RUN, env);
  // When a person is polled, the promises of all before are known.
  await late.when(() => late.calls.filter(({ method }) => method === 'GET').length > 2 * PEOPLE);
  killed.kill('SIGKILL');
  await killed.ended;
  late.hook = null;
  expect(await folder.run(RUN, env)).toMatchObject({ code: 0 });
  expect(late.counts.charged).toBe(PEOPLE);
});

test('--fresh asks with the tickets of the run before', async () => {
  const { folder, late } = await lateJob('enrich');
  late.hook = ({ method }) => (method === 'GET' ? { status: 202, body: {} } : null);
  await folder.run(RUN, env);
  late.hook = null;
  expect(await folder.run([...RUN, '--fresh'], env)).toMatchObject({ code: 0 });
  expect((await rowsOf(folder)).map((row) => row['result.outcome'])).toEqual(matched);
  expect(late.counts.charged).toBe(PEOPLE);
});

await describeWith('redis', 'a ledger in Redis', (facts) => {
  test('has the tickets of a killed run for the pod that goes on without its file', async () => {
    const ledger = { uri: await freeDatabase(facts) };
    const { folder, late } = await lateJob('enrich', {}, { ledger });
    late.hook = ({ method }) => (method === 'GET' ? { status: 202, body: {} } : null);
    const killed = folder.start([...RUN, '--scratch', 'here'], env);
    await late.when(() => late.calls.filter(({ method }) => method === 'GET').length > 2 * PEOPLE);
    killed.kill('SIGKILL');
    await killed.ended;
    late.hook = null;
    const { stdout } = await folder.run(['plan', 'job.yaml', '--json'], env);
    expect(JSON.parse(stdout)).toMatchObject({ lookups: { promised: PEOPLE }, requests: { total: 0 }, polls: PEOPLE });
    expect(await folder.run([...RUN, '--scratch', 'there'], env)).toMatchObject({ code: 0 });
    expect((await rowsOf(folder)).map((row) => row['result.outcome'])).toEqual(matched);
    expect(late.counts.charged).toBe(PEOPLE);
  });
});

test.each([
  ['a refusal', { status: 400, body: {} }],
  ['a failure', { status: 500, body: {} }],
  ['a page that refuses', { status: 405, headers: { 'content-type': 'text/html' }, body: '<html></html>' }],
])('%s in place of each poll keeps the tickets for the retry', async (_what, reply) => {
  const { folder, late, errors } = await lateJob('enrich');
  late.hook = ({ method }) => (method === 'GET' ? reply : null);
  await folder.run(RUN, env);
  expect(await errors()).toEqual(matched.map(() => 'still_pending'));
  late.hook = null;
  expect(await folder.run(RETRY, env)).toMatchObject({ code: 0 });
  expect((await rowsOf(folder)).map((row) => row['result.outcome'])).toEqual(matched);
  expect(late.counts.charged).toBe(PEOPLE);
});

test('a ticket that the provider no longer knows is a failure and no miss, and the next retry asks anew', async () => {
  const { folder, late, errors } = await lateJob('enrich');
  late.hook = ({ method }) => (method === 'GET' ? { status: 404, body: {} } : null);
  await folder.run(RUN, env);
  expect(await errors()).toEqual(Array.from({ length: PEOPLE }, () => 'ticket_lost'));
  late.hook = null;
  expect(await folder.run(RETRY, env)).toMatchObject({ code: 0 });
  expect((await rowsOf(folder)).map((row) => row['result.outcome'])).toEqual(Array.from({ length: PEOPLE }, () => 'matched'));
  expect(late.counts.charged).toBe(2 * PEOPLE);
});

test('credits are shown as "at least" while answers are open, and exact once they are answered', async () => {
  const { folder, late } = await lateJob('enrich', {}, {}, { operation: { credits: 'status = 200 ? 1 : 0' } });
  late.hook = ({ method }) => (method === 'GET' ? { status: 202, body: {} } : null);
  await folder.run(RUN, env);
  const open = { credits: 0, creditsAtLeast: 0 };
  expect(await folder.json('out.csv.report.json')).toMatchObject({ ...open, providers: { late: open } });
  late.hook = null;
  expect(await folder.run(RETRY, env)).toMatchObject({ code: 0 });
  const report = await folder.json('out.csv.report.json');
  expect(report).toMatchObject({ credits: PEOPLE, providers: { late: { credits: PEOPLE } } });
  expect(JSON.stringify(report)).not.toContain('creditsAtLeast');
  expect(schemaFaults({ ...report, ...open })).toEqual([]);
});

test('plan counts the polls, asks nothing anew that is promised, and names the limit that would end the run', async () => {
  const ledger = { uri: 'answers.ledger', maxAgeDays: 30 };
  const { folder, late } = await lateJob('enrich', {}, { ledger });
  const plan = async (...more: string[]) => JSON.parse((await folder.run(['plan', 'job.yaml', '--json', ...more], env)).stdout) as object;
  const before = await plan('--limits.maxCredits', '3', '--max-calls', '9');
  expect(before).toMatchObject({ requests: { total: PEOPLE }, polls: PEOPLE, providers: { late: { polls: PEOPLE } } });
  expect(before).toMatchObject({
    ends: { code: 'max_calls', reason: `limits.maxCalls leaves 9 requests of ${2 * PEOPLE} that are needed` },
  });
  late.hook = ({ method }) => (method === 'GET' ? { status: 202, body: {} } : null);
  await folder.run(RUN, env);
  const after = await plan('--name', 'another', '--output', 'another.csv');
  const lookups = { unique: PEOPLE, fromLedger: 0, promised: PEOPLE };
  expect(after).toMatchObject({ lookups, requests: { total: 0 }, polls: PEOPLE, credits: { atMost: 0 } });
  expect((await folder.run(['plan', 'job.yaml', '--name', 'another', '--output', 'another.csv'], env)).stdout).toMatch(
    /already promised +5: they are asked about, and not paid for again\n(.*\n)*polls +at least 5: one for each answer/,
  );
  late.hook = null;
  expect(await folder.run([...RUN, '--name', 'another', '--output', 'another.csv'], env)).toMatchObject({ code: 0 });
  expect(late.counts.charged).toBe(PEOPLE);
});

describe('a limit of credits at a provider that names them with its answers', () => {
  const MANY = 40;
  const MOST = 10;
  const NAMED_LATE = { credits: 'status = 200 ? 1 : 0', poll: { longestSeconds: 60 } };

  test.each([
    ['of the job', {}, { limits: { maxErrors: '100%', maxCredits: MOST } }, ['--limits.maxCredits', '25']],
    ['of the provider', { maxCredits: MOST }, {}, ['--providers.late.maxCredits', '25']],
  ])('%s holds while answers are open, and after a kill, and a higher one is used up', async (_whose, settings, job, raised) => {
    const { folder, late } = await lateJob('enrich', settings, job, { people: MANY, operation: NAMED_LATE });
    const polls = (): number => late.calls.filter(({ method }) => method === 'GET').length;
    const notYet = { status: 202, body: {} };
    late.hook = ({ method }) => (method === 'GET' ? notYet : null);
    const killed = folder.start(RUN, env);
    await late.when(() => late.counts.charged >= MOST);
    // Three rounds of polls later each ticket is durable.
    const sent = polls();
    await late.when(() => polls() > sent + 3 * MOST);
    killed.kill('SIGKILL');
    await killed.ended;
    expect(late.counts.charged).toBe(MOST);
    // The next run asks for the promised answers a few times, before they come.
    const more = polls() + 2 * MOST;
    late.hook = ({ method }) => (method === 'GET' && polls() < more ? notYet : null);
    expect(await folder.run(RUN, env)).toMatchObject({ code: 77 });
    expect(late.counts.charged).toBe(MOST);
    expect(await folder.run([...RUN, ...raised], env)).toMatchObject({ code: 77 });
    expect(late.counts.charged).toBe(25);
  });
});
