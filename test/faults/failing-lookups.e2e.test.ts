/** Lookups that fail while the service works: they fail alone, and the numbers add up. */
import { expect, test } from 'vitest';
import { leads, toCsv } from '../support/leads.ts';
import { problem } from '../support/scripted-service.ts';
import { makeWorld } from '../support/world.ts';
import { addsUp, report } from './adds-up.ts';
import { emailOf, expectAllFound, expectOneKeyPerBody, people } from './people.ts';

test('lookups that never work fail alone after five attempts, and the run ends with 1', async () => {
  const rows = leads(120, 22);
  const { folder, service, args } = await makeWorld(toCsv(rows));
  const doomed = new Set(rows.flatMap(({ key }) => (key?.includes('@') === true ? [key] : [])).slice(0, 3));
  service.script = (asked, _response, reply, usual) =>
    reply(asked.path === 'enrich' && doomed.has(asked.keys[0] ?? '') ? { status: 502, body: '' } : usual());
  expect((await folder.run(args({ steps: 'enrich', 'max-errors': '0' }))).code).toBe(1);
  await addsUp(folder, rows.length);
  for (const key of doomed) expect(service.asked.get(`enrich ${key}`)).toBe(5);
  const errors = (await folder.read('out.csv.errors.jsonl'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { key: string; code: string; attempts: number; step: string });
  expect(new Set(errors.filter(({ attempts }) => attempts === 5).map(({ key, code, step }) => `${step} ${key} ${code}`))).toEqual(
    new Set([...doomed].map((key) => `enrich ${key} http_502`)),
  );
});

test.each([
  ['0', 1],
  ['5%', 0],
])(
  'one lookup that always gets a 500 fails alone after five attempts with one Idempotency-Key, and --max-errors %s makes that %d',
  async (maxErrors, code) => {
    const { folder, service, args } = await makeWorld(people(200));
    const poisoned = 77;
    service.script = (asked, _response, reply, usual) => reply(asked.keys.includes(emailOf(poisoned)) ? problem(500, 'internal') : usual());
    expect(await folder.run(args({ 'max-errors': maxErrors }))).toMatchObject({ code, stderr: '' });
    await expectAllFound(folder, 200, new Set([poisoned]));
    expectOneKeyPerBody(service);
    expect(service.asked.get(`enrich ${emailOf(poisoned)}`)).toBe(5);
    expect(service.calls.enrich).toBe(200 + 4);
    const errors = (await folder.read('out.csv.errors.jsonl'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(errors).toEqual([
      expect.objectContaining({
        file: 'in.csv',
        line: 2 + poisoned,
        step: 'enrich',
        key: emailOf(poisoned),
        code: 'internal',
        attempts: 5,
        requestId: expect.stringMatching(/^req-\d+$/),
      }),
    ]);
    expect((await report(folder)).retries).toBe(4);
  },
);

test('lookups that fail at the same time are retried at different times', async () => {
  // One fewer than an outage needs.
  const TOGETHER = 9;
  const { folder, service, args } = await makeWorld(people(TOGETHER));
  const waiting: (() => void)[] = [];
  const back: number[] = [];
  service.script = (asked, _response, reply, usual) => {
    if (asked.number > TOGETHER) {
      back.push(performance.now());
      return reply(usual());
    }
    waiting.push(() => reply({ status: 500, body: '' }));
    if (waiting.length === TOGETHER) for (const fail of waiting) fail();
    return undefined;
  };
  expect(await folder.run(args({ steps: 'enrich', concurrency: String(TOGETHER) }))).toMatchObject({ code: 0, stderr: '' });
  await expectAllFound(folder, TOGETHER);
  expect(back).toHaveLength(TOGETHER);
  // All nine within a tenth of the first quarter of a second: that happens once in ten million runs.
  expect(Math.max(...back) - Math.min(...back)).toBeGreaterThanOrEqual(25);
});

test('a tail of a dozen lookups that always get a 500 fails, and the run ends', async () => {
  const rows = leads(60, 32);
  const { folder, service, args } = await makeWorld(toCsv(rows));
  const keys = [...new Set(rows.flatMap(({ key }) => (key?.includes('@') === true ? [key] : [])))];
  const doomed = new Set(keys.slice(-14));
  service.script = (asked, _response, reply, usual) =>
    reply(asked.path === 'enrich' && doomed.has(asked.keys[0] ?? '') ? { status: 500, body: '' } : usual());
  const ended = await folder.run(args({ steps: 'enrich', 'max-errors': '100%', concurrency: '4', 'limits.maxOutageMs': '20000' }));
  expect(ended).toMatchObject({ code: 0, stderr: expect.stringMatching(/^warning: the service is down .*\n$/) });
  await addsUp(folder, rows.length);
  for (const key of doomed) expect(service.asked.get(`enrich ${key}`)).toBe(5);
});

test('verify answers without any address fail these addresses, and are no outage', async () => {
  const rows = leads(40, 31);
  const { folder, service, args } = await makeWorld(toCsv(rows));
  service.script = (asked, _response, reply, usual) =>
    reply(asked.path === 'verify' ? { status: 200, body: '{"data":[]}', headers: { 'content-type': 'application/json' } } : usual());
  expect((await folder.run(args({ 'max-errors': '100%' }))).code).toBe(0);
  await addsUp(folder, rows.length);
  const codes = (await folder.read('out.csv.errors.jsonl'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { step: string; code: string });
  expect(new Set(codes.filter(({ step }) => step === 'verify').map(({ code }) => code))).toEqual(new Set(['no_result']));
  expect(service.calls.verify).toBe(2);
});
