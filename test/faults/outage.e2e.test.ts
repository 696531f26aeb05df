/** An outage in the middle of a job: the job waits, fails and loses nothing, and sends few requests meanwhile. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { sectionsOf } from '../support/report-page.ts';
import type { ScriptedService } from '../support/scripted-service.ts';
import { makeWorld } from '../support/world.ts';
import { expectAllFound, expectOneKeyPerBody, logOf, people } from './people.ts';

const OUTAGE_MS = 30_000;
const RECORDS = 1_500;
const ANSWERS_BEFORE = 300;
const AT_ONCE = 16;
/** Requests in flight, those sent before ten had failed, and probes after 0.5, 1, 2, 4, 8 and 15 s. */
const FEW = AT_ONCE + 10 + 8;

interface Way {
  readonly name: string;
  begin(service: ScriptedService): Promise<void> | void;
  end(service: ScriptedService): Promise<void> | void;
}

const usual: ScriptedService['script'] = (_asked, _response, reply, answer) => reply(answer());

const WAYS: readonly Way[] = [
  { name: 'nobody listens', begin: (service) => service.stop(), end: (service) => service.listen(service.port) },
  {
    name: 'connections are cut',
    begin: (service) => void (service.script = (_asked, response) => void response.socket?.destroy()),
    end: (service) => void (service.script = usual),
  },
  {
    name: '503 without Retry-After',
    begin: (service) => void (service.script = (_asked, _response, reply) => reply({ status: 503, body: '' })),
    end: (service) => void (service.script = usual),
  },
];

interface Seen {
  readonly name: string;
  readonly code: number | null;
  readonly during: number;
  readonly attemptsMore: number;
  readonly log: Record<string, unknown>[];
}

test('outages of 30 s fail and lose nothing, and get few requests', async () => {
  const worlds = [];
  for (const way of WAYS) worlds.push({ way, ...(await makeWorld(people(RECORDS))) });
  const seen = await Promise.all(
    worlds.map(async ({ way, folder, service, args }): Promise<Seen> => {
      service.latencyMs = 20;
      const run = folder.start(args({ steps: 'enrich', progress: 'log', concurrency: String(AT_ONCE) }));
      await service.when(() => service.answered >= ANSWERS_BEFORE);
      const before = service.requests.length;
      await way.begin(service);
      await pause(OUTAGE_MS);
      const during = service.requests.length - before;
      await way.end(service);
      const { code, stderr } = await run.ended;
      await expectAllFound(folder, RECORDS);
      expectOneKeyPerBody(service);
      const { calls, records } = (await folder.json('out.csv.report.json')) as { calls: { enrich: number }; records: { total: number } };
      expect(sectionsOf(await folder.read('out.csv.report.html'))['Requests against quota']).toMatch(
        /<path class="down" d="M.*the service was down/s,
      );
      return { name: way.name, code, during, attemptsMore: calls.enrich - records.total, log: logOf(stderr) };
    }),
  );
  expect(seen.map(({ name, code }) => ({ name, code }))).toEqual(WAYS.map(({ name }) => ({ name, code: 0 })));
  for (const { name, during, attemptsMore, log } of seen) {
    expect(during, name).toBeLessThanOrEqual(FEW);
    // Without a listener only the run itself can count its attempts.
    expect(attemptsMore, name).toBeLessThanOrEqual(FEW);
    expect(
      log.map(({ event }) => event).filter((event) => !['column', 'progress', 'waiting', 'waited'].includes(event as string)),
      name,
    ).toEqual(['started', 'service_down', 'service_back', 'finished']);
    expect(log.filter(({ event }) => event === 'waiting').map(({ msg }) => msg)[0], name).toMatch(
      /^nothing is sent: waiting for the service, which is down, until [\d:]+ UTC \(in \d+ s\) \(outage\)$/,
    );
    const down = log.filter(({ heldUpBy }) => heldUpBy === 'outage');
    expect(down.length, name).toBeGreaterThanOrEqual(2);
    const downMs = down.map((line) => line['downMs'] as number);
    expect(downMs, name).toEqual(downMs.toSorted((a, b) => a - b));
    expect(downMs.at(-1), name).toBeGreaterThan(15_000);
  }
});

test('beyond limits.maxOutageMs is 69, and the resume asks only for missing answers, with the same keys', async () => {
  const { folder, service, args } = await makeWorld(people(400));
  const whole = await makeWorld(people(400));
  expect((await whole.folder.run(whole.args({ steps: 'enrich' }))).code).toBe(0);
  const { port } = service;
  service.latencyMs = 5;
  const run = folder.start(args({ steps: 'enrich', 'limits.maxOutageMs': '1500', concurrency: '8' }));
  await service.when(() => service.answered >= 150);
  await service.stop();
  expect(await run.ended).toMatchObject({ code: 69, stderr: expect.stringMatching(/the service has been unavailable for .* \(network/) });
  expect((await folder.json('out.csv.checkpoint.json'))['state']).toBe('stopped');
  const answered = service.exchanges.filter(({ status }) => status === 200).map(({ asked }) => asked.keys[0]);
  await service.listen(port);
  const before = service.requests.length;
  expect((await folder.run(args({ steps: 'enrich', concurrency: '8' }))).code).toBe(0);
  const again = new Set(service.requests.slice(before).map(({ keys }) => keys[0]));
  // The last answers may have been cut on their way.
  expect(answered.filter((key) => again.has(key)).length).toBeLessThanOrEqual(8);
  expect(await folder.read('out.csv')).toBe(await whole.folder.read('out.csv'));
  await expectAllFound(folder, 400);
  expectOneKeyPerBody(service);
});
