/** A vendor that changes the shape of its answers while a job runs. */
import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { makeFolder } from '../support/world.ts';
import { checkpoint, definition, run, start, writeJob, writePeople, type ProviderJob } from './jobs.ts';
import { startPeopleDataLabs } from './stand-ins/people-data-labs.ts';
import { startPromises } from './stand-ins/promises.ts';
import type { StandIn, StandInReply } from './stand-ins/stand-in.ts';

const RECORDS = 800;
const GOOD = 100;

/** The first answers are as they were, the others have this value in place of each job title. */
function change(standIn: StandIn, from: number, value: unknown): void {
  standIn.hook = (call, usual): StandInReply => {
    const reply = usual();
    if (call.number <= from) return reply;
    return {
      ...reply,
      body: JSON.parse(JSON.stringify(reply.body).replaceAll(/"job_title":"[^"]*"/g, `"job_title":${JSON.stringify(value)}`)),
    };
  };
}

test.each([
  { name: 'each in a request of its own', use: 'person', from: GOOD },
  { name: 'in batches', use: 'people', from: GOOD / 20 },
])('records fail with bad_shape, and after a hundred in a row the job stops and names the field: lookups $name', async ({ use, from }) => {
  const folder = await makeFolder();
  const vendor = await start(startPeopleDataLabs);
  change(vendor, from, ['Engineer', 'Founder']);
  const job: ProviderJob = {
    providers: { vendor: { use: definition(use), baseUrl: `${vendor.url}/v5`, concurrency: 2 } },
    steps: [{ enrich: { from: ['vendor'] } }],
  };
  await Promise.all([writePeople(folder, RECORDS), writeJob(folder, job)]);
  const { code, stderr } = await run(folder, job);
  expect(code).toBe(78);
  expect(stderr).toMatch(
    /^millrace: vendor: the last 1\d\d lookups were not answered as .*\.yaml says: .*record\.title.*expected text, got /m,
  );
  const { outcomes, errors } = (await checkpoint(folder)).mark.tally;
  expect(outcomes.matched).toBe(GOOD);
  expect(errors).toEqual({ 'enrich:bad_shape': outcomes.failed });
  // A hundred, and what was in flight beside the last of them.
  expect(vendor.counts.charged).toBeLessThanOrEqual(GOOD + 100 + 2 * (use === 'people' ? 20 : 1));
});

test('answers that are text and no JSON are no outage, are paid for twice at most, and stop the job after a hundred', async () => {
  const folder = await makeFolder();
  const vendor = await start(startPeopleDataLabs);
  vendor.hook = (call, usual): StandInReply => {
    const reply = usual();
    return call.number <= GOOD ? reply : { ...reply, body: 'email,name\na@x.example,Ada\n' };
  };
  const job: ProviderJob = {
    providers: { vendor: { use: definition('person'), baseUrl: `${vendor.url}/v5`, concurrency: 2 } },
    steps: [{ enrich: { from: ['vendor'] } }],
    // An outage would end the run with 69.
    limits: { maxErrors: '100%', maxOutageMs: 1_000 },
  };
  await Promise.all([writePeople(folder, RECORDS), writeJob(folder, job)]);
  const { code, stderr } = await run(folder, job);
  expect([code, stderr]).toEqual([
    78,
    expect.stringMatching(/^millrace: vendor: the last 1\d\d lookups were not answered as .*: the answer is not JSON/m),
  ]);
  expect((await checkpoint(folder)).mark.tally.outcomes.matched).toBe(GOOD);
  expect(Math.max(...vendor.paidFor.values())).toBeLessThanOrEqual(2);
  expect(vendor.counts.charged).toBeLessThanOrEqual(GOOD + 100 + 4);
});

test('verdicts that change in batches stop the job after two requests', async () => {
  const folder = await makeFolder();
  const vendor = await start(startPromises);
  vendor.hook = ({ path, number }, usual) => {
    const reply = usual();
    if (path !== '/checks' || number <= 4) return reply;
    return { ...reply, body: JSON.parse(JSON.stringify(reply.body).replaceAll(/"verdict":"[a-z]*"/g, '"verdict":{"code":1}')) };
  };
  const job: ProviderJob = {
    providers: { vendor: { use: definition('promises'), baseUrl: vendor.url, concurrency: 1 } },
    steps: [{ verify: { from: ['vendor'] } }],
  };
  await Promise.all([writePeople(folder, RECORDS), writeJob(folder, job)]);
  const { code, stderr } = await run(folder, job);
  expect(code).toBe(78);
  expect(stderr).toMatch(/^millrace: vendor: the last 1\d\d lookups were not answered as .*\.yaml says: .*record\.result.*expected text/m);
  // Four good requests, and no more addresses than make a hundred without a verdict.
  expect(vendor.counts.lookups).toBeLessThanOrEqual(4 * 25 + 100 + 25);
});

test.each(['person', 'people'])(
  'answers that no rule takes are kept, and cost nothing after a correction of the rules: %s',
  async (use) => {
    const folder = await makeFolder();
    const vendor = await start(startPeopleDataLabs, { knows: (_person: unknown, i: number) => i % 5 !== 0 });
    const rules = (match: string) => ({
      name: 'vendor',
      use: definition(use),
      operations: { enrich: { answers: { match, miss: '$exists(body.nobody) or status = 404' } } },
    });
    const job: ProviderJob = {
      providers: { vendor: { use: './vendor.yaml', baseUrl: `${vendor.url}/v5`, concurrency: 2 } },
      steps: [{ enrich: { from: ['vendor'] } }],
    };
    await Promise.all([
      writePeople(folder, 400),
      writeJob(folder, job),
      writeFile(folder.at('vendor.yaml'), JSON.stringify(rules('status = 200 and $exists(body.dataa)'))),
    ]);
    for (let repeated = 0; repeated < 2; repeated++) {
      const { code, stderr } = await run(folder, job);
      expect([code, stderr]).toEqual([78, expect.stringContaining('is neither a match nor a miss')]);
    }
    expect([...vendor.paidFor.values()].filter((times) => times > 1)).toEqual([]);
    await writeFile(folder.at('vendor.yaml'), JSON.stringify(rules('$exists(body.data)')));
    expect(await run(folder, job, ['--fresh'])).toMatchObject({ code: 0 });
    expect((await checkpoint(folder)).mark.tally.outcomes).toMatchObject({ matched: 320, no_match: 80, failed: 0 });
    expect([...vendor.paidFor.values()].filter((times) => times > 1)).toEqual([]);
  },
);
