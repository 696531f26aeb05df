/** Standard input and standard output as input and output. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { BUNDLE } from '../support/cli.ts';
import { leads, toCsv, toJsonl } from '../support/leads.ts';
import { API_KEY } from '../support/scripted-service.ts';
import { sampleOf } from '../support/sample.ts';
import { makeWorld } from '../support/world.ts';

const ROWS = leads(200, 41);
const LENIENT = { 'max-errors': '100%' };
const FROM_STDIN = { input: '-', ...LENIENT };

async function fromFile(): Promise<string> {
  const { folder, args } = await makeWorld(toCsv(ROWS));
  expect((await folder.run(args(LENIENT))).code).toBe(0);
  return folder.read('out.csv');
}

describe('a run from standard input', () => {
  test.each([
    ['csv', toCsv(ROWS)],
    ['csv.gz, known by its first bytes', gzipSync(toCsv(ROWS))],
  ])('reads %s as from a file, and leaves nothing in --scratch', async (_, stdin) => {
    const { folder, args } = await makeWorld();
    expect(await folder.run(args(FROM_STDIN), { stdin })).toMatchObject({ code: 0, stderr: '' });
    expect(await folder.read('out.csv')).toBe(await fromFile());
    expect((await folder.files()).filter((name) => name.includes('stdin'))).toEqual([]);
  });

  test('recognises JSONL by its first character', async () => {
    const { folder, args } = await makeWorld();
    expect((await folder.run(args({ ...FROM_STDIN, output: 'out.jsonl' }), { stdin: toJsonl(ROWS) })).code).toBe(0);
    const rows = (await folder.read('out.jsonl'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { input: { name: string } });
    expect(rows.map(({ input }) => input.name)).toEqual(ROWS.map(({ cells }) => cells[0]));
  });

  test.each(
    sampleOf(
      [
        ['resumes when the same input is piped again', toCsv(ROWS), true],
        ['resumes without the input', undefined, true],
        ['resumes from an empty pipe', '', true],
        ['refuses other content', toCsv(ROWS).replace('Note', 'NOTE'), false],
      ] as const,
      2,
    ),
  )('%s, after a kill', async (_, stdin, resumes) => {
    const { folder, service, args } = await makeWorld();
    service.latencyMs = 3;
    const first = folder.start(args(FROM_STDIN), { stdin: toCsv(ROWS) });
    await service.sees(60);
    first.kill('SIGKILL');
    await first.ended;
    const again = await folder.run(args(FROM_STDIN), stdin === undefined ? {} : { stdin });
    if (!resumes) {
      expect(again).toMatchObject({ code: 65, stderr: expect.stringMatching(/the input changed while the job was under way/) });
      expect((await folder.run(args(FROM_STDIN), { stdin: toCsv(ROWS) })).code).toBe(0);
    } else {
      expect(again.code).toBe(0);
    }
    expect(await folder.read('out.csv')).toBe(await fromFile());
    expect((await folder.files()).filter((name) => name.includes('stdin'))).toEqual([]);
  });

  test('changes nothing once finished, for the same or an empty input; other content is a new run', async () => {
    const { folder, service, args } = await makeWorld();
    expect((await folder.run(args(FROM_STDIN), { stdin: toCsv(ROWS) })).code).toBe(0);
    const before = await folder.read('out.csv');
    service.forget();
    for (const [stdin, because] of [
      [toCsv(ROWS), 'its input has not changed'],
      ['', 'standard input was empty: its output is kept'],
      [undefined, 'standard input was empty: its output is kept'],
    ] as const) {
      const again = await folder.run(args({ ...FROM_STDIN, progress: 'log' }), stdin === undefined ? {} : { stdin });
      expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining(because) });
      expect(await folder.read('out.csv')).toBe(before);
    }
    expect(service.requests).toEqual([]);
    expect((await folder.run(args(FROM_STDIN), { stdin: toCsv(ROWS.slice(0, 10)) })).code).toBe(0);
    expect((await folder.json('out.csv.report.json'))['records']).toMatchObject({ total: 10 });
    expect((await folder.files()).filter((name) => name.includes('stdin'))).toEqual([]);
  });

  test('spools to --scratch, and removes an unusable input from there', async () => {
    const { folder, args } = await makeWorld();
    expect(await folder.run(args({ ...FROM_STDIN, scratch: 'scratch' }), { stdin: 'colour\nred\n' })).toMatchObject({ code: 65 });
    expect(await folder.files()).toEqual([]);
    expect((await folder.run(args({ ...FROM_STDIN, scratch: 'scratch' }), { stdin: toCsv(ROWS) })).code).toBe(0);
    expect((await folder.files()).filter((name) => name.startsWith('scratch'))).toEqual([]);
  });
});

describe('a run to standard output', () => {
  test('prints the rows alone, and makes no file', async () => {
    const { folder, args } = await makeWorld(toCsv(ROWS));
    const ended = await folder.run(args({ ...LENIENT, output: '-', 'checkpoint.everyMs': false, progress: 'log' }));
    expect(ended.code).toBe(0);
    expect(ended.stdout).toBe(await fromFile());
    for (const line of ended.stderr.trimEnd().split('\n')) JSON.parse(line);
    expect(await folder.files()).toEqual(['in.csv']);
  });

  test('prints JSONL, also from standard input', async () => {
    const { folder, args } = await makeWorld();
    const ended = await folder.run(args({ ...FROM_STDIN, output: '-', 'output.format': 'jsonl', 'checkpoint.everyMs': false }), {
      stdin: toJsonl(ROWS),
    });
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(
      ended.stdout
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { input: { name: string } }).input.name),
    ).toEqual(ROWS.map(({ cells }) => cells[0]));
    expect(await folder.files()).toEqual([]);
  });

  test('ends with 1 when too many failed', async () => {
    const { folder, args } = await makeWorld('email\nrefused@works1.example\nana@works1.example\n');
    expect((await folder.run(args({ output: '-', 'checkpoint.everyMs': false, 'max-errors': '1' }))).code).toBe(0);
    expect((await folder.run(args({ output: '-', 'checkpoint.everyMs': false, 'max-errors': '0' }))).code).toBe(1);
  });

  test('ends with 74 and one line of text when the reader closes the pipe', async () => {
    const { folder, service, args } = await makeWorld(toCsv(leads(3_000, 42)));
    const line = args({ ...LENIENT, output: '-', 'checkpoint.everyMs': false, steps: 'enrich' });
    // `head` ends after the first lines, and the service answers only after that. So rows must meet a closed pipe.
    const shell = spawn(
      'bash',
      ['-c', 'set -o pipefail; "$0" "$@" | head -n 3; exit "${PIPESTATUS[0]}"', process.execPath, BUNDLE, ...line],
      {
        cwd: folder.path,
        env: { ...process.env, MILLRACE_API_KEY: API_KEY },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const [stdout, stderr] = await Promise.all([shell.stdout.setEncoding('utf8').toArray(), shell.stderr.setEncoding('utf8').toArray()]);
    const code = shell.exitCode ?? (await new Promise<number | null>((resolve) => shell.once('exit', resolve)));
    expect(stdout.join('').split('\n').length).toBe(4);
    expect({ code, stderr: stderr.join('') }).toEqual({
      code: 74,
      stderr: expect.stringMatching(/^millrace: standard output was closed before the last row: .*EPIPE.*\n  [^\n]+\n$/),
    });
    expect(service.requests.length).toBeLessThan(3_000);
  });

  test('says when it stops that the next run starts over, because it keeps no checkpoint', async () => {
    const { folder, args } = await makeWorld(toCsv(ROWS));
    const ended = await folder.run(args({ ...LENIENT, output: '-', 'checkpoint.everyMs': false, 'max-calls': '2' }));
    expect(ended).toMatchObject({
      code: 77,
      stderr: expect.stringContaining('Raise --max-calls and run the same command: it starts over; a file as --output can be resumed.\n'),
    });
  });

  test.runIf(existsSync('/dev/full'))('loses only the log when standard error is full', async () => {
    const { folder, args } = await makeWorld(toCsv(ROWS));
    const run = spawn('bash', ['-c', '"$0" "$@" 2> /dev/full', process.execPath, BUNDLE, ...args({ ...LENIENT, progress: 'log' })], {
      cwd: folder.path,
      env: { ...process.env, MILLRACE_API_KEY: API_KEY },
      stdio: 'ignore',
    });
    expect(await once(run, 'close')).toEqual([0, null]);
    expect(JSON.parse(await folder.read('out.csv.report.json'))).toMatchObject({ records: { total: ROWS.length } });
    const serve = spawn('bash', ['-c', 'exec "$0" "$@" 2> /dev/full', process.execPath, BUNDLE, 'serve', '--sample', '--port', '0'], {
      cwd: folder.path,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [ready] = (await once(serve.stdout.setEncoding('utf8'), 'data')) as [string];
    const { url } = JSON.parse(ready) as { url: string };
    // Several times, so that the log has had lines to write.
    for (let n = 0; n < 200; n++)
      expect((await fetch(`${url}/v1/companies/none.example`, { headers: { authorization: 'Bearer sample-key' } })).status).toBe(404);
    serve.kill('SIGTERM');
    expect(await once(serve, 'close')).toEqual([0, null]);
  });

  test.runIf(existsSync('/dev/full'))('reports a full disk as such, and not as a closed pipe', async () => {
    const { folder, args } = await makeWorld(toCsv(ROWS));
    const line = args({ ...LENIENT, output: '-', 'checkpoint.everyMs': false });
    const shell = spawn('bash', ['-c', '"$0" "$@" > /dev/full', process.execPath, BUNDLE, ...line], {
      cwd: folder.path,
      env: { ...process.env, MILLRACE_API_KEY: API_KEY },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [stderr, [code]] = await Promise.all([shell.stderr.setEncoding('utf8').toArray(), once(shell, 'close')]);
    expect({ code: code as unknown, stderr: stderr.join('') }).toEqual({
      code: 74,
      stderr: expect.stringMatching(
        /^millrace: standard output could not be written: ENOSPC[^\n]*\n  Free some space, then run the same command: it starts over\.\n$/,
      ),
    });
  });
});
