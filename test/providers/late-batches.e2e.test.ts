/** A provider that takes several lookups in one request, and answers them later, in pages. */
import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { freeDatabase } from '../ledger/shared.ts';
import { describeWith } from '../services/needed.ts';
import type { Folder } from '../support/cli.ts';
import { makeFolder } from '../support/world.ts';
import { checkpoint, keys, rowsOf, RUN, start, writeJob, writePeople } from './jobs.ts';
import { startPromises } from './stand-ins/promises.ts';
import type { StandIn, StandInCall } from './stand-ins/stand-in.ts';

const PEOPLE = 50;
const SIZE = 20;
const TICKETS = Math.ceil(PEOPLE / SIZE);
const RETRY = ['retry', 'job.yaml', '--progress', 'none'] as const;
const env = { env: keys('late') };

interface Own {
  readonly poll?: object;
  readonly batch?: object;
  readonly settings?: object;
  readonly people?: number;
  readonly plans?: object;
}

/** A job of enrich at a provider that answers batches by their numbers, or by the order alone. */
async function lateJob(
  job: object = {},
  { poll, batch, settings, plans, people = PEOPLE }: Own = {},
): Promise<{ folder: Folder; late: StandIn }> {
  const folder = await makeFolder();
  const late = await start<NonNullable<Parameters<typeof startPromises>[0]>>(startPromises, { notYet: 0 });
  const operation = {
    keys: ['email'],
    answers: { match: '$exists(body.person)', miss: '$exists(body.number)' },
    record: { email: 'body.person.email', title: 'body.person.title' },
    creditsAt: 'submit',
    batch: {
      size: SIZE,
      request: { method: 'POST', path: '/batches', body: { emails: 'lookups.email[]' } },
      items: 'body.people',
      itemId: 'number',
      answers: { pending: 'status = 202', retry: 'status >= 500' },
      credits: 'body.credits',
      ...batch,
    },
    poll: {
      ticket: 'body.ticket',
      request: { method: 'GET', path: '/batches/{ticket}', query: { page: 'next' } },
      next: 'body.next',
      everySeconds: 0.1,
      longestSeconds: 1,
      ...poll,
    },
  };
  const vendor = {
    name: 'late',
    baseUrl: late.url,
    authentication: { bearer: true },
    ...(plans === undefined ? {} : { defaultPlan: 'usual', quota: { plans } }),
    operations: { enrich: operation },
  };
  await Promise.all([
    writeFile(folder.at('late.yaml'), JSON.stringify(vendor)),
    writePeople(folder, people),
    writeJob(folder, { providers: { late: { use: './late.yaml', ...settings } }, ...job, steps: [{ enrich: { from: ['late'] } }] }),
  ]);
  return { folder, late };
}

const isPoll = ({ method }: StandInCall): boolean => method === 'GET';
const polls = (late: StandIn): StandInCall[] => late.calls.filter(isPoll);
const submitted = (late: StandIn): number => late.calls.length - polls(late).length;
const lastSubmit = (late: StandIn): number => Math.max(0, ...late.calls.filter((call) => !isPoll(call)).map(({ at }) => at));
const NOT_YET = { status: 202, body: {} };
const outcomes = async (folder: Folder, output?: string): Promise<string[]> =>
  (await rowsOf(folder, output)).map((row) => row['result.outcome'] ?? '');
const all = (outcome: string): string[] => Array.from({ length: PEOPLE }, () => outcome);
/** Lookups that the vendor took more than once. */
const twice = (late: StandIn): string[] => [...late.paidFor].filter(([, times]) => times > 1).map(([name]) => name);

test('lookups go out together, and their pages are read with one ticket each', async () => {
  const { folder, late } = await lateJob();
  expect(await folder.run(RUN, env)).toMatchObject({ code: 0 });
  expect(await outcomes(folder)).toEqual(all('matched'));
  expect([submitted(late), late.counts.charged]).toEqual([TICKETS, PEOPLE]);
  // 20, 20 and 10 entries in pages of 7.
  expect(polls(late).length).toBe(3 + 3 + 2);
  expect(await folder.json('out.csv.report.json')).toMatchObject({ credits: PEOPLE, lookups: { unique: PEOPLE, fromLedger: 0 } });
});

test('a retry asks for late answers with their tickets, and pays for none again', async () => {
  const { folder, late } = await lateJob();
  late.hook = (call) => (isPoll(call) ? NOT_YET : null);
  await folder.run(RUN, env);
  expect((await rowsOf(folder)).map((row) => row['result.error'])).toEqual(all('still_pending'));
  // The vendor took them with the requests.
  const taken = { credits: PEOPLE, creditsAtLeast: PEOPLE };
  expect(await folder.json('out.csv.report.json')).toMatchObject({
    ...taken,
    providers: { late: { ...taken, steps: { enrich: { credits: PEOPLE } } } },
  });
  late.hook = null;
  expect(await folder.run(RETRY, env)).toMatchObject({ code: 0 });
  expect(await outcomes(folder)).toEqual(all('matched'));
  expect(twice(late)).toEqual([]);
  const report = await folder.json('out.csv.report.json');
  expect(report).toMatchObject({ credits: PEOPLE });
  expect(JSON.stringify(report)).not.toContain('creditsAtLeast');
});

describe('after a kill', () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'a run that died at request %i of the vendor pays again only for a request without a durable ticket',
    async (at) => {
      const { folder, late } = await lateJob({ checkpoint: { everyMs: 60_000 } }, { settings: { concurrency: 1 } });
      let seen = 0;
      const killed = folder.start(RUN, env);
      late.hook = (_call, usual) => {
        seen++;
        if (seen < at) return usual();
        if (seen === at) killed.kill('SIGKILL');
        // The request arrived, and its answer is lost with the process.
        return { ...usual(), delayMs: 50 };
      };
      await killed.ended;
      late.hook = null;
      // One request was under way, and one before it may have had its ticket in memory only.
      const before = submitted(late);
      expect(await folder.run(RUN, env)).toMatchObject({ code: 0 });
      expect(await outcomes(folder)).toEqual(all('matched'));
      expect(submitted(late)).toBeLessThanOrEqual(TICKETS + 1);
      if (before === 0) expect(twice(late)).toEqual([]);
      expect(twice(late).length).toBeLessThanOrEqual(SIZE);
    },
  );

  test('another job finds every ticket in the ledger, and stores the answers of all its lookups', async () => {
    const ledger = { uri: 'answers.ledger', maxAgeDays: 30 };
    const { folder, late } = await lateJob({ ledger, checkpoint: { everyMs: 60_000 } }, { poll: { longestSeconds: 60 } });
    late.hook = (call) => (isPoll(call) ? NOT_YET : null);
    const killed = folder.start(RUN, env);
    await late.when(() => submitted(late) === TICKETS && polls(late).filter(({ at }) => at > lastSubmit(late)).length > 3 * TICKETS);
    killed.kill('SIGKILL');
    await killed.ended;
    late.hook = null;
    // The other job has one person of each ticket only; the answers of all are stored.
    await writeFile(folder.at('few.csv'), ['email', ...[0, 20, 40].map((index) => emailAt(late, index))].join('\n'));
    const other = ['--name', 'another', '--input', 'few.csv', '--output', 'few-out.csv'];
    expect(await folder.run([...RUN, ...other], env)).toMatchObject({ code: 0 });
    expect(await outcomes(folder, 'few-out.csv')).toEqual(['matched', 'matched', 'matched']);
    const asked = late.calls.length;
    expect(await folder.run(RUN, env)).toMatchObject({ code: 0 });
    expect(await outcomes(folder)).toEqual(all('matched'));
    expect([late.calls.length, late.counts.charged]).toEqual([asked, PEOPLE]);
  });
});

function emailAt(late: StandIn, index: number): string {
  const emails = late.calls.filter((call) => !isPoll(call)).flatMap(({ body }) => (body as { emails: string[] }).emails);
  return emails[index] ?? '';
}

test('--fresh, and a run without its checkpoint, ask with the tickets of the run before', async () => {
  const { folder, late } = await lateJob();
  late.hook = (call) => (isPoll(call) ? NOT_YET : null);
  await folder.run(RUN, env);
  late.hook = null;
  expect(await folder.run([...RUN, '--fresh'], env)).toMatchObject({ code: 0 });
  expect(await outcomes(folder)).toEqual(all('matched'));
  expect(twice(late)).toEqual([]);
});

test('a skipped provider keeps its tickets for the retry', async () => {
  const limits = { maxErrors: '100%', maxOutageMs: 1_000 };
  const { folder, late } = await lateJob({ limits }, { settings: { onUnavailable: 'skip' }, poll: { longestSeconds: 60 } });
  late.hook = (call) => (isPoll(call) ? { status: 503, body: {} } : null);
  await folder.run(RUN, env);
  expect(new Set(await outcomes(folder))).toEqual(new Set(['failed']));
  late.hook = null;
  expect(await folder.run(RETRY, env)).toMatchObject({ code: 0 });
  expect(await outcomes(folder)).toEqual(all('matched'));
  expect(twice(late)).toEqual([]);
});

await describeWith('redis', 'a ledger in Redis', (facts) => {
  test('has the tickets of a killed run for the pod that goes on without its file', async () => {
    const ledger = { uri: await freeDatabase(facts) };
    const { folder, late } = await lateJob({ ledger }, { poll: { longestSeconds: 60 } });
    late.hook = (call) => (isPoll(call) ? NOT_YET : null);
    const killed = folder.start([...RUN, '--scratch', 'here'], env);
    await late.when(() => submitted(late) === TICKETS && polls(late).filter(({ at }) => at > lastSubmit(late)).length > 3 * TICKETS);
    killed.kill('SIGKILL');
    await killed.ended;
    late.hook = null;
    expect(await folder.run([...RUN, '--scratch', 'there'], env)).toMatchObject({ code: 0 });
    expect(await outcomes(folder)).toEqual(all('matched'));
    expect([submitted(late), twice(late)]).toEqual([TICKETS, []]);
  });
});

test('no more promises are open at once than maxOpen, whatever else is ready', async () => {
  const { folder, late } = await lateJob({}, { poll: { maxOpen: 2, longestSeconds: 60 }, people: 8 * SIZE });
  const open = new Set<string>();
  let most = 0;
  late.hook = (call, usual) => {
    const reply = usual();
    const { ticket, people, next } = reply.body as { ticket?: string; people?: object[]; next?: number | null };
    if (ticket !== undefined) open.add(ticket);
    most = Math.max(most, open.size);
    if (people !== undefined && next === null) open.delete(call.path.replace('/batches/', ''));
    return reply;
  };
  expect(await folder.run(RUN, env)).toMatchObject({ code: 0 });
  expect([submitted(late), most]).toEqual([8, 2]);
});

test('polls that have a quota of their own take nothing from that of the requests', async () => {
  const quota = { plans: { usual: ['1000/minute'] } };
  const { folder, late } = await lateJob({}, { poll: { quota, longestSeconds: 60 }, plans: { usual: [`${TICKETS}/minute`] } });
  // Together, requests and polls would take several minutes, longer than a test may.
  expect(await folder.run(RUN, env)).toMatchObject({ code: 0 });
  expect([submitted(late), polls(late).length]).toEqual([TICKETS, 8]);
  const { providers } = await checkpoint(folder);
  expect(Object.keys(providers?.['late']?.spent ?? {})).toEqual(['enrich', 'enrich, polls']);
});

describe('a poll that is refused', () => {
  const errorsOf = async (folder: Folder): Promise<unknown[]> => (await rowsOf(folder)).map((row) => row['result.error']);

  test.each([400, 409, 422, 500])('with %i for too long keeps the ticket: a retry pays for nothing again', async (status) => {
    const { folder, late } = await lateJob();
    late.hook = (call) => (isPoll(call) ? { status, body: { error: 'no' } } : null);
    await folder.run(RUN, env);
    expect(await errorsOf(folder)).toEqual(all('still_pending'));
    late.hook = null;
    expect(await folder.run(RETRY, env)).toMatchObject({ code: 0 });
    expect(await outcomes(folder)).toEqual(all('matched'));
    expect([submitted(late), twice(late)]).toEqual([TICKETS, []]);
  });

  test('once is repeated', async () => {
    const { folder, late } = await lateJob({}, { poll: { longestSeconds: 60 } });
    const refused = new Set<string>();
    late.hook = (call) => {
      if (!isPoll(call) || refused.has(call.path)) return null;
      refused.add(call.path);
      return { status: 400, body: {} };
    };
    expect(await folder.run(RUN, env)).toMatchObject({ code: 0 });
    expect([await outcomes(folder), refused.size]).toEqual([all('matched'), TICKETS]);
  });

  test.each([
    ['by a rule of the definition', 400, 'http_400', { refused: 'status = 400' }],
    ['because the vendor has it no longer', 410, 'ticket_lost', {}],
  ])('%s ends the ticket', async (_why, status, code, rules) => {
    const { folder, late } = await lateJob({}, { batch: { answers: { pending: 'status = 202', ...rules } } });
    late.hook = (call) => (isPoll(call) ? { status, body: {} } : null);
    await folder.run(RUN, env);
    expect(await errorsOf(folder)).toEqual(all(code));
    late.hook = null;
    expect(await folder.run(RETRY, env)).toMatchObject({ code: 0 });
    expect(submitted(late)).toBe(2 * TICKETS);
  });
});

describe('pages', () => {
  test.each([
    ['that go round', 'bad_shape', 60, (page: string | null) => (page === '14' ? 0 : Number(page ?? 0) + 7)],
    ['that do not end', 'still_pending', 1, (page: string | null) => Number(page ?? 0) + 1],
  ])('%s are not read for ever, and keep the ticket', async (_how, code, longestSeconds, next) => {
    const { folder, late } = await lateJob({}, { poll: { longestSeconds } });
    late.hook = (call) => (isPoll(call) ? { status: 200, body: { people: [], next: next(call.query.get('page')) } } : null);
    await folder.run(RUN, env);
    expect((await rowsOf(folder)).map((row) => row['result.error'])).toEqual(all(code));
    expect(polls(late).length).toBeLessThanOrEqual(10 * TICKETS);
    late.hook = null;
    expect(await folder.run(RETRY, env)).toMatchObject({ code: 0 });
    expect(await outcomes(folder)).toEqual(all('matched'));
    expect(twice(late)).toEqual([]);
  });
});

describe('an answer that does not fit', () => {
  test('a ticket that the vendor forgets fails its lookups, and only a retry pays again', async () => {
    const { folder, late } = await lateJob();
    late.hook = (call) => (isPoll(call) ? { status: 404, body: {} } : null);
    await folder.run(RUN, env);
    expect((await rowsOf(folder)).map((row) => row['result.error'])).toEqual(all('ticket_lost'));
    expect(submitted(late)).toBe(TICKETS);
    // The vendor keeps what it took.
    expect(await folder.json('out.csv.report.json')).toMatchObject({ credits: PEOPLE, creditsAtLeast: PEOPLE });
    late.hook = null;
    expect(await folder.run(RETRY, env)).toMatchObject({ code: 0 });
    expect(await outcomes(folder)).toEqual(all('matched'));
    expect(submitted(late)).toBe(2 * TICKETS);
    expect(await folder.json('out.csv.report.json')).toMatchObject({ credits: 2 * PEOPLE, creditsAtLeast: 2 * PEOPLE });
  });

  test('an answer without a body keeps the ticket', async () => {
    const { folder, late } = await lateJob();
    late.hook = (call) => (isPoll(call) ? { status: 200, body: '' } : null);
    await folder.run(RUN, env);
    expect((await rowsOf(folder)).map((row) => row['result.error'])).toEqual(all('bad_body'));
    late.hook = null;
    expect(await folder.run(RETRY, env)).toMatchObject({ code: 0 });
    expect([submitted(late), twice(late)]).toEqual([TICKETS, []]);
  });

  test.each([
    ['fewer', (people: unknown[]) => people.slice(1)],
    ['more', (people: unknown[]) => [...people, { number: 99 }]],
  ])('%s entries than asked, by position, keep the ticket for a corrected answer', async (_what, changed) => {
    const { folder, late } = await lateJob({}, { batch: { itemId: null } });
    late.hook = (call, usual) => {
      const reply = usual();
      const { people, next } = reply.body as { people?: unknown[]; next?: unknown };
      return isPoll(call) && people !== undefined && next === null ? { ...reply, body: { people: changed(people), next } } : reply;
    };
    await folder.run(RUN, env);
    expect((await rowsOf(folder)).map((row) => row['result.error'])).toEqual(all('bad_shape'));
    late.hook = null;
    expect(await folder.run(RETRY, env)).toMatchObject({ code: 0 });
    expect(await outcomes(folder)).toEqual(all('matched'));
    expect(twice(late)).toEqual([]);
  });

  test('a batch that the vendor refuses afterwards ends its ticket, and a retry submits its lookups again', async () => {
    const { folder, late } = await lateJob({}, { batch: { answers: { pending: 'status = 202', refused: "body.state = 'canceled'" } } });
    late.hook = (call) => (isPoll(call) ? { status: 200, body: { state: 'canceled' } } : null);
    await folder.run(RUN, env);
    expect(new Set(await outcomes(folder))).toEqual(new Set(['failed']));
    expect(submitted(late)).toBe(TICKETS);
    late.hook = null;
    expect(await folder.run(RETRY, env)).toMatchObject({ code: 0 });
    expect(await outcomes(folder)).toEqual(all('matched'));
    expect(submitted(late)).toBe(2 * TICKETS);
  });

  type Entry = { number: number; person?: { email: string } | undefined };
  const changed =
    (change: (people: Entry[]) => Entry[]): NonNullable<StandIn['hook']> =>
    (call, usual) => {
      const reply = usual();
      const { people } = reply.body as { people?: Entry[] };
      return isPoll(call) && people !== undefined ? { ...reply, body: { ...(reply.body as object), people: change(people) } } : reply;
    };

  test('an answer whose people are each the next one writes nobody, and a retry reads it again unpaid', async () => {
    const { folder, late } = await lateJob();
    late.hook = changed((people) => people.map((one, at) => ({ ...one, person: people[(at + 1) % people.length]?.person })));
    await folder.run(RUN, env);
    expect((await rowsOf(folder)).map((row) => row['result.error'])).toEqual(all('bad_shape'));
    late.hook = null;
    expect(await folder.run(RETRY, env)).toMatchObject({ code: 0 });
    expect(await outcomes(folder)).toEqual(all('matched'));
    expect([submitted(late), twice(late)]).toEqual([TICKETS, []]);
  });

  test('one ticket for every batch gives nobody the answer of another, and pays nothing again by itself', async () => {
    const { folder, late } = await lateJob({}, { settings: { concurrency: 1 }, poll: { everySeconds: 1, longestSeconds: 60 } });
    late.hook = (call, usual) => {
      const reply = usual();
      if (isPoll(call)) return submitted(late) < TICKETS ? NOT_YET : reply;
      return { ...reply, body: { ...(reply.body as object), ticket: 'batch-1' } };
    };
    await folder.run(RUN, env);
    const errors = (await rowsOf(folder)).map((row) => row['result.error']);
    expect([...Map.groupBy(errors, (error) => error)].map(([error, { length }]) => [error, length])).toEqual([
      ['ticket_lost', SIZE],
      ['bad_shape', PEOPLE - SIZE],
    ]);
    expect([submitted(late), twice(late)]).toEqual([TICKETS, []]);
    late.hook = null;
    expect(await folder.run(RETRY, env)).toMatchObject({ code: 0 });
    expect(await outcomes(folder)).toEqual(all('matched'));
  });

  describe.each([
    ['is left out', (people: Entry[]) => people.filter(({ number }) => number !== 3), 'no_result'],
    [
      'has an id that nobody asked for',
      (people: Entry[]) => people.map((one) => (one.number === 3 ? { ...one, number: 77 } : one)),
      'no_result',
    ],
    [
      'comes twice with different content',
      (people: Entry[]) => [...people, ...people.filter(({ number }) => number === 3).map(({ number }) => ({ number }))],
      'bad_shape',
    ],
  ])('an entry that %s', (_what, change, code) => {
    test('an entry fails alone, and a retry asks with its ticket and pays nothing', async () => {
      const { folder, late } = await lateJob();
      late.hook = changed(change);
      await folder.run(RUN, env);
      const errors = (await rowsOf(folder)).map((row) => row['result.error']);
      expect(errors.filter((error) => error !== '')).toEqual([code, code, code]);
      expect([submitted(late), twice(late)]).toEqual([TICKETS, []]);
      late.hook = null;
      expect(await folder.run(RETRY, env)).toMatchObject({ code: 0 });
      expect(await outcomes(folder)).toEqual(all('matched'));
      expect([submitted(late), twice(late)]).toEqual([TICKETS, []]);
      expect(await folder.json('out.csv.report.json')).toMatchObject({ credits: late.counts.charged });
    });

    test('an entry is submitted again, alone, by a retry whose polled answer is wrong again', async () => {
      const { folder, late } = await lateJob();
      late.hook = changed(change);
      await folder.run(RUN, env);
      await folder.run(RETRY, env);
      expect(await outcomes(folder)).toEqual(all('matched'));
      expect(submitted(late)).toBe(TICKETS + 3);
      expect(twice(late).length).toBe(3);
    });
  });
});
