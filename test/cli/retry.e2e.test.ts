import { rm } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { oneIn, refusing } from '../support/failing.ts';
import { toCsv } from '../support/leads.ts';
import { flags, makeWorld } from '../support/world.ts';
import { contents, failures, finishedWithFailures, LINE, ROWS } from './retried-job.ts';

test('a retry of a job without failures calls nothing and changes no file', async () => {
  const { folder, service, args } = await makeWorld(toCsv(ROWS.filter(({ key }) => key?.startsWith('person') === true)));
  expect((await folder.run(args())).code).toBe(0);
  const before = await contents(folder);
  service.forget();
  expect(await folder.run(['retry', ...args({ progress: 'log' }).slice(1)])).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('nothing is left to retry: nothing was called'),
  });
  expect(service.requests).toEqual([]);
  expect(await contents(folder)).toEqual(before);
});

test('lookups that fail again in a retry stay failed, and the next retry asks for them alone', async () => {
  const { folder, service, line } = await finishedWithFailures();
  const fails = oneIn(2, 'again');
  service.script = refusing((key) => fails(key));
  expect((await folder.run(line('retry'))).code).toBe(1);
  const some = (await folder.json('out.csv.report.json')) as { records: { failed: number; total: number }; lookups: { unique: number } };
  expect(some.records.failed).toBeGreaterThan(0);
  const stillFailed = await failures(folder, 'out.csv');
  service.script = (_asked, _response, reply, usual) => reply(usual());
  service.forget();
  expect((await folder.run(line('retry', { 'max-errors': '100%' }))).code).toBe(0);
  const asked = [...service.asked.keys()].filter((name) => name.startsWith('enrich'));
  expect(asked.sort()).toEqual([...stillFailed].filter((name) => name.startsWith('enrich')).sort());
  const all = (await folder.json('out.csv.report.json')) as typeof some;
  expect(all.records.total).toBe(120);
  // Lookups that are always refused remain.
  const refused = ROWS.filter(({ key }) => key?.startsWith('refused') === true).length;
  expect(all.records.failed).toBe(refused);
});

test('limits.maxCalls counts the run and the retry together', async () => {
  const { folder, service, line } = await finishedWithFailures({ steps: 'enrich' });
  const { calls } = (await folder.json('out.csv.report.json')) as { calls: { enrich: number } };
  const stopped = await folder.run(line('retry', { 'max-calls': String(calls.enrich + 5) }));
  expect(stopped).toMatchObject({ code: 77, stderr: expect.stringContaining('limits.maxCalls is reached') });
  expect(service.requests).toHaveLength(5);
  expect((await folder.run(line('retry', { 'max-errors': '100%' }))).code).toBe(0);
  expect(service.repeated).toBe(0);
});

test('a signal drains a retry with 75 and the old output in place; status shows it, and the same command continues', async () => {
  const { folder, service, line } = await finishedWithFailures({ concurrency: '4' });
  const { records } = (await folder.json('out.csv.report.json')) as { records: { failed: number } };
  const old = await folder.read('out.csv');
  service.script = ({ number }, _response, reply, usual) => {
    if (number <= 10) reply(usual());
  };
  const started = folder.start(line('retry'));
  await service.when(() => service.answered === 10 && service.unanswered.size === 4);
  expect(JSON.parse((await folder.run(line('status', { json: true }))).stdout)).toMatchObject({
    state: 'running',
    retry: { failed: records.failed },
    exitCode: null,
  });
  started.kill('SIGTERM');
  // Two signals of one kind may arrive as one, and the drain would take its 25 s.
  started.kill('SIGINT');
  service.script = (_asked, _response, reply, usual) => reply(usual());
  const inFlight = [...service.unanswered.keys()];
  expect(await started.ended).toMatchObject({ code: 75 });
  expect(await folder.read('out.csv')).toBe(old);
  expect((await folder.run(line('status'))).stdout).toMatch(
    new RegExp(`^out: stopped, \\d+ % of [\\d,]+ records, retrying: ${records.failed} records failed`),
  );

  expect(await folder.run(line('retry', { 'max-errors': '100%', progress: 'log' }))).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('a retry was under way and goes on'),
  });
  expect(
    [...service.asked]
      .filter(([, times]) => times > 1)
      .map(([name]) => name)
      .sort(),
  ).toEqual(inFlight.sort());
  for (const name of inFlight) expect(service.idempotencyKeys.get(name)?.size).toBe(1);
  expect(JSON.parse((await folder.run(line('status', { json: true }))).stdout)).toMatchObject({ state: 'finished', retry: null });
});

test.each([true, false])(
  'a retry abandoned for a higher limit leaves no two different rows for one key (with the ledger: %s)',
  async (withLedger) => {
    const emails = Array.from({ length: 40 }, (_, i) => `e${i}@works.example`);
    const { folder, service } = await makeWorld(`email\n${[...emails, ...emails].map((email) => `${email}\n`).join('')}`);
    const line = (command: string, more: Readonly<Record<string, string>> = {}): string[] => [
      command,
      ...flags({ ...LINE, 'base-url': service.url, steps: 'enrich', concurrency: '1', output: 'out.jsonl', progress: 'none', ...more }),
    ];
    service.script = refusing((key) => oneIn(2)(key));
    await folder.run(line('run', { limit: '40' }));
    const failed = ((await folder.json('out.jsonl.report.json')) as { records: { failed: number } }).records.failed;
    service.forget();
    service.script = (_asked, _response, reply, usual) => {
      if (service.requests.length <= failed / 2) reply(usual());
    };
    const started = folder.start(line('retry', { limit: '40' }));
    await service.when(() => service.unanswered.size === 1);
    started.kill('SIGTERM');
    started.kill('SIGINT');
    expect((await started.ended).code).toBe(75);
    service.script = (_asked, _response, reply, usual) => reply(usual());
    service.forget();
    if (!withLedger) await rm(folder.at('out.jsonl.ledger'));
    await folder.run(line('run'));
    // Lookups that the retry did not reach stay failed. Without the ledger the second half is unknown.
    expect(service.requests).toHaveLength(withLedger ? 0 : 40);
    const outcomes = (await folder.read('out.jsonl'))
      .trim()
      .split('\n')
      .map((row) => (JSON.parse(row) as { result: { outcome: string } }).result.outcome);
    expect(outcomes).toHaveLength(80);
    if (withLedger) expect(outcomes.slice(40)).toEqual(outcomes.slice(0, 40));
    await folder.run(line('retry'));
    const { records } = (await folder.json('out.jsonl.report.json')) as { records: Record<string, number> };
    expect(records).toMatchObject({ total: 80, matched: 80 });
  },
);

test("a retry without the ledger loses no row's data, and the result is that of a retry with it once the service works", async () => {
  // Verify fails for half of the keys, enrich for a few.
  const first = refusing((key, path) => oneIn(path === 'verify' ? 2 : 8)(`${path} ${key}`));
  const other = await finishedWithFailures({}, first);
  const { folder, service, line } = await finishedWithFailures({}, first);
  const rows = await folder.read('out.csv');
  const lookups = async (): Promise<number> =>
    ((await folder.json('out.csv.report.json')) as { lookups: { unique: number } }).lookups.unique;
  const looked = await lookups();
  for (const suffix of ['', '-wal', '-shm']) await rm(folder.at(`out.csv.ledger${suffix}`), { force: true });
  // Now enrich fails for every key, verify for none.
  service.script = refusing((_key, path) => path === 'enrich');
  expect(await folder.run(line('retry', { 'max-errors': '100%', 'limits.trustMisses': true }))).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/the ledger .* is gone: .*no row loses what it has/),
  });
  expect(withoutErrors(await folder.read('out.csv'))).toEqual(withoutErrors(rows));
  expect(await lookups()).toBeGreaterThanOrEqual(looked);
  // The service works again: the result is as if the ledger had been there.
  service.script = (_asked, _response, reply, usual) => reply(usual());
  await folder.run(line('retry', { 'max-errors': '100%' }));
  await other.folder.run(other.line('retry', { 'max-errors': '100%' }));
  expect(await folder.read('out.csv')).toBe(await other.folder.read('out.csv'));
});

/** Without error codes, because a later attempt may fail with another one. */
function withoutErrors(rows: string): string {
  return rows.replaceAll(/,failed,[a-z0-9_:]*,/g, ',failed,,');
}

test('a retry of a job from standard input needs the same input again, also to resume', async () => {
  const { folder, service } = await makeWorld();
  const stdin = toCsv(ROWS);
  const line = (command: string): string[] => [
    command,
    ...flags({ ...LINE, input: '-', steps: 'enrich', 'base-url': service.url, 'max-errors': '0' }),
  ];
  service.script = refusing((key) => oneIn(4)(key));
  expect((await folder.run(line('run'), { stdin })).code).toBe(1);
  service.script = (_asked, _response, reply, usual) => reply(usual());
  const before = await contents(folder);
  for (const other of ['', 'email\nana@works1.example\n']) {
    expect(await folder.run(line('retry'), { stdin: other })).toMatchObject({
      code: 65,
      stderr: expect.stringContaining('Give the same input on standard input again'),
    });
    expect(await contents(folder)).toEqual(before);
  }
  service.script = () => undefined;
  const retry = folder.start(line('retry'), { stdin });
  await service.sees(1);
  retry.kill('SIGKILL');
  await retry.ended;
  service.script = (_asked, _response, reply, usual) => reply(usual());
  // The spooled input of the retry is removed.
  for (const name of await folder.files()) if (name.includes('stdin')) await rm(folder.at(name));
  expect(await folder.run(line('run'), { stdin })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('a retry was under way and goes on'),
  });
  expect(((await folder.json('out.csv.report.json'))['records'] as { failed: number }).failed).toBe(
    ROWS.filter(({ key }) => key?.startsWith('refused') === true).length,
  );
  expect((await folder.files()).filter((name) => name.includes('stdin'))).toEqual([]);
});
