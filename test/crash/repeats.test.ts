import { open } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Folder } from '../support/cli.ts';
import { readLedger } from '../support/crash-site.ts';
import { leads, type Lead } from '../support/leads.ts';
import type { Asked } from '../support/scripted-service.ts';
import { csvJob, EVERY_MS } from '../support/crash-jobs.ts';
import { expectSameRequests, prepare } from './crashed-job.ts';

interface Case {
  readonly name: string;
  readonly rows: number;
  readonly flags: Readonly<Record<string, string>>;
  /** The service answers these and then stops, so that the ledger is known to be ahead of the kill. */
  readonly answers: (asked: Asked) => boolean;
  /** Requests that stay unanswered. */
  readonly held: number;
}

/** Too long to make anything durable by time. */
const NEVER_MS = '600000';

const CASES: readonly Case[] = [
  { name: 'enrich', rows: 400, flags: { steps: 'enrich' }, answers: ({ number }) => number <= 100, held: 8 },
  // Three requests fill up. The first two are 2,000 answers, which become durable within the interval.
  {
    name: 'verify alone, in mid-interval',
    rows: 4_500,
    flags: { steps: 'verify', 'checkpoint.everyMs': NEVER_MS },
    answers: ({ number }) => number <= 2,
    held: 1,
  },
  { name: 'verify after enrich', rows: 60, flags: {}, answers: ({ path }) => path === 'enrich', held: 1 },
  {
    name: 'verify while enrich goes on',
    rows: 1_600,
    flags: {},
    answers: ({ path, number }) => path === 'enrich' && number <= 1_250,
    held: 8,
  },
];

test.each(CASES)(
  'a kill repeats only requests in flight, with the same body and Idempotency-Key: $name',
  async ({ rows, flags, answers, held }) => {
    const { folder, service, args } = await prepare(csvJob(spelled(leads(rows, 11)), { concurrency: '8', ...flags }));
    service.script = (asked, _response, reply, usual) => {
      if (answers(asked)) reply(usual());
    };
    const first = folder.start(args);
    const unanswered = (): Asked[] => service.requests.filter((asked) => !answers(asked));
    await service.when(() => unanswered().length === held && service.requests.length === service.answered + held);
    const answeredNames = new Set(service.requests.filter(answers).flatMap(namesOf));
    // The run waits for answers that never come, and stores the ones that it has.
    await durable(folder, answeredNames.size);
    first.kill('SIGKILL');
    expect((await first.ended).signal).toBe('SIGKILL');
    const inFlight = unanswered();
    expect(inFlight).toHaveLength(held);

    const before = service.requests.length;
    service.script = (_asked, _response, reply, usual) => reply(usual());
    expect((await folder.run(args)).code).toBe(0);
    expect(inFlight.every(({ path, body }) => path === 'enrich' || body.includes('Person'))).toBe(true);
    const known = new Set(inFlight.flatMap(namesOf));
    const repeats = service.requests
      .slice(before)
      .filter((asked) => namesOf(asked).some((name) => known.has(name) || answeredNames.has(name)));
    expect(repeats.map(wireOf).sort()).toEqual(inFlight.map(wireOf).sort());
    expectSameRequests(service);
  },
);

test('addresses without an answer are sent again alone, in the same second request, after a kill', async () => {
  const { folder, service, args } = await prepare(csvJob(leads(900, 13), { steps: 'verify' }));
  const isLeftOut = (email: string): boolean => /[07]@/.test(email);
  service.script = ({ number, keys }, _response, reply) => {
    if (number === 1)
      reply({
        status: 200,
        body: JSON.stringify({ data: keys.filter((email) => !isLeftOut(email)).map((email) => ({ email, result: 'deliverable' })) }),
      });
  };
  const first = folder.start(args);
  await service.when(() => service.requests.length === 2);
  await durable(folder, service.requests[0]?.keys.filter((email) => !isLeftOut(email)).length ?? NaN);
  first.kill('SIGKILL');
  await first.ended;
  const [, lost] = service.requests;
  expect(lost?.keys.every(isLeftOut)).toBe(true);

  service.script = (_asked, _response, reply, usual) => reply(usual());
  expect(await folder.run(args)).toMatchObject({ code: 0 });
  expect(
    service.requests
      .filter(({ keys }) => keys.some((key) => lost?.keys.includes(key)))
      .slice(1)
      .map(wireOf),
  ).toEqual([lost, lost].map((asked) => wireOf(asked as Asked)));
});

test('an answer is durable within a few checkpoint intervals', async () => {
  const { folder, service, args } = await prepare(csvJob(leads(200, 12), { steps: 'enrich', concurrency: '8' }));
  service.script = ({ number }, _response, reply, usual) => {
    if (number <= 100) reply(usual());
  };
  const run = folder.start(args);
  await service.when(() => service.answered === 100 && service.unanswered.size === 8);
  const clock = intervals(folder);
  await durable(folder, 100);
  // One interval that has just missed it, and the next; the rest is for a busy machine.
  const passed = await clock.stop();
  run.kill('SIGKILL');
  await run.ended;
  expect(passed).toBeLessThanOrEqual(12);
});

/** Some keys are normalised, and verify asks for the original spelling. */
const spelled = (rows: readonly Lead[]): Lead[] =>
  rows.map((row, i) =>
    i % 3 === 0 ? { ...row, cells: row.cells.map((cell, n) => (n === 1 ? cell.replace(/^person/, 'Person') : cell)) } : row,
  );

const namesOf = ({ path, keys }: Asked): string[] => keys.map((key) => `${path} ${key}`);

const wireOf = ({ path, body, idempotencyKey }: Asked): string => `${path} ${idempotencyKey} ${body}`;

/** Polls the ledger until it has that many answers. */
async function durable(folder: Folder, answers: number): Promise<void> {
  while ((await readLedger(folder.at('out.csv.ledger'))).names.size < answers);
}

/**
 * Counts intervals at the machine's current speed: each is `everyMs` and three flushes of a file beside the job's own (ledger, rows,
 * checkpoint).
 */
function intervals(folder: Folder): { stop: () => Promise<number> } {
  const stopping = new AbortController();
  const counting = (async () => {
    const file = await open(folder.at('beside'), 'w');
    let passed = 0;
    for (; !stopping.signal.aborted; passed++) {
      await pause(EVERY_MS);
      for (let i = 0; i < 3; i++) {
        await file.write('x');
        await file.datasync();
      }
    }
    await file.close();
    return passed;
  })();
  return {
    stop: () => {
      stopping.abort();
      return counting;
    },
  };
}
