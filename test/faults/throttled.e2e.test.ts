/** A service that answers "later" although the run keeps to its quota. */
import { expect, test } from 'vitest';
import { sectionsOf } from '../support/report-page.ts';
import { problem, type Reply, type ScriptedService } from '../support/scripted-service.ts';
import { makeWorld } from '../support/world.ts';
import { expectAllFound, expectOneKeyPerBody, logOf, people } from './people.ts';

const usual: ScriptedService['script'] = (_asked, _response, reply, answer) => reply(answer());

const sayLater = (status: number, seconds: number): Reply => ({
  ...problem(status, 'rate_limited'),
  headers: { 'retry-after': String(seconds) },
});

interface Throttled {
  readonly events: number;
  readonly waitedMs: number;
}

/** Observations of a service that asked a run to wait. Milliseconds by the test's clock. */
interface Seen {
  toldAt: number;
  /** The first call after that. Null before it arrives. */
  arrivedAt: number | null;
  /** Calls that arrived before that one was answered. */
  beforeItsAnswer: number;
}

/** From call `after` on, answers "later" to everything in flight at one moment, and then continues as usual. */
function flock(
  service: ScriptedService,
  { after, atOnce, status, waitS }: { readonly after: number; readonly atOnce: number; readonly status: number; readonly waitS: number },
): Seen {
  const seen: Seen = { toldAt: Infinity, arrivedAt: null, beforeItsAnswer: 0 };
  /** Held until all of them have arrived. */
  const held: (() => void)[] = [];
  service.script = (asked, _response, reply, answer) => {
    if (asked.number <= after) return reply(answer());
    if (asked.number <= after + atOnce) {
      held.push(() => reply(sayLater(status, waitS)));
      if (held.length < atOnce) return undefined;
      // Taken before the answer is sent: the run may get it before this process knows that it was sent.
      seen.toldAt = performance.now();
      for (const say of held) say();
      return undefined;
    }
    if (seen.arrivedAt !== null) return reply(answer());
    seen.arrivedAt = performance.now();
    // A slow answer. A caller that does not wait for it sends calls meanwhile.
    setTimeout(() => {
      seen.beforeItsAnswer = service.requests.length - asked.number;
      reply(answer());
    }, 200);
    return undefined;
  };
  return seen;
}

test.each([429, 503])(
  'a flock of %d with Retry-After is one event with one full wait, spends no attempt and no retry, and one call goes first',
  async (status) => {
    const AT_ONCE = 8;
    const WAIT_S = 3;
    const { folder, service, args } = await makeWorld(people(300));
    const seen = flock(service, { after: 100, atOnce: AT_ONCE, status, waitS: WAIT_S });
    expect(await folder.run(args({ steps: 'enrich', concurrency: String(AT_ONCE) }))).toMatchObject({ code: 0, stderr: '' });
    // Never before the requested time; a clock of whole milliseconds may be off by one.
    expect((seen.arrivedAt ?? 0) - seen.toldAt).toBeGreaterThanOrEqual(WAIT_S * 1_000 - 1);
    expect(seen.beforeItsAnswer).toBe(0);
    await expectAllFound(folder, 300);
    expectOneKeyPerBody(service);
    expect(service.requests).toHaveLength(300 + AT_ONCE);
    const { throttled, retries } = (await folder.json('out.csv.report.json')) as unknown as { throttled: Throttled; retries: number };
    expect(retries).toBe(0);
    expect(throttled.events).toBe(1);
    expect(throttled.waitedMs).toBeGreaterThanOrEqual(WAIT_S * 1_000);
    // From the first 429 to the last, and the wait that the last one asked for.
    expect(throttled.waitedMs).toBeLessThan(2 * WAIT_S * 1_000);
    expect(sectionsOf(await folder.read('out.csv.report.html'))['Requests against quota']).toMatch(
      /<path class="later" d="M.*the service said "later"/s,
    );
  },
);

test('a service that only answers 429 gets few requests until 69 with a checkpoint; once it works, the job finishes as usual', async () => {
  const whole = await makeWorld(people(300));
  expect((await whole.folder.run(whole.args({ steps: 'enrich' }))).code).toBe(0);

  const { folder, service, args } = await makeWorld(people(300));
  service.script = (_asked, _response, reply) => reply(sayLater(429, 2));
  // Three waits of 2 s are too many, two are not, though a busy machine may be late with each.
  const ended = await folder.run(args({ steps: 'enrich', 'limits.maxWaitMs': '5900', progress: 'log' }));
  expect(ended).toMatchObject({
    code: 69,
    stderr: expect.stringMatching(
      /the service has said nothing but "later" for \d s and asks to wait another 2 s, together longer than limits\.maxWaitMs/,
    ),
  });
  expect((await folder.json('out.csv.checkpoint.json'))['state']).toBe('stopped');
  // Everything in flight at the beginning, then one call after each wait.
  expect(service.requests.length).toBeGreaterThanOrEqual(3);
  expect(service.requests.length).toBeLessThanOrEqual(16 + 2);
  const stopped = logOf(ended.stderr).find(({ event }) => event === 'stopped') as unknown as { throttled: Throttled; retries: number };
  // The third wait never begins, so it does not count as waited.
  expect(stopped).toMatchObject({ retries: 0, throttled: { events: 3 } });
  expect(stopped.throttled.waitedMs).toBeGreaterThanOrEqual(4_000);
  expect(stopped.throttled.waitedMs).toBeLessThan(6_000);

  service.script = usual;
  expect(await folder.run(args({ steps: 'enrich' }))).toMatchObject({ code: 0, stderr: '' });
  expect(await folder.read('out.csv')).toBe(await whole.folder.read('out.csv'));
  await expectAllFound(folder, 300);
  expectOneKeyPerBody(service);
  expect(((await folder.json('out.csv.report.json')) as unknown as { throttled: Throttled }).throttled.events).toBe(3);
});

test.each([429, 503])('%d in the middle of a job, beyond the default of limits.maxWaitMs, is 69 at once and resumable', async (status) => {
  const { folder, service, args } = await makeWorld(people(200));
  service.script = (asked, _response, reply, answer) => reply(asked.number <= 60 ? answer() : sayLater(status, 901));
  const ended = await folder.run(args({ steps: 'enrich', progress: 'log' }));
  expect(ended).toMatchObject({
    code: 69,
    stderr: expect.stringMatching(/the service asks to wait 901 s, longer than limits\.maxWaitMs/),
  });
  const stopped = logOf(ended.stderr).find(({ event }) => event === 'stopped') as unknown as { throttled: Throttled };
  expect(stopped.throttled.events).toBe(1);
  expect(stopped.throttled.waitedMs).toBeLessThan(60_000);
  expect((await folder.json('out.csv.checkpoint.json'))['state']).toBe('stopped');
  const before = service.requests.length;
  service.script = usual;
  expect(await folder.run(args({ steps: 'enrich' }))).toMatchObject({ code: 0, stderr: '' });
  // The sixty answered ones are not asked for again.
  expect(service.requests.length - before).toBe(140);
  await expectAllFound(folder, 200);
  expectOneKeyPerBody(service);
});

test.each(['SIGTERM', 'SIGKILL'] as const)(
  '%s while the service has asked to wait: the next run waits for the rest, and one call goes first',
  async (signal) => {
    const AT_ONCE = 8;
    const WAIT_S = 4;
    const { folder, service, args } = await makeWorld(people(60));
    const seen = flock(service, { after: 20, atOnce: AT_ONCE, status: 429, waitS: WAIT_S });
    const first = folder.start(args({ steps: 'enrich', concurrency: String(AT_ONCE) }));
    await expect
      .poll(async () => ((await folder.json('out.csv.checkpoint.json'))['spent'] as { later?: unknown } | null)?.later, { timeout: 20_000 })
      .toBeDefined();
    first.kill(signal);
    await first.ended;
    expect(await folder.run(args({ steps: 'enrich', concurrency: String(AT_ONCE) }))).toMatchObject({ code: 0, stderr: '' });
    // A checkpoint stores the time in whole milliseconds, by another clock.
    expect((seen.arrivedAt ?? 0) - seen.toldAt).toBeGreaterThanOrEqual(WAIT_S * 1_000 - 20);
    expect(seen.beforeItsAnswer).toBe(0);
    // A kill may repeat what was answered a moment before it.
    expect(service.requests.length).toBeGreaterThanOrEqual(60 + AT_ONCE);
    expect(service.requests.length).toBeLessThanOrEqual(60 + AT_ONCE + (signal === 'SIGKILL' ? 20 : 0));
    await expectAllFound(folder, 60);
    expect(((await folder.json('out.csv.report.json')) as unknown as { throttled: Throttled }).throttled.events).toBe(1);
  },
);
