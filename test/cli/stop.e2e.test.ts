import { setTimeout as later } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Folder } from '../support/cli.ts';
import { leads, toCsv } from '../support/leads.ts';
import { requestsIn } from '../support/report-page.ts';
import { problem } from '../support/scripted-service.ts';
import { makeWorld } from '../support/world.ts';

const ROWS = leads(600, 3);
const MOST_FAILED = { 'max-errors': '100%' };

async function status(folder: Folder): Promise<Record<string, unknown>> {
  const { code, stdout } = await folder.run(['status', '--input', 'in.csv', '--output', 'out.csv', '--embedded', '--json']);
  expect(code).toBe(0);
  return JSON.parse(stdout) as Record<string, unknown>;
}

async function wholeOutput(): Promise<string> {
  const { folder, args } = await makeWorld(toCsv(ROWS));
  expect(await folder.run(args(MOST_FAILED))).toMatchObject({ code: 0 });
  return folder.read('out.csv');
}

describe.each(['SIGTERM', 'SIGINT'] as const)('a run that gets %s', (name) => {
  test('ends with 75, and over both runs each lookup is sent once and counted once', async () => {
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    service.latencyMs = 5;
    const first = folder.start(args(MOST_FAILED));
    await service.sees(150);
    first.kill(name);
    const ended = await first.ended;
    expect(ended).toMatchObject({ code: 75, signal: null });
    expect(ended.stderr).toBe(`millrace: stopped by ${name}\n  Run the same command: the job resumes where it stopped.\n`);
    expect(service.unanswered.size).toBe(0);
    expect(await folder.run(args(MOST_FAILED))).toMatchObject({ code: 0, stderr: '' });
    expect([...service.asked].filter(([, times]) => times > 1)).toEqual([]);
    const report = await folder.json('out.csv.report.json');
    expect(report['calls']).toEqual(service.callsMade);
    const page = await folder.read('out.csv.report.html');
    const made = Object.values(service.callsMade).reduce((sum, calls) => sum + calls, 0);
    expect(requestsIn(page)).toEqual({ said: made, inTable: made });
    // The log has no data of a row: no address and no name.
    expect(page).not.toMatch(/\w@\w|Näme/);
    expect(await folder.read('out.csv')).toBe(await wholeOutput());
  });
});

test('quarantined verify answers of single addresses are not asked for again after SIGTERM', async () => {
  const emails = Array.from({ length: 16 }, (_, i) => `p${i}@works.example`);
  const { folder, service, args } = await makeWorld(`email\n${emails.map((email) => `${email}\n`).join('')}`);
  const alone = (): string[] => service.requests.filter(({ keys }) => keys.length === 1).map(({ keys }) => keys[0] as string);
  // The service refuses the first eight single addresses, and holds the others.
  service.script = (_asked, _response, reply) => {
    if (alone().length <= 8) reply(problem(422, 'validation_failed'));
  };
  const options = { steps: 'verify', concurrency: '1', 'max-errors': '100%' };
  const first = folder.start(args(options));
  await service.when(() => alone().length > 8 && service.unanswered.size > 0);
  const answered = alone().slice(0, 8);
  first.kill('SIGTERM');
  first.kill('SIGINT');
  expect((await first.ended).code).toBe(75);
  service.script = (_asked, _response, reply) => reply(problem(422, 'validation_failed'));
  service.forget();
  expect(await folder.run(args(options))).toMatchObject({ code: 0, stderr: '' });
  expect(service.requests.flatMap(({ keys }) => keys).filter((key) => answered.includes(key))).toEqual([]);
  expect(await folder.json('out.csv.report.json')).toMatchObject({ records: { total: 16, failed: 16 } });
});

test.each(['SIGTERM', 'max-calls'])('answers in quarantine are not asked for again after %s', async (how) => {
  const MISSES = 90;
  const { folder, service, args } = await makeWorld(
    `email\n${Array.from({ length: MISSES }, (_, i) => `miss${i}@works.example\n`).join('')}`,
  );
  service.latencyMs = 5;
  const options = { steps: 'enrich', concurrency: '2' };
  const first = folder.start(args(how === 'SIGTERM' ? options : { ...options, 'max-calls': '40' }));
  await service.sees(40);
  if (how === 'SIGTERM') first.kill(how);
  expect((await first.ended).code).toBe(how === 'SIGTERM' ? 75 : 77);
  expect(await folder.run(args(how === 'SIGTERM' ? options : { ...options, 'max-calls': String(MISSES) }))).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^warning: no record matched, and 90 did not: .*\n$/),
  });
  expect([service.requests.length, service.asked.size]).toEqual([MISSES, MISSES]);
  expect(await folder.json('out.csv.report.json')).toMatchObject({
    records: { no_match: MISSES },
    calls: { enrich: MISSES },
    lookups: { unique: MISSES },
  });
});

test('a second signal ends a run without waiting for answers in flight', async () => {
  const { folder, service, args } = await makeWorld(toCsv(ROWS));
  // The first 50 lookups are answered. The service holds the others.
  service.script = (asked, _response, reply, usual) => {
    if (asked.number <= 50) reply(usual());
  };
  const first = folder.start(args({ concurrency: '8', 'checkpoint.everyMs': '60000' }));
  await service.when(() => service.answered === 50 && service.unanswered.size === 8);
  const held = [...service.unanswered.keys()];
  first.kill('SIGTERM');
  // The drain waits: this time must pass without an end of the process.
  expect(await Promise.race([first.ended.then(() => 'ended'), later(300, 'waiting')])).toBe('waiting');
  // Two signals of one kind may arrive as one.
  first.kill('SIGINT');
  expect(await first.ended).toMatchObject({ code: 75, signal: null });
  service.script = (_asked, _response, reply, usual) => reply(usual());
  service.forget();
  expect(await folder.run(args({ 'checkpoint.everyMs': '60000', 'max-errors': '100%' }))).toMatchObject({ code: 0 });
  // A cancelled lookup has not failed. The next run asks for it again, and for nothing else.
  expect(service.calls.enrich).toBe(new Set(ROWS.flatMap(({ key }) => key ?? [])).size - 50);
  for (const key of held) expect(service.asked.get(key)).toBe(1);
  expect(await folder.read('out.csv')).toBe(await wholeOutput());
});

test('status shows a job before its start, while it runs, stopped and finished', async () => {
  const { folder, service, args } = await makeWorld(toCsv(ROWS));
  // With verify, no row would be written before a thousand addresses are collected.
  const enrich = { ...MOST_FAILED, steps: 'enrich' };
  const before = await status(folder);
  expect(before).toMatchObject({ job: 'out', state: 'not_started', position: null, share: 0, records: { total: 0, failed: 0 }, calls: {} });
  expect(await folder.files()).toEqual(['in.csv']);
  service.script = (asked, _response, reply, usual) => {
    if (asked.number <= 200) reply(usual());
  };
  const first = folder.start(args(enrich));
  await service.when(() => service.answered === 200 && service.unanswered.size > 0);
  for (let running = await status(folder); ; running = await status(folder)) {
    expect(running).toMatchObject({ state: 'running', finishedAt: null, exitCode: null });
    if ((running['records'] as { total: number }).total === 0) continue;
    expect(running['position']).toMatchObject({ file: 'in.csv', line: expect.any(Number), offset: expect.any(Number) });
    expect(running['share']).toBeGreaterThan(0);
    expect(running['share']).toBeLessThan(1);
    break;
  }
  // Two signals of one kind may arrive as one.
  first.kill('SIGTERM');
  first.kill('SIGINT');
  expect((await first.ended).code).toBe(75);
  service.script = (_asked, _response, reply, usual) => reply(usual());
  expect(await status(folder)).toMatchObject({ state: 'stopped', finishedAt: null });
  expect((await folder.json('out.csv.checkpoint.json'))['state']).toBe('stopped');
  expect((await folder.run(args(enrich))).code).toBe(0);
  const { state, position, share, expected, updatedAt, retry, ...rest } = await status(folder);
  expect({ state, share, expected }).toEqual({ state: 'finished', share: 1, expected: { records: ROWS.length, isExact: true } });
  expect([position, updatedAt, retry]).toEqual([expect.anything(), expect.any(String), null]);
  expect(rest).toEqual(await folder.json('out.csv.report.json'));
  // Match rates are shown of the kinds that the job has, and the stop has lost answers.
  const { people, companies, creditsAtLeast: _least, ...others } = rest;
  expect([people, companies]).toEqual([expect.anything(), expect.anything()]);
  expect(Object.keys(others).sort()).toEqual(
    Object.keys(before)
      .filter((key) => !['state', 'position', 'share', 'expected', 'updatedAt', 'retry'].includes(key))
      .sort(),
  );
});

test('a signal before the first call, in an outage or a throttle pause is 75 at once, and the job resumes', async () => {
  for (const reply of [
    { status: 500, body: '{}' },
    { status: 429, body: '{}', headers: { 'retry-after': '3' } },
  ]) {
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    // All at once, because no call is sent after the first answer that says "later".
    const held: (() => void)[] = [];
    service.script = (_asked, _response, send) => {
      held.push(() => send(reply));
      if (service.requests.length >= 12) for (const say of held.splice(0)) say();
    };
    const first = folder.start(args(MOST_FAILED));
    await service.sees(12);
    await service.when(() => service.unanswered.size === 0);
    first.kill('SIGTERM');
    expect((await first.ended).code).toBe(75);
    service.script = (_asked, _response, send, usual) => send(usual());
    expect((await folder.run(args(MOST_FAILED))).code).toBe(0);
    expect((await folder.json('out.csv.report.json'))['records']).toMatchObject({ total: ROWS.length });
  }
});

test('a signal while standard input is being read is 75, and no file stays behind', async () => {
  const { folder, service, args } = await makeWorld();
  const first = folder.start(args({ input: '-' }), { keepStdin: true });
  first.child.stdin?.write('email\nana@works.example\n');
  const { watch } = await import('node:fs/promises');
  for await (const { filename } of watch(folder.path)) if (filename?.includes('stdin') === true) break;
  first.kill('SIGTERM');
  expect(await first.ended).toMatchObject({ code: 75, stderr: expect.stringMatching(/^millrace: stopped by SIGTERM\n/) });
  expect(await folder.files()).toEqual([]);
  expect(service.requests).toEqual([]);
});
