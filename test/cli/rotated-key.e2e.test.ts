/** The key file is rewritten during a run, and the service refuses the old key. */
import { readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { Folder } from '../support/cli.ts';
import { API_KEY, type Reply, type ScriptedService } from '../support/scripted-service.ts';
import { makeWorld } from '../support/world.ts';

const INPUT = `name,email\n${Array.from({ length: 200 }, (_, i) => `Person ${i},person${i}@works.example\n`).join('')}`;
const SECOND = 'mr_test_second-key-never-to-be-seen-0123456789';
const THIRD = 'mr_test_third-key-never-to-be-seen-9876543210';
const REFUSED: Reply = { status: 401, body: '{"code":"unauthorized","detail":"no such key"}' };

/** The folder of mounted keys. A job's folder must not contain a key. */
async function keyFolder(): Promise<{ readonly keys: Folder; readonly env: Record<string, string> }> {
  const keys = await Folder.make();
  onTestFinished(() => keys.remove());
  await mountKey(keys, API_KEY, 1);
  return { keys, env: { MILLRACE_API_KEY: '', MILLRACE_API_KEY_FILE: keys.at('key') } };
}

/** Mounted as a Kubernetes Secret: the path leads through a symlink, which is replaced. */
async function mountKey(folder: Folder, key: string, version: number): Promise<void> {
  await writeFile(folder.at(`key.${version}`), `${key}\n`);
  await symlink(`key.${version}`, folder.at('key.new'));
  await rename(folder.at('key.new'), folder.at('key'));
}

/** From request `after` on the service holds its answers until `inFlight` requests wait. Then it refuses them, or answers as given. */
function holding(
  service: ScriptedService,
  after: number,
  inFlight: number,
): { readonly held: Promise<void>; release(answer?: Reply): void } {
  const waiting: { reply: (reply: Reply) => void; usual: () => Reply }[] = [];
  const held = Promise.withResolvers<void>();
  service.script = ({ number }, _response, reply, usual) => {
    if (number <= after) return reply(usual());
    waiting.push({ reply, usual });
    if (waiting.length === inFlight) held.resolve();
  };
  return {
    held: held.promise,
    release: (answer) => {
      service.script = (_asked, _response, reply, usual) => reply(usual());
      for (const { reply, usual } of waiting.splice(0)) reply(answer ?? usual());
    },
  };
}

async function expectNoKeys(folder: Folder, texts: readonly string[]): Promise<void> {
  for (const name of await folder.files()) texts = [...texts, (await readFile(folder.at(name))).toString('latin1')];
  for (const key of [API_KEY, SECOND, THIRD]) expect(texts.filter((text) => text.includes(key))).toEqual([]);
}

test('a run continues with an API key that was rotated twice: nothing fails, and only refused requests are sent again', async () => {
  const { folder, service, args } = await makeWorld(INPUT);
  const flags = { concurrency: '8', 'max-errors': '100%', steps: 'enrich' };
  expect((await folder.run(args({ ...flags, output: 'expected.csv' }))).code).toBe(0);
  const [expected, calls] = [await folder.read('expected.csv'), service.requests.length];
  service.forget();
  const { keys, env } = await keyFolder();
  const first = holding(service, 40, 8);
  const run = folder.start(args({ ...flags, progress: 'log' }), { env });
  await first.held;
  // The file is being written at the moment of the refusal.
  service.apiKey = SECOND;
  await mountKey(keys, '', 2);
  first.release(REFUSED);
  const again = holding(service, 100, 8);
  await writeFile(keys.at('key.2'), SECOND.slice(0, 20));
  await writeFile(keys.at('key.2'), SECOND);
  await again.held;
  service.apiKey = THIRD;
  await mountKey(keys, THIRD, 3);
  again.release(REFUSED);
  const { code, stderr, stdout } = await run.ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('"key_renewed"') });
  expect(stderr.match(/"key_renewed"/g)).toHaveLength(2);
  expect(await folder.read('out.csv')).toBe(expected);
  expect(service.requests.length).toBe(calls + 16);
  expect(await folder.json('out.csv.report.json')).toMatchObject({ retries: 0, exitCode: 0 });
  await expectNoKeys(folder, [stderr, stdout]);
});

test('a late refusal of the old API key does not reject the new one, and an echo of the new one is masked', async () => {
  const { folder, service, args } = await makeWorld(INPUT);
  const { keys, env } = await keyFolder();
  let late: ((reply: Reply) => void) | null = null;
  service.script = ({ number }, _response, reply, usual) => {
    if (number === 10) late = reply;
    else if (number === 60) {
      service.apiKey = SECOND;
      void mountKey(keys, SECOND, 2).then(() => reply(REFUSED));
    } else if (number === 150) {
      reply({
        status: 200,
        body: JSON.stringify({ ...(JSON.parse(String(usual().body)) as object), title: `you said ${SECOND} and ${API_KEY}` }),
      });
      late?.(REFUSED);
    } else reply(usual());
  };
  const { code, stderr, stdout } = await folder.run(
    args({ concurrency: '8', 'max-errors': '100%', steps: 'enrich', progress: 'log', 'log-level': 'trace' }),
    { env },
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('"key_renewed"') });
  expect(late).not.toBeNull();
  expect(await folder.read('out.csv')).toContain('you said [redacted] and [redacted]');
  expect((await folder.json('out.csv.report.json'))['records']).toMatchObject({ failed: 0 });
  await expectNoKeys(folder, [stderr, stdout]);
});

test('a refused API key that stays unchanged ends the run with 77 after it was read again; the same command continues', async () => {
  const { folder, service, args } = await makeWorld(INPUT);
  const { env } = await keyFolder();
  const command = args({ concurrency: '8', 'max-errors': '100%', steps: 'enrich' });
  service.script = ({ number }, _response, reply, usual) => reply(number < 30 ? usual() : REFUSED);
  expect(await folder.run(command, { env })).toMatchObject({
    code: 77,
    stderr: expect.stringContaining('its file was read again: it holds no other key'),
  });
  const asked = service.requests.length;
  expect(asked).toBeLessThan(30 + 2 * 8);
  service.script = (_asked, _response, reply, usual) => reply(usual());
  expect((await folder.run(command, { env })).code).toBe(0);
  expect((await folder.json('out.csv.report.json'))['records']).toMatchObject({ failed: 0 });
});

test('a refused API key from the environment ends the run with 77, without a look elsewhere', async () => {
  const { folder, service, args } = await makeWorld(INPUT);
  service.apiKey = SECOND;
  const { keys } = await keyFolder();
  await mountKey(keys, SECOND, 2);
  const { code, stderr } = await folder.run(args(), { env: { MILLRACE_API_KEY_FILE: keys.at('key') } });
  expect(code).toBe(77);
  expect(stderr).not.toContain('read again');
});

test('enrich and retry continue with an API key that was rotated', async () => {
  const { folder, service, args } = await makeWorld(INPUT);
  const { keys, env } = await keyFolder();
  service.script = ({ number }, _response, reply, usual) => {
    if (number !== 2) return reply(usual());
    service.apiKey = SECOND;
    void mountKey(keys, SECOND, 2).then(() => reply(REFUSED));
  };
  const { code, stdout, stderr } = await folder.run(
    [
      'enrich',
      'ana@works.example',
      'bea@works.example',
      'cleo@works.example',
      '--base-url',
      service.url,
      '--plan',
      'enterprise',
      '--concurrency',
      '1',
    ],
    { env },
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('its file holds another one now') });
  expect(stdout.trim().split('\n')).toHaveLength(3);
  service.script = ({ number }, _response, reply, usual) => reply(number % 5 === 0 ? { status: 422, body: '{}' } : usual());
  expect((await folder.run(args({ steps: 'enrich', 'max-errors': '100%' }), { env })).code).toBe(0);
  expect((await folder.json('out.csv.report.json'))['records']).not.toMatchObject({ failed: 0 });
  let refused = false;
  service.script = (_asked, _response, reply, usual) => {
    if (refused) return reply(usual());
    refused = true;
    service.apiKey = THIRD;
    void mountKey(keys, THIRD, 3).then(() => reply(REFUSED));
  };
  expect((await folder.run(['retry', ...args({ steps: 'enrich', 'max-errors': '100%' }).slice(1)], { env })).code).toBe(0);
  expect(refused).toBe(true);
  expect((await folder.json('out.csv.report.json'))['records']).toMatchObject({ failed: 0 });
});
