/** A service that is too slow for full verify requests: the requests that it gets, and the messages for the user. */
import { expect, test } from 'vitest';
import { sectionsOf } from '../support/report-page.ts';
import type { Asked, Script, ScriptedService } from '../support/scripted-service.ts';
import { makeWorld } from '../support/world.ts';
import { expectAllFound, expectOneKeyPerBody, logOf, people } from './people.ts';

/** Addresses. A larger request gets no answer in time. */
const MOST = 500;
const FLAGS = { steps: 'verify', 'timeout-ms': '2000' };

const hangsAbove =
  (most: number): Script =>
  ({ keys }, _response, reply, usual) => {
    if (keys.length <= most) reply(usual());
  };

const sizesOf = (service: ScriptedService): number[] => service.requests.map(({ keys }) => keys.length);
const addressesSent = (service: ScriptedService): number => sizesOf(service).reduce((sum, size) => sum + size, 0);

test('1,000 rows: the first request is small, so a full one is never sent in vain', async () => {
  const { folder, service, args } = await makeWorld(people(1_000));
  service.script = hangsAbove(MOST);
  expect(await folder.run(args(FLAGS))).toMatchObject({ code: 0, stderr: '' });
  expect(sizesOf(service)).toEqual([250, 500, 250]);
  expect(service.repeated).toBe(0);
  await expectAllFound(folder, 1_000);
  // Nothing happened that the user must know.
  expect(await folder.json('out.csv.report.json')).not.toHaveProperty('verifyRequests');
});

test('1,000 rows at a service that takes 200 at once: at most 1.5 times the addresses are sent', async () => {
  const { folder, service, args } = await makeWorld(people(1_000));
  service.script = hangsAbove(200);
  expect((await folder.run(args(FLAGS))).code).toBe(0);
  expect(sizesOf(service).slice(0, 2)).toEqual([250, 125]);
  expect(addressesSent(service)).toBeLessThanOrEqual(1_500);
  await expectAllFound(folder, 1_000);
});

test('8,000 rows, killed and resumed: one full request is sent in vain, and the resume begins with the size that works', async () => {
  const { folder, service, args } = await makeWorld(people(8_000));
  const isHeld = ({ keys, number }: Asked): boolean => keys.length > MOST || number === 4;
  service.script = (asked, _response, reply, usual) => {
    if (!isHeld(asked)) reply(usual());
  };
  const first = folder.start(args({ ...FLAGS, progress: 'log' }));
  await service.when(() => service.requests.length >= 4 && service.unanswered.size > 0);
  first.kill('SIGKILL');
  const { stderr } = await first.ended;
  const told = logOf(stderr).filter(({ event }) => event === 'smaller_verify_requests');
  expect(told.map(({ level, msg }) => [level, msg])).toEqual([
    [40, 'verify requests ran into the time limit of 2 s: 500 addresses a request now'],
  ]);
  expect(await folder.json('out.csv.checkpoint.json')).toMatchObject({ totals: { verifyRequests: { size: 500, tooLarge: 1 } } });

  const before = service.requests.length;
  service.script = hangsAbove(MOST);
  expect(await folder.run(args(FLAGS))).toMatchObject({ code: 0, stderr: '' });
  expect(service.requests[before]?.keys).toHaveLength(500);
  expect(addressesSent(service)).toBeLessThanOrEqual(1.5 * 8_000);
  expectOneKeyPerBody(service);
  await expectAllFound(folder, 8_000);
  const { verifyRequests } = (await folder.json('out.csv.report.json')) as { verifyRequests: { addresses: number; tooLarge: number } };
  expect(verifyRequests.tooLarge).toBe(sizesOf(service).filter((size) => size > MOST).length);
  expect(sectionsOf(await folder.read('out.csv.report.html'))['Cost']).toMatch(/ran into the time limit or were too large/);
});

test('a gateway that cuts full requests with 504 gets smaller ones from then on', async () => {
  const { folder, service, args } = await makeWorld(people(4_000));
  // As late as a gateway's limit. An early 504 would be an outage, and the same request would be sent again.
  const cut = { status: 504, body: '<html>504 Gateway Time-out</html>' };
  service.script = ({ keys }, _response, reply, usual) => void (keys.length > MOST ? setTimeout(reply, 1_000, cut) : reply(usual()));
  expect((await folder.run(args(FLAGS))).code).toBe(0);
  expect(sizesOf(service).slice(0, 2)).toEqual([1_000, 500]);
  expect(addressesSent(service)).toBeLessThanOrEqual(1.5 * 4_000);
  await expectAllFound(folder, 4_000);
});

test('an address without a verdict is asked for once more, with another Idempotency-Key, at a service that replays answers', async () => {
  const { folder, service, args } = await makeWorld(people(30));
  const [late, never] = ['person3@works.example', 'person7@works.example'];
  const said = new Map<string | null, string>();
  service.script = (asked, _response, reply) => {
    const data = asked.keys.map((email) => {
      const isKnown = email !== never && (email !== late || asked.number > 1);
      return { email, result: isKnown ? 'deliverable' : null, confidence: isKnown ? 90 : null };
    });
    const body = said.get(asked.idempotencyKey) ?? JSON.stringify({ data });
    said.set(asked.idempotencyKey, body);
    reply({ status: 200, body });
  };
  expect((await folder.run(args({ steps: 'verify', 'max-errors': '1' }))).code).toBe(0);
  await expectAllFound(folder, 30, new Set([7]));
  expect(service.requests.map(({ keys }) => keys.length)).toEqual([30, 2]);
  expect(await folder.read('out.csv.errors.jsonl')).toMatch(/"key":"person7@works\.example","code":"no_result"/);
});

test('a job of one address does the same, although the second request has the same body', async () => {
  const { folder, service, args } = await makeWorld(people(1));
  const said = new Map<string | null, string>();
  service.script = (asked, _response, reply) => {
    const data = asked.keys.map((email) => ({ email, ...(asked.number > 1 ? { result: 'risky' } : {}) }));
    const body = said.get(asked.idempotencyKey) ?? JSON.stringify({ data });
    said.set(asked.idempotencyKey, body);
    reply({ status: 200, body });
  };
  expect((await folder.run(args({ steps: 'verify' }))).code).toBe(0);
  expect(new Set(service.requests.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2);
  expect(await folder.read('out.csv')).toMatch(/person0@works\.example,matched,.*,risky,/);
});
