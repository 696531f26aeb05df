import { readFile, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { runJob, type JobDefinition, type JobEvent, type RunJobOptions } from '../../src/index.ts';
import { leads, toCsv } from '../support/leads.ts';
import { API_KEY, type ScriptedService } from '../support/scripted-service.ts';
import { makeFolder, startService } from '../support/world.ts';

interface Prepared {
  readonly service: ScriptedService;
  readonly job: JobDefinition;
  readonly at: (name: string) => string;
  readonly options: Required<Pick<RunJobOptions, 'env' | 'apiKey' | 'onEvent'>>;
  readonly events: JobEvent[];
}

async function prepare(rows: number): Promise<Prepared> {
  const [folder, service] = await Promise.all([makeFolder(), startService()]);
  const at = (name: string): string => folder.at(name);
  await writeFile(at('in.csv'), toCsv(leads(rows, 7)));
  const events: JobEvent[] = [];
  return {
    service,
    at,
    job: {
      input: { uri: at('in.csv') },
      output: { uri: at('out.csv') },
      service: { baseUrl: service.url, plan: 'enterprise' },
      checkpoint: { everyMs: 50 },
    },
    options: { env: {}, apiKey: API_KEY, onEvent: (event) => void events.push(event) },
    events,
  };
}

it('runs a job, tells of its course, and resolves with the report', async () => {
  const { job, at, options, events } = await prepare(30);
  const { exitCode, report } = await runJob(job, options);
  expect(exitCode).toBe(0);
  expect(report).toEqual(JSON.parse(await readFile(at('out.csv.report.json'), 'utf8')));
  expect(report).toMatchObject({ job: 'out', records: { total: 30 } });
  expect(events[0]).toMatchObject({ type: 'started', job: 'out', resumed: false });
  expect(events.at(-1)).toEqual({ type: 'finished', report });
});

it('does nothing the second time, and says so', async () => {
  const { service, job, options, events } = await prepare(5);
  const first = await runJob(job, options);
  const asked = service.requests.length;
  expect(await runJob(job, options)).toEqual(first);
  expect(service.requests.length).toBe(asked);
  expect(events.at(-1)).toMatchObject({ type: 'nothing_to_do', report: first.report });
});

it('stops by its signal with the error of the command, and resumes', async () => {
  const { service, job, options, events } = await prepare(40);
  const stop = new AbortController();
  service.script = (_asked, _response, reply, usual) => {
    if (service.requests.length >= 10) stop.abort();
    reply(usual());
  };
  await expect(runJob({ ...job, service: { ...job.service, concurrency: 2 } }, { ...options, signal: stop.signal })).rejects.toMatchObject({
    exitCode: 75,
    code: 'aborted',
  });
  expect(events.at(-1)).toMatchObject({ type: 'stopped', report: { finishedAt: null } });
  const { report } = await runJob(job, options);
  expect(report.records.total).toBe(40);
  expect(events.filter(({ type }) => type === 'started')).toMatchObject([{ resumed: false }, { resumed: true }]);
});

it('rejects with the exception of a handler', async () => {
  const { job, options } = await prepare(5);
  const thrown = new Error('the dashboard is gone');
  const onEvent = (): void => {
    throw thrown;
  };
  await expect(runJob(job, { ...options, onEvent })).rejects.toMatchObject({ exitCode: 75, code: 'handler_failed', cause: thrown });
});

it('runs two jobs at once, each with its own progress, report and waits', async () => {
  const [paused, slow] = await Promise.all([prepare(3), prepare(4)]);
  const stop = new AbortController();
  paused.service.script = (_asked, _response, reply) => reply({ status: 429, headers: { 'retry-after': '600' }, body: '{}' });
  // The second service answers once its own job shows that it waits, and by then the first job waits as well.
  const isWaiting = Promise.withResolvers<void>();
  slow.service.script = (_asked, _response, reply, usual) => void isWaiting.promise.then(() => reply(usual()));
  const first = runJob(paused.job, { ...paused.options, signal: stop.signal });
  const onEvent = (event: JobEvent): void => {
    slow.events.push(event);
    if (event.type === 'progress' && event.progress.waiting !== null) isWaiting.resolve();
  };
  const second = await runJob(slow.job, { ...slow.options, onEvent });
  stop.abort();
  await expect(first).rejects.toMatchObject({ code: 'aborted' });
  const waitsIn = (events: readonly JobEvent[]): ReadonlySet<unknown> =>
    new Set(events.flatMap((event) => (event.type === 'progress' ? [event.progress.waiting?.reason] : [])).filter(Boolean));
  expect([waitsIn(paused.events), waitsIn(slow.events)]).toEqual([new Set(['throttled']), new Set(['answers'])]);
  expect(second.report).toMatchObject({ records: { total: 4 }, throttled: { events: 0 }, waits: { list: [{ reason: 'answers' }] } });
  const reportOfFirst = paused.events.flatMap((event) => (event.type === 'stopped' ? [event.report] : []))[0];
  expect(Object.keys(reportOfFirst?.waits.reasons ?? {})).toEqual(['throttled']);
  expect(reportOfFirst).toMatchObject({ records: { total: 0 } });
});

it('runs two jobs at once on one ledger, and asks for each address once', async () => {
  const { service, job, at, options } = await prepare(20);
  const both = ['one.csv', 'two.csv'].map((name) => ({
    ...job,
    output: { uri: at(name) },
    ledger: { uri: at('shared.ledger'), maxAgeDays: 30 },
  }));
  const results = await Promise.all(both.map((one) => runJob(one, options)));
  expect(results.map(({ report }) => report.records.total)).toEqual([20, 20]);
  expect([...service.asked.values()].filter((times) => times > 1)).toEqual([]);
  expect(await readFile(at('one.csv'), 'utf8')).toBe(await readFile(at('two.csv'), 'utf8'));
});

it.each<[string, (job: JobDefinition) => unknown, { exitCode: number; message: RegExp }]>([
  ['a key that does not exist', (job) => ({ ...job, imput: {} }), { exitCode: 78, message: /no key imput; did you mean input\?/ }],
  ['standard output', (job) => ({ ...job, output: { uri: '-' } }), { exitCode: 78, message: /cannot use standard input or output/ }],
  ['an input that is not there', (job) => ({ ...job, input: { uri: 'not-there.csv' } }), { exitCode: 65, message: /not-there\.csv/ }],
])('refuses %s as the command does', async (_, change, { exitCode, message }) => {
  const { job, options } = await prepare(1);
  await expect(runJob(change(job) as JobDefinition, options)).rejects.toMatchObject({
    exitCode,
    message: expect.stringMatching(message) as string,
  });
});

it('reads keys of the job from variables, which win over the definition', async () => {
  const { job, options, at } = await prepare(3);
  await runJob(job, { ...options, env: { MILLRACE_OUTPUT: at('elsewhere.csv') } });
  expect(await readFile(at('elsewhere.csv'), 'utf8')).toContain('result.outcome');
});

it('counts a key that is undefined as left out', async () => {
  const { job, options } = await prepare(1);
  expect((await runJob({ ...job, name: undefined }, options)).report.job).toBe('out');
});

it('needs an API key, which the variables may have', async () => {
  const { job } = await prepare(1);
  await expect(runJob(job, { env: {} })).rejects.toMatchObject({ exitCode: 78, code: 'no_api_key' });
  expect((await runJob(job, { env: { MILLRACE_API_KEY: API_KEY } })).exitCode).toBe(0);
});
