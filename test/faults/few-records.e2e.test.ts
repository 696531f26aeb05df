/** An outage with fewer than ten lookups left: the run waits and fails none of them. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { CERTIFICATE, EXPIRED_CERTIFICATE, EXPIRED_KEY, KEY } from '../services/certificate.ts';
import { cleanUp } from '../support/clean-up.ts';
import type { Started } from '../support/cli.ts';
import { sampleOf } from '../support/sample.ts';
import { problem, type Reply, type ScriptedService } from '../support/scripted-service.ts';
import { flags, makeFolder, makeWorld, type World } from '../support/world.ts';
import { emailOf, expectAllFound, expectOneKeyPerBody, people } from './people.ts';
import { SEED } from '../support/seed.ts';

const DOWN = 'the service is down';
const PAGE = '<!doctype html><title>Back soon</title>';

const usual: ScriptedService['script'] = (_asked, _response, reply, answer) => reply(answer());
const replies =
  (reply: Reply): ScriptedService['script'] =>
  (_asked, _response, send) =>
    send(reply);

interface Way {
  readonly name: string;
  begin(service: ScriptedService): Promise<void> | void;
  end(service: ScriptedService): Promise<void> | void;
}

const scripted = (name: string, script: ScriptedService['script']): Way => ({
  name,
  begin: (service) => void (service.script = script),
  end: (service) => void (service.script = usual),
});

const WAYS: readonly Way[] = [
  scripted('503', replies(problem(503, 'unavailable'))),
  scripted('500', replies(problem(500, 'internal'))),
  scripted('an HTML page', replies({ status: 200, body: PAGE, headers: { 'content-type': 'text/html' } })),
  scripted('an HTML page with a 502', replies({ status: 502, body: PAGE, headers: { 'content-type': 'text/html' } })),
  scripted('connections are cut', (_asked, response) => void response.socket?.destroy()),
  { name: 'nobody listens', begin: (service) => service.stop(), end: (service) => service.listen(service.port) },
];

/** The outage lasts until the run has noticed it. */
async function untilNoticed(way: Way, { service }: World, ...runs: Started[]): Promise<void> {
  await Promise.all(runs.map((run) => run.says(DOWN)));
  await way.end(service);
}

test.each([1, 5])(`%d rows: the run waits for any kind of outage and finds every row (SEED=${SEED})`, async (records) => {
  await Promise.all(
    sampleOf(WAYS, 2, SEED + records).map(async (way) => {
      const world = await makeWorld(people(records));
      await way.begin(world.service);
      const run = world.folder.start(world.args({ steps: 'enrich' }));
      await untilNoticed(way, world, run);
      expect(await run.ended, way.name).toMatchObject({ code: 0 });
      await expectAllFound(world.folder, records);
      expectOneKeyPerBody(world.service);
    }),
  );
});

describe('an outage (503) that begins', () => {
  const [way] = WAYS as [Way];
  const refuse = problem(503, 'unavailable');

  test('before the last row of a long run makes the run wait', async () => {
    const world = await makeWorld(people(300));
    const { folder, service, args } = world;
    // It begins after all other rows are answered.
    service.script = ({ keys }, _response, reply, answer) => {
      if (keys[0] === emailOf(299)) void service.when(() => service.answered >= 299).then(() => reply(refuse));
      else reply(answer());
    };
    const run = folder.start(args({ steps: 'enrich' }));
    await untilNoticed(way, world, run);
    expect((await run.ended).code).toBe(0);
    await expectAllFound(folder, 300);
    expect(service.repeated).toBe((service.asked.get(`enrich ${emailOf(299)}`) ?? 0) - 1);
  });

  test('before a retry makes the retry wait', async () => {
    const world = await makeWorld(people(20));
    const { folder, service, args } = world;
    service.script = ({ keys }, _response, reply, answer) => reply(keys[0] === emailOf(7) ? problem(500, 'internal') : answer());
    expect((await folder.run(args({ steps: 'enrich', 'max-errors': '0' }))).code).toBe(1);
    await way.begin(service);
    const retry = folder.start(['retry', ...args({ steps: 'enrich', 'max-errors': '0' }).slice(1)]);
    await untilNoticed(way, world, retry);
    expect((await retry.ended).code).toBe(0);
    await expectAllFound(folder, 20);
  });

  test('before two shards of three rows each makes both wait', async () => {
    const world = await makeWorld(people(6));
    const { folder, service, args } = world;
    await way.begin(service);
    const runs = ['0/2', '1/2'].map((shard) => folder.start(args({ steps: 'enrich', shard })));
    await untilNoticed(way, world, ...runs);
    for (const run of runs) expect((await run.ended).code).toBe(0);
    await expectAllFound(folder, 6);
  });

  test('before a verify request of five addresses makes the run wait, and the same request is sent again', async () => {
    const world = await makeWorld(people(5));
    const { folder, service, args } = world;
    await way.begin(service);
    const run = folder.start(args({ steps: 'verify' }));
    await untilNoticed(way, world, run);
    expect((await run.ended).code).toBe(0);
    await expectAllFound(folder, 5);
    expect(new Set(service.requests.map(({ keys }) => keys.length))).toEqual(new Set([5]));
    expectOneKeyPerBody(service);
  });

  test('before any row and outlasts limits.maxOutageMs ends with 69, and the next run finds every row', async () => {
    const { folder, service, args } = await makeWorld(people(5));
    await way.begin(service);
    expect((await folder.run(args({ steps: 'enrich', 'limits.maxOutageMs': '1000' }))).code).toBe(69);
    await way.end(service);
    expect((await folder.run(args({ steps: 'enrich', 'limits.maxOutageMs': '1000' }))).code).toBe(0);
    await expectAllFound(folder, 5);
  });

  test.each(['enrich', 'verify'])('before millrace %s makes it wait as long as permitted, and no longer', async (command) => {
    const world = await makeWorld();
    const { folder, service } = world;
    await way.begin(service);
    const line = (maxOutageMs: string): string[] => [
      command,
      'ana@works.example',
      ...flags({ 'base-url': service.url, plan: 'enterprise', json: true, 'limits.maxOutageMs': maxOutageMs }),
    ];
    expect(await folder.run(line('1000'))).toMatchObject({ code: 69, stdout: '' });
    const run = folder.start(line('60000'));
    await untilNoticed(way, world, run);
    expect(await run.ended).toMatchObject({ code: 0, stdout: expect.stringContaining('ana@works.example') });
  });
});

test('one row of five that always gets a 500 fails alone, and the run does not wait', async () => {
  const { folder, service, args } = await makeWorld(people(5));
  service.script = ({ keys }, _response, reply, answer) => reply(keys[0] === emailOf(2) ? problem(500, 'internal') : answer());
  expect(await folder.run(args({ steps: 'enrich', 'max-errors': '0' }))).toMatchObject({ code: 1, stderr: '' });
  await expectAllFound(folder, 5, new Set([2]));
  expect(service.asked.get(`enrich ${emailOf(2)}`)).toBe(5);
});

test('one address of a verify request that always gets a 500 fails alone, although no address was answered before', async () => {
  const { folder, service, args } = await makeWorld(people(5));
  service.script = ({ keys }, _response, reply, answer) => reply(keys.includes(emailOf(4)) ? problem(500, 'internal') : answer());
  expect((await folder.run(args({ steps: 'verify', 'max-errors': '0' }))).code).toBe(1);
  await expectAllFound(folder, 5, new Set([4]));
});

test('a certificate that expires during a run is an outage, and the wait names it', async () => {
  const folder = await makeFolder();
  await writeFile(folder.at('in.csv'), people(6));
  await writeFile(folder.at('ca.pem'), CERTIFICATE);
  let answers = 0;
  const server = createHttps({ key: KEY, cert: CERTIFICATE }, (request, response) => {
    request.resume().once('end', () => {
      if (++answers === 3) server.setSecureContext({ key: EXPIRED_KEY, cert: EXPIRED_CERTIFICATE });
      response.writeHead(200, { 'content-type': 'application/json', connection: 'close' }).end('{"name":"Ana"}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp(() => void server.close());
  const run = folder.start(
    [
      'run',
      ...flags({
        input: 'in.csv',
        output: 'out.csv',
        steps: 'enrich',
        plan: 'enterprise',
        'base-url': `https://localhost:${(server.address() as AddressInfo).port}`,
        progress: 'none',
        concurrency: '1',
      }),
    ],
    { env: { NODE_EXTRA_CA_CERTS: folder.at('ca.pem') } },
  );
  await run.says(/the service is down \(network: the certificate of https:\/\/localhost:\d+ has expired\)/);
  server.setSecureContext({ key: KEY, cert: CERTIFICATE });
  expect((await run.ended).code).toBe(0);
  await expectAllFound(folder, 6);
});
