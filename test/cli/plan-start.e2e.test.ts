/** The files and keys that a plan needs, and jobs for which none is made. */
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { toCsv } from '../support/leads.ts';
import { flags, makeFolder, makeWorld } from '../support/world.ts';
import { type Plan, ROWS } from './planned.ts';

test('plan says that a run would miss its API key, and still counts', async () => {
  const { folder, service } = await makeWorld(toCsv(ROWS));
  const job = flags({ input: 'in.csv', output: 'out.csv', rpm: '600', 'base-url': service.url });
  const said = async (env: Record<string, string>, more: string[] = job): Promise<[code: number | null, said: string, apiKey: unknown]> => {
    const ended = await folder.run(['plan', ...more], { env });
    expect(ended.stderr).toBe('');
    const { apiKey } = JSON.parse((await folder.run(['plan', ...more, '--json'], { env })).stdout) as { apiKey: unknown };
    return [ended.code, ended.stdout.slice(ended.stdout.indexOf('millrace run')), apiKey];
  };
  const none = { MILLRACE_API_KEY: '', MILLRACE_API_KEY_FILE: '' };
  expect(await said(none)).toEqual([
    0,
    expect.stringMatching(/^millrace run +would end with 78: There is no API key\n +Set MILLRACE_API_KEY, /),
    'missing',
  ]);
  const run = await folder.run(['run', ...job], { env: none });
  expect([run.code, run.stderr]).toEqual([78, expect.stringContaining('There is no API key')]);
  expect(await said({ ...none, MILLRACE_API_KEY_FILE: 'no.key' })).toEqual([
    0,
    expect.stringMatching(/would end with 78: MILLRACE_API_KEY_FILE: no\.key does not exist\n/),
    'unusable',
  ]);
  expect(await said({ ...none, MILLRACE_API_KEY: 'k' })).toEqual([0, expect.stringMatching(/^millrace run +would start\n$/), 'set']);
  expect(await said(none, flags({ input: 'in.csv', output: 'out.csv', rpm: '600', embedded: true }))).toEqual([
    0,
    expect.stringMatching(/would start\n$/),
    'not_needed',
  ]);
  expect(service.requests).toEqual([]);
});

test('plan finds the sample job and its input from any folder, and prefers a local file of that name', async () => {
  const folder = await makeFolder();
  const planned = async (): Promise<Plan> => JSON.parse((await folder.run(['plan', 'sample', '--json'])).stdout) as Plan;
  expect(await planned()).toMatchObject({ job: 'sample', records: 2_500 });
  await mkdir(folder.at('fixtures'));
  await writeFile(folder.at('fixtures/leads.csv'), toCsv(ROWS));
  expect(await planned()).toMatchObject({ records: 400 });
});

test('plan refuses a job that could not start with the code of the run, and leaves no file', async () => {
  const { folder, service } = await makeWorld('colour\nred\n');
  const line = (more: Record<string, string>): string[] => [
    'plan',
    ...flags({ input: 'in.csv', output: 'out.csv', rpm: '600', 'base-url': service.url, ...more }),
  ];
  const temporary = folder.at('tmp');
  await mkdir(temporary);
  for (const [more, code] of [
    [{}, 65],
    [{ input: 'none.csv' }, 65],
    [{ rpm: '0' }, 64],
    [{ 'base-url': 'nowhere' }, 64],
  ] as const) {
    expect([more, (await folder.run(line(more), { env: { TMPDIR: temporary } })).code]).toEqual([more, code]);
  }
  await writeFile(folder.at('out.csv'), 'not ours');
  expect((await folder.run(line({}), { env: { TMPDIR: temporary } })).code).toBe(65);
  expect(await readdir(temporary)).toEqual([]);
  expect(await folder.files()).toEqual(['in.csv', 'out.csv']);
});

test('plan stopped while it reads standard input leaves no temporary file', async () => {
  const { folder } = await makeWorld();
  const temporary = folder.at('tmp');
  await mkdir(temporary);
  const started = folder.start(['plan', ...flags({ input: '-', output: 'out.csv', embedded: true })], {
    keepStdin: true,
    env: { TMPDIR: temporary },
  });
  // More than fits into the pipe, so the command is reading once the write is done.
  const taken = promisify((text: string, done: (error?: Error | null) => void) => started.child.stdin?.write(text, done));
  await taken(`Work Email\n${'ana@works1.example\n'.repeat(20_000)}`);
  expect((await readdir(temporary)).length).toBeGreaterThan(0);
  started.kill('SIGTERM');
  expect((await started.ended).code).toBe(75);
  expect(await readdir(temporary)).toEqual([]);
});

test('plan says that a run would end at a limit that is reached, and what the run then says', async () => {
  const { folder, service } = await makeWorld(toCsv(ROWS));
  const job = flags({ input: 'in.csv', output: 'out.csv', plan: 'enterprise', steps: 'enrich', 'base-url': service.url, 'max-calls': '5' });
  const reached = 'limits.maxCalls is reached: 5 of 5 calls were sent';
  const said = async (more: readonly string[] = []): Promise<string> => {
    const { stdout } = await folder.run(['plan', ...job, ...more]);
    return stdout.slice(stdout.indexOf('millrace run')).trimEnd();
  };
  expect(await said()).toMatch(/would start, and end with 77: limits.maxCalls leaves 5 requests of \d+ that are needed$/);
  for (let run = 0; run < 2; run++)
    expect(await folder.run(['run', ...job])).toMatchObject({ code: 77, stderr: expect.stringContaining(reached) });
  expect(await said()).toMatch(new RegExp(`would end with 77: ${reached}$`));
  expect(JSON.parse((await folder.run(['plan', ...job, '--json'])).stdout)).toMatchObject({
    ends: { exitCode: 77, code: 'max_calls', reason: reached, chance: 'certain', when: 'at_once' },
  });
});
