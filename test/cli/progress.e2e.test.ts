import { spawn, spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { BUNDLE, type Folder } from '../support/cli.ts';
import { leads, toCsv } from '../support/leads.ts';
import { API_KEY, problem } from '../support/scripted-service.ts';
import { makeWorld } from '../support/world.ts';

const ROWS = leads(120, 61);

test('with --progress log each line of standard error is JSON, from started to finished, and standard output is empty', async () => {
  const { folder, args } = await makeWorld(toCsv(ROWS));
  const ended = await folder.run(args({ progress: 'auto', 'max-errors': '100%' }));
  expect(ended).toMatchObject({ code: 0, stdout: '' });
  const lines = ended.stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.map(({ event }) => event)).toEqual(['started', 'column', 'column', 'finished']);
  const { level: _, time: __, event: ___, msg: ____, ...report } = lines.at(-1) ?? {};
  expect(report).toEqual(await folder.json('out.csv.report.json'));
  const quiet = await folder.run(args({ progress: 'auto', 'log-level': 'error', fresh: true, 'max-errors': '100%' }));
  expect(quiet).toMatchObject({ code: 0, stderr: '' });
});

test('without a terminal a run writes lines for people: the start, warnings, and the summary at the end', async () => {
  const { folder, args } = await makeWorld(toCsv(ROWS));
  const plain = { env: { MILLRACE_LOG_FORMAT: '' } };
  const ended = await folder.run(args({ progress: 'auto', 'max-errors': '100%' }), plain);
  expect(ended).toMatchObject({ code: 0, stdout: '' });
  const [started, column, , finished, , ...summary] = ended.stderr.split('\n');
  expect(started).toMatch(/^\d\d:\d\d:\d\d Started out\.$/);
  expect(column).toMatch(/^\d\d:\d\d:\d\d \w+ from "/);
  expect(finished).toMatch(/^\d\d:\d\d:\d\d Finished out\.$/);
  expect(summary[0]).toMatch(/^records +120 /);
  // No row of the output is in a log.
  expect(ended.stderr).not.toMatch(/@works\.example/);
  const quiet = await folder.run(args({ progress: 'auto', 'log-level': 'warn', fresh: true, 'max-errors': '100%' }), plain);
  expect(quiet).toMatchObject({ code: 0, stderr: '' });
});

test('with --progress log a run that stops writes JSON lines and its error message as text', async () => {
  const { folder, service, args } = await makeWorld(toCsv(ROWS));
  service.latencyMs = 5;
  const run = folder.start(args({ progress: 'log' }));
  await service.sees(30);
  run.kill('SIGTERM');
  const lines = (await run.ended).stderr.trimEnd().split('\n');
  expect(lines.slice(0, -2).map((line) => (JSON.parse(line) as { event: string }).event)).toEqual([
    'started',
    'column',
    'column',
    'stopped',
  ]);
  expect(lines.slice(-2)).toEqual(['millrace: stopped by SIGTERM', '  Run the same command: the job resumes where it stopped.']);
  const again = await folder.run(args({ progress: 'log', 'max-errors': '100%' }));
  expect(
    again.stderr
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => (JSON.parse(line) as { event: string }).event),
  ).toEqual(['resumed', 'finished']);
});

test('with --progress none a run prints only warnings and errors', async () => {
  const { folder, service, args } = await makeWorld(toCsv(ROWS));
  await writeFile(folder.at('in.csv'), 'email\nana@works.example,surplus\n');
  const line = args({ steps: 'enrich', progress: 'none', 'limits.maxOutageMs': '500' });
  service.script = (_asked, _response, reply) => reply({ status: 503, body: '' });
  const down = await folder.run(line);
  expect(down.code).toBe(69);
  expect(down.stderr).toMatch(
    new RegExp(
      String.raw`^warning: .*has more fields than the header.*\nwarning: the service is down \(http_503.*\n` +
        String.raw`millrace: the service has been unavailable for .*\n {2}Run the same command when it is back: the job resumes\.\n$`,
    ),
  );
  service.script = (_asked, _response, reply, usual) => reply(usual());
  expect(await folder.run(line)).toMatchObject({ code: 0, stdout: '', stderr: expect.not.stringContaining('service') });
  expect(await folder.run(line)).toMatchObject({ code: 0, stdout: '', stderr: '' });
});

test('with --progress bar a run prints a summary, the path of its result, and the first rows', async () => {
  const { folder, args } = await makeWorld(toCsv(ROWS));
  const { code, stderr, stdout } = await folder.run(args({ progress: 'bar', 'max-errors': '100%' }));
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  expect(stderr).toMatch(
    new RegExp(
      String.raw`^records +120  the shares are of these$[\s\S]*^ {2}matched +\d+ +[\d.]+ %$[\s\S]*` +
        String.raw`^requests +\d+ +enrich \d+, verify 1$[\s\S]*` +
        String.raw`^Most errors: [\w:]+ \d+.*\nResult: out\.csv\nReport: out\.csv\.report\.html \(\.report\.json for programs\)\n` +
        String.raw`Errors: out\.csv\.errors\.jsonl\nTo ask again for the failed ones, [^\n]*\n\n` +
        String.raw`Work Email +result\.outcome .*\nperson61-0@works35\.example +matched `,
      'm',
    ),
  );
});

/** Runs on a terminal and collects matches of a pattern until `enough` were seen; then `then` is called, and the run ends. */
async function watch(folder: Folder, args: readonly string[], pattern: RegExp, enough: number, then: () => void): Promise<string[]> {
  const line = [process.execPath, BUNDLE, ...args].map((word) => `'${word}'`).join(' ');
  const terminal = spawn('script', ['-qec', line, '/dev/null'], {
    cwd: folder.path,
    env: { ...process.env, CI: '', TERM: 'xterm', MILLRACE_API_KEY: API_KEY },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let seen = '';
  const found = (): string[] => [...new Set(seen.match(pattern) ?? [])];
  for await (const text of terminal.stdout.setEncoding('utf8')) {
    seen += text as string;
    if (found().length >= enough) then();
  }
  return found();
}

const onTerminal = test.runIf(spawnSync('script', ['--version']).status === 0);

onTerminal('on a terminal: a wait that the service asked for counts down', async () => {
  const { folder, service, args } = await makeWorld(toCsv(ROWS));
  service.script = (asked, _response, reply, usual) =>
    reply(asked.number === 50 ? { ...problem(429, 'rate_limited'), headers: { 'retry-after': '3' } } : usual());
  const found = await watch(folder, args({ progress: 'auto', 'max-errors': '100%' }), /THROTTLED, \d+ s left/g, Infinity, () => undefined);
  const seconds = found.map((text) => Number(/\d+/.exec(text)?.[0]));
  expect(seconds.length).toBeGreaterThanOrEqual(2);
  expect(seconds[0]).toBeLessThanOrEqual(3);
  expect(seconds).toEqual(seconds.toSorted((a, b) => b - a));
});

onTerminal('on a terminal: an outage says for how long, and when the service is asked again', async () => {
  const { folder, service, args } = await makeWorld(toCsv(ROWS));
  service.script = (_asked, response) => response.destroy();
  const found = await watch(
    folder,
    args({ progress: 'auto', 'max-errors': '100%' }),
    /SERVICE DOWN, next probe in \d+ s \(for \d+ s\)/g,
    5,
    () => {
      service.script = (_asked, _response, reply, usual) => reply(usual());
    },
  );
  const numbers = found.map((text) => (text.match(/\d+/g) ?? []).map(Number));
  const downFor = numbers.map(([, forS]) => forS as number);
  expect(downFor).toEqual(downFor.toSorted((a, b) => a - b));
  // A probe that failed begins a longer wait; between two probes it only gets shorter.
  expect(numbers.some(([leftS], i) => i > 0 && (leftS as number) < (numbers[i - 1]?.[0] as number))).toBe(true);
  expect((await folder.json('out.csv.report.json'))['records']).toMatchObject({ total: 120 });
});
