import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { Folder } from '../support/cli.ts';
import { ScriptedService, type Reply } from '../support/scripted-service.ts';

let service: ScriptedService;
let folder: Folder;
beforeAll(async () => {
  service = await ScriptedService.start();
  folder = await Folder.make();
});
beforeEach(() => {
  service.forget();
  service.script = (_asked, _response, reply, usual) => reply(usual());
});
afterEach(async () => {
  expect(await folder.secrets()).toEqual([]);
});
afterAll(async () => {
  await service.stop();
  await folder.remove();
});

const flags = (command: string): string[] => [command, '--base-url', service.url, '--plan', 'enterprise'];
const parsed = (stdout: string): Record<string, unknown>[] =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
const problem = (status: number, code: string, headers: Record<string, string> = {}): Reply => ({
  status,
  body: JSON.stringify({ code, detail: code }),
  headers,
});

it('enrich prints one line per key in input order, whatever the order of the answers, and asks for each key once', async () => {
  const held: (() => void)[] = [];
  service.script = (asked, _response, reply, usual) => {
    const [key = ''] = asked.keys;
    const answer = (): void =>
      reply(
        key === 'nobody@works.example'
          ? problem(404, 'no_match')
          : key === 'gone@works.example'
            ? problem(451, 'suppressed_person')
            : key === 'broken@works.example'
              ? problem(422, 'validation_failed')
              : usual(),
      );
    // The first key is answered last.
    if (key === 'ana@works.example') held.push(answer);
    else answer();
    if (service.requests.length === 5) for (const one of held.splice(0)) one();
  };
  const keys = [
    'ana@works.example',
    'Ana@Works.example ',
    'works.example',
    'nobody@works.example',
    'no key',
    'gone@works.example',
    'broken@works.example',
  ];
  const { code, stdout, stderr } = await folder.run([...flags('enrich'), '-'], {
    stdin: Buffer.concat([Buffer.from(`${keys.join('\n')}\n`), Buffer.from([0x62, 0xff, 0x40, 0x78, 0x0a])]),
  });
  expect({ code, stderr }).toEqual({ code: 1, stderr: 'millrace: 3 of 8 could not be looked up\n' });
  const [ana, again, works, ...rest] = parsed(stdout);
  expect([ana, again]).toMatchObject([{ name: 'Name of ana@works.example', verified: expect.any(Boolean) as boolean }, ana ?? {}]);
  expect(works).toHaveProperty('company');
  expect(rest).toEqual([
    { key: 'nobody@works.example', outcome: 'no_match', error: null },
    { key: 'no key', outcome: 'invalid', error: 'bad_domain' },
    { key: 'gone@works.example', outcome: 'suppressed', error: null },
    { key: 'broken@works.example', outcome: 'failed', error: 'validation_failed' },
    { key: null, line: 8, outcome: 'invalid', error: 'bad_encoding' },
  ]);
  expect([service.requests.length, service.repeated]).toEqual([5, 0]);
});

it('enrich and verify ask for the cleaned key, and verify prints the address it asked for', async () => {
  const keys = ['mailto:ana@works.example', 'Ana <ana@works.example>', 'ana\uff20works.example'];
  const verified = await folder.run([...flags('verify'), ...keys]);
  expect(parsed(verified.stdout).map(({ email, did_you_mean: meant }) => [email, meant])).toEqual(
    keys.map((key) => [key, 'ana@works.example']),
  );
  const enriched = await folder.run([...flags('enrich'), ...keys, 'https//works.example']);
  expect(enriched.code).toBe(0);
  expect([...service.asked.keys()].sort()).toEqual(['enrich ana@works.example', 'enrich works.example', 'verify ana@works.example']);
  const here = await folder.run(['verify', '--local', '--mode', 'syntax', 'Ana <ana@works.example>']);
  expect(parsed(here.stdout)).toMatchObject([
    { email: 'Ana <ana@works.example>', normalized: 'ana@works.example', did_you_mean: 'ana@works.example' },
  ]);
});

it('verify fills requests of a thousand, waits for pending verdicts on demand, and prints each address as given', async () => {
  let refusals = 0;
  service.script = (_asked, _response, reply, usual) =>
    reply(refusals++ === 0 ? problem(429, 'rate_limited', { 'retry-after': '0' }) : usual());
  const emails = Array.from({ length: 2_300 }, (_, n) => `User${n % 2_100}@works.example`);
  const { code, stdout } = await folder.run([...flags('verify'), '-'], { stdin: emails.join('\n') });
  expect(code).toBe(0);
  expect(parsed(stdout).map(({ email }) => email)).toEqual(emails);
  expect(new Set(parsed(stdout).map(({ result }) => typeof result))).toEqual(new Set(['string']));
  expect(
    service.exchanges
      .filter(({ status }) => status === 200)
      .map(({ asked }) => asked.keys.length)
      .sort((a, b) => a - b),
  ).toEqual([100, 1_000, 1_000]);
  expect(new Set(service.exchanges.map(({ asked }) => asked.idempotencyKey)).size).toBe(3);
});

it('enrich and verify end with the exit code that a run would have', async () => {
  service.script = (_asked, _response, reply) => reply(problem(402, 'insufficient_credits'));
  expect(await folder.run([...flags('enrich'), 'ana@works.example'])).toMatchObject({
    code: 77,
    stdout: '',
    stderr: expect.stringMatching(/credits are used up.*\n {2}Top up, then run the same command\.\n/) as string,
  });
  service.script = (_asked, _response, reply, usual) => reply(usual());
  const limited = await folder.run([
    ...flags('enrich'),
    '--max-calls',
    '2',
    ...['ana', 'bob', 'cy'].map((name) => `${name}@works.example`),
  ]);
  expect(limited).toMatchObject({
    code: 77,
    stderr: expect.stringMatching(/limits\.maxCalls is reached.*\n {2}Raise --max-calls and run the same command\.\n/) as string,
  });
  expect(limited.stdout.split('\n')).toHaveLength(3);
  service.script = (_asked, _response, reply) => reply(problem(503, 'overloaded', { 'retry-after': '60' }));
  expect(await folder.run([...flags('enrich'), '--limits.maxWaitMs', '1000', 'ana@works.example'])).toMatchObject({
    code: 69,
    stdout: '',
    stderr: expect.stringMatching(/Run the same command after \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\.\n/) as string,
  });
});

it('enrich and verify end at once on a signal or a fatal answer, although standard input is still open', async () => {
  const waiting = folder.start([...flags('enrich'), '-'], { keepStdin: true });
  waiting.child.stdin?.write('ana@works.example\n');
  await waiting.says('ana@works.example');
  waiting.kill('SIGTERM');
  expect(await waiting.ended).toMatchObject({
    code: 75,
    stderr: expect.stringMatching(/stopped by SIGTERM\n {2}What was answered has been printed/) as string,
  });
  service.script = (_asked, _response, reply) => reply(problem(401, 'unauthorized'));
  const refused = folder.start([...flags('verify'), '-'], { keepStdin: true });
  refused.child.stdin?.write(`${Array.from({ length: 1_000 }, (_, n) => `u${n}@works.example`).join('\n')}\n`);
  expect(await refused.ended).toMatchObject({ code: 77 });
});

it('enrich stops sending requests once its standard output is closed', async () => {
  const started = folder.start([...flags('enrich'), '--concurrency', '1', '-'], { keepStdin: true });
  started.child.stdin?.write('ana@works.example\n');
  await started.says('ana@works.example');
  started.child.stdout?.destroy();
  started.child.stdin?.end(Array.from({ length: 3_000 }, (_, n) => `u${n}@works.example`).join('\n'));
  expect(await started.ended).toMatchObject({ code: 74 });
  expect(service.requests.length).toBeLessThan(1_000);
});
