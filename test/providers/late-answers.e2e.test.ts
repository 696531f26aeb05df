/** A provider that promises its answers and does not give them in time. */
import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { freeDatabase } from '../ledger/shared.ts';
import { describeWith } from '../services/needed.ts';
import { makeFolder } from '../support/world.ts';
import { keys, rowsOf, RUN, start, writeJob, writePeople } from './jobs.ts';
import { startPromises } from './stand-ins/promises.ts';

const PEOPLE = 5;
const RETRY = ['retry', 'job.yaml', '--progress', 'none'] as const;
const env = { env: keys('late') };

const ANSWERS = { pending: 'status = 202', match: 'status = 200 and $exists(body.person)', miss: 'status = 200' };
const VERDICT = { email: 'body.person.email', result: "'deliverable'" };

/** A job of one step at a provider that is asked at most a second for each promise. */
async function lateJob(step: 'enrich' | 'verify', settings: object = {}, job: object = {}) {
  const folder = await makeFolder();
  const late = await start<NonNullable<Parameters<typeof startPromises>[0]>>(startPromises, { notYet: 0 });
  const operation = {
    keys: ['email'],
    request: { method: 'POST', path: '/lookups', body: { email: 'email' } },
    answers: ANSWERS,
    record: step === 'verify' ? VERDICT : { email: 'body.person.email', title: 'body.person.title' },
    credits: 'body.credits',
    poll: { ticket: 'body.ticket', request: { method: 'GET', path: '/lookups/{ticket}' }, everySeconds: 0.1, longestSeconds: 1 },
  };
  const vendor = { name: 'late', baseUrl: late.url, authentication: { bearer: true }, operations: { [step]: operation } };
  await Promise.all([
    writeFile(folder.at('late.yaml'), JSON.stringify(vendor)),
    writePeople(folder, PEOPLE),
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
    { ledger, limits: { maxErrors: '100%', maxOutageMs: 1_000 } },
  );
  late.hook = ({ method }) => (method === 'GET' ? { status: 503, body: {} } : null);
  await folder.run(RUN, env);
  expect((await rowsOf(folder)).map((row) => row['result.error'])).toEqual(matched.map(() => 'unavailable'));
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
    expect(await folder.run([...RUN, '--scratch', 'there'], env)).toMatchObject({ code: 0 });
    expect((await rowsOf(folder)).map((row) => row['result.outcome'])).toEqual(matched);
    expect(late.counts.charged).toBe(PEOPLE);
  });
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
