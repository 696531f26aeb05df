/**
 * The API key is nowhere in what a run says or leaves behind: not where the service sends it back, not where the run is killed, not where
 * it is given in the wrong place.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Ended, Folder } from '../support/cli.ts';
import { leads, toCsv } from '../support/leads.ts';
import { sampleOf } from '../support/sample.ts';
import { API_KEY, type Asked, type Reply, type ScriptedService } from '../support/scripted-service.ts';
import { makeFolder, makeWorld } from '../support/world.ts';

const ROWS = leads(100, 83);
const AUTH = `Bearer ${API_KEY}`;
/** A part of a key is a leak too, and so is an escaped one. */
const PART = 12;

function partsOf(text: string): string[] {
  return Array.from({ length: text.length - PART + 1 }, (_, i) => text.slice(i, i + PART));
}

const TRACES = [
  API_KEY,
  Buffer.from(API_KEY).toString('hex'),
  ...[0, 1, 2].map((shift) => Buffer.from(API_KEY.slice(shift)).toString('base64').replace(/=+$/, '')),
].flatMap(partsOf);

/** The names of files and outputs that contain the key, or a part of it. */
async function leaks(folder: Folder, said: readonly Ended[]): Promise<string[]> {
  const texts: [string, string][] = said.flatMap(({ stdout, stderr }, i): [string, string][] => [
    [`stdout ${i}`, stdout],
    [`stderr ${i}`, stderr],
  ]);
  for (const name of await folder.files()) texts.push([name, `${name}\n${(await readFile(folder.at(name))).toString('latin1')}`]);
  return texts.filter(([, text]) => TRACES.some((trace) => text.includes(trace))).map(([name]) => name);
}

/** Sends the key back in every header and field that a run may keep: plainly, escaped, and where details are cut off. */
function echo({ status, body }: Reply, { number }: Asked): Reply {
  const json = JSON.parse(String(body)) as Record<string, unknown>;
  const headers = { 'x-request-id': `${AUTH}-${number}`, 'x-echo': AUTH, warning: API_KEY, 'set-cookie': `a=${API_KEY}` };
  const detail = `${'x'.repeat(number % 300)} ${AUTH}`;
  const parts: Record<string, unknown> =
    status === 200 ? json : { ...json, code: API_KEY, detail, title: API_KEY, request_id: API_KEY, errors: [{ pointer: API_KEY, detail }] };
  if (status === 200 && Array.isArray(json['data']))
    parts['data'] = (json['data'] as object[]).map((verdict) => ({ ...verdict, result: API_KEY, reason: AUTH, [API_KEY]: 1 }));
  else if (status === 200)
    Object.assign(parts, { name: API_KEY, title: AUTH, [API_KEY]: AUTH, company: { name: detail, stack: [API_KEY] } });
  const text = JSON.stringify(parts);
  return { status, headers, body: number % 2 === 0 ? text : text.replaceAll(API_KEY, API_KEY.replaceAll('s', '\\u0073')) };
}

/** A service that sometimes throttles or fails, with the key in its message. */
function echoing(service: ScriptedService): void {
  service.script = (asked, _response, reply, usual) => {
    const trouble = asked.number % 23 === 0 ? { status: 429, body: '{}' } : asked.number === 29 ? { status: 500, body: '{}' } : null;
    const answer = echo(trouble ?? usual(), asked);
    reply(asked.number % 23 === 0 ? { ...answer, headers: { ...answer.headers, 'retry-after': '0' } } : answer);
  };
}

/** The number of calls in the checkpoint. */
async function callsKept(folder: Folder): Promise<number> {
  const { totals } = (await folder.json('out.csv.checkpoint.json').catch(() => ({}))) as { totals?: { calls: { enrich?: number } } };
  return totals?.calls.enrich ?? 0;
}

const MODES = [
  { progress: 'log', 'log-level': 'trace' },
  { progress: 'log', 'log-level': 'error' },
  { progress: 'auto' },
  { progress: 'bar' },
  { progress: 'none' },
] as const;
const MOST_FAILED = { 'max-errors': '100%' };

describe.each(sampleOf(MODES, 3))('the API key leaks nowhere with %j', (mode) => {
  // Modes differ in what is logged, not in the files that a kill leaves.
  const killed = ['trace', 'none'].includes('log-level' in mode ? mode['log-level'] : mode.progress);
  if (killed)
    test('when the service echoes it and the run is killed, resumed, finished and inspected', async () => {
      const { folder, service, args } = await makeWorld(toCsv(ROWS));
      echoing(service);
      const flags = args({ ...mode, ...MOST_FAILED, 'output.format': 'csv' });
      const usual = service.script;
      // The last answers are held back, so that the run is still active at the kill.
      service.script = (asked, response, reply, answer) => {
        if (asked.number <= 60) usual(asked, response, reply, answer);
      };
      const first = folder.start(flags);
      await service.when(() => service.answered === 60);
      // Waits for a checkpoint with answers.
      while ((await callsKept(folder)) < 60);
      first.kill('SIGKILL');
      const killed = await first.ended;
      expect(await folder.files()).toEqual(
        expect.arrayContaining([
          'out.csv.checkpoint.json',
          'out.csv.checkpoint.json.lock',
          'out.csv.ledger',
          'out.csv.ledger-wal',
          'out.csv.partial',
        ]),
      );
      expect(await leaks(folder, [killed])).toEqual([]);
      service.script = usual;
      const status = await folder.run(['status', '--input', 'in.csv', '--output', 'out.csv', '--embedded', '--json']);
      const finished = await folder.run(flags);
      expect(finished).toMatchObject({ code: 0, stdout: '' });
      const again = await folder.run(flags);
      // The echo is in the files, masked.
      for (const name of ['out.csv', 'out.csv.errors.jsonl', 'out.csv.report.json'])
        expect(await folder.read(name)).toContain('[redacted]');
      expect(await leaks(folder, [killed, status, finished, again])).toEqual([]);
    });

  test('when the service echoes it in every answer', async () => {
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    echoing(service);
    const ended = await folder.run(args({ ...mode, ...MOST_FAILED }));
    expect(ended).toMatchObject({ code: 0, stdout: '' });
    expect(await leaks(folder, [ended])).toEqual([]);
  });

  test('when the service refuses and echoes it', async () => {
    const code = mode.progress === 'bar' ? 403 : mode.progress === 'none' ? 402 : 401;
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    service.script = (asked, _response, reply, usual) => reply(echo(asked.number <= 20 ? usual() : { status: code, body: '{}' }, asked));
    const ended = await folder.run(args(mode));
    expect(ended.code).toBe(77);
    expect(ended.stderr).toMatch(new RegExp(`${code} .*\\[redacted\\]`));
    expect(await leaks(folder, [ended])).toEqual([]);
  });
});

test('the API key does not leak into rows on standard output', async () => {
  const { folder, service, args } = await makeWorld(toCsv(ROWS));
  echoing(service);
  const ended = await folder.run(args({ output: '-', 'output.format': 'jsonl', progress: 'log', ...MOST_FAILED }));
  expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('[redacted]') });
  expect(await leaks(folder, [ended])).toEqual([]);
});

test('an API key from a file does not leak when the service is down', async () => {
  const [{ folder, service, args }, elsewhere] = [await makeWorld(toCsv(ROWS)), await makeFolder()];
  const file = join(elsewhere.path, 'key');
  // In another folder and emptied below, because every folder is searched.
  await writeFile(file, `${API_KEY}\n`);
  try {
    await service.stop();
    const ended = await folder.run(args({ progress: 'log', 'log-level': 'trace', 'limits.maxOutageMs': '1' }), {
      env: { MILLRACE_API_KEY: '', MILLRACE_API_KEY_FILE: file },
    });
    expect(ended.code).toBe(69);
    expect(await leaks(folder, [ended])).toEqual([]);
  } finally {
    await writeFile(file, '');
  }
});

test('an API key in the wrong place is refused without being printed', async () => {
  const { folder, args } = await makeWorld(toCsv(ROWS));
  await writeFile(
    folder.at('job.json'),
    JSON.stringify({ input: { uri: 'in.csv' }, output: { uri: 'out.csv' }, service: { embedded: true, apiKey: API_KEY } }),
  );
  const said = [
    await folder.run([...args(), '--api-key', API_KEY]),
    await folder.run([...args(), `--api-key=${API_KEY}`]),
    await folder.run([...args(), `--service.apiKey=${API_KEY}`]),
    await folder.run(['run', 'job.json']),
    await folder.run(args(), { env: { MILLRACE_API_KEY: `${API_KEY} and more` } }),
    await folder.run(args(), { env: { MILLRACE_API_KEY: '', MILLRACE_API_KEY_FILE: folder.at('in.csv') } }),
  ];
  expect(said.map(({ code }) => code)).toEqual([64, 64, 64, 78, 78, 78]);
  await writeFile(folder.at('job.json'), '{}');
  expect(await leaks(folder, said)).toEqual([]);
});
