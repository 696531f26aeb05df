/** A service that breaks: every record ends with an outcome, the numbers add up, and the right exit code says what to do. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { durableLookups } from '../support/crash-site.ts';
import { leads, toCsv } from '../support/leads.ts';
import { sampleOf } from '../support/sample.ts';
import { problem, type Reply, type Script } from '../support/scripted-service.ts';
import { flags, makeFolder, makeWorld } from '../support/world.ts';
import { addsUp, report } from './adds-up.ts';
import { emailOf, expectAllFound, expectOneKeyPerBody, people } from './people.ts';

test('lookups that never work fail alone, after five attempts, and the run ends with 1', async () => {
  const rows = leads(120, 22);
  const { folder, service, args } = await makeWorld(toCsv(rows));
  const doomed = new Set(rows.flatMap(({ key }) => (key?.includes('@') === true ? [key] : [])).slice(0, 3));
  service.script = (asked, _response, reply, usual) => reply(asked.path === 'enrich' && doomed.has(asked.keys[0] ?? '') ? { status: 502, body: '' } : usual());
  expect((await folder.run(args({ steps: 'enrich', 'max-errors': '0' }))).code).toBe(1);
  await addsUp(folder, rows.length);
  for (const key of doomed) expect(service.asked.get(`enrich ${key}`)).toBe(5);
  const errors = (await folder.read('out.csv.errors.jsonl')).trim().split('\n').map((line) => JSON.parse(line) as { key: string; code: string; attempts: number; step: string });
  expect(new Set(errors.filter(({ attempts }) => attempts === 5).map(({ key, code, step }) => `${step} ${key} ${code}`))).toEqual(new Set([...doomed].map((key) => `enrich ${key} http_502`)));
});

test.each([['0', 1], ['5%', 0]])('one lookup that gets a 500 for ever: five attempts with one Idempotency-Key, it fails alone, and --max-errors %s makes that %d', async (maxErrors, code) => {
  const { folder, service, args } = await makeWorld(people(200));
  const poisoned = 77;
  service.script = (asked, _response, reply, usual) => reply(asked.keys.includes(emailOf(poisoned)) ? problem(500, 'internal') : usual());
  expect(await folder.run(args({ 'max-errors': maxErrors }))).toMatchObject({ code, stderr: '' });
  await expectAllFound(folder, 200, new Set([poisoned]));
  expectOneKeyPerBody(service);
  expect(service.asked.get(`enrich ${emailOf(poisoned)}`)).toBe(5);
  expect(service.calls.enrich).toBe(200 + 4);
  const errors = (await folder.read('out.csv.errors.jsonl')).trim().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(errors).toEqual([expect.objectContaining({ file: 'in.csv', line: 2 + poisoned, step: 'enrich', key: emailOf(poisoned), code: 'internal', attempts: 5, requestId: expect.stringMatching(/^req-\d+$/) })]);
  expect((await report(folder)).retries).toBe(4);
});

test('lookups that fail together do not come back together', async () => {
  // One fewer than make an outage.
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
  // Anywhere within the first quarter of a second: that all nine fall into a tenth of it happens once in ten million runs.
  expect(Math.max(...back) - Math.min(...back)).toBeGreaterThanOrEqual(25);
});

test('a tail of a dozen lookups that get a 500 each time fails, and the run ends', async () => {
  const rows = leads(60, 32);
  const { folder, service, args } = await makeWorld(toCsv(rows));
  const keys = [...new Set(rows.flatMap(({ key }) => (key?.includes('@') === true ? [key] : [])))];
  const doomed = new Set(keys.slice(-14));
  service.script = (asked, _response, reply, usual) => reply(asked.path === 'enrich' && doomed.has(asked.keys[0] ?? '') ? { status: 500, body: '' } : usual());
  const ended = await folder.run(args({ steps: 'enrich', 'max-errors': '100%', concurrency: '4', 'limits.maxOutageMs': '20000' }));
  expect(ended).toMatchObject({ code: 0, stderr: expect.stringMatching(/^warning: the service is down .*\n$/) });
  await addsUp(folder, rows.length);
  for (const key of doomed) expect(service.asked.get(`enrich ${key}`)).toBe(5);
});

test('our own service with its switches on: the numbers add up', async () => {
  const folder = await makeFolder();
  const server = folder.start(['serve', '--sample', '--port', '0', '--error-rate', '0.08', '--throttle-rate', '0.01', '--drop-rate', '0.08', '--latency-jitter-ms', '10', '--fault-seed', '7']);
  await server.says('"url"');
  const { url } = JSON.parse(server.stdout()) as { url: string };
  const input = fileURLToPath(new URL('../../fixtures/leads.csv', import.meta.url));
  const ended = await folder.run(['run', ...flags({ input, output: 'out.csv', 'base-url': url, plan: 'enterprise', progress: 'none', limit: '400' })], { env: { MILLRACE_API_KEY: 'sample-key' } });
  expect(ended).toMatchObject({ code: 0, stderr: expect.stringMatching(/^warning: .* has more fields than the header.*\n(?:warning: .* has more than an address in its e-mail cell: .*\n)?$/) });
  const found = await addsUp(folder, 400, input);
  expect(found.retries).toBeGreaterThan(10);
  server.kill('SIGTERM');
  expect((await server.ended).code).toBe(0);
});

test('verify answers that leave every address out fail those, and are no outage', async () => {
  const rows = leads(40, 31);
  const { folder, service, args } = await makeWorld(toCsv(rows));
  service.script = (asked, _response, reply, usual) => reply(asked.path === 'verify' ? { status: 200, body: '{"data":[]}', headers: { 'content-type': 'application/json' } } : usual());
  expect((await folder.run(args({ 'max-errors': '100%' }))).code).toBe(0);
  await addsUp(folder, rows.length);
  const codes = (await folder.read('out.csv.errors.jsonl')).trim().split('\n').map((line) => JSON.parse(line) as { step: string; code: string });
  expect(new Set(codes.filter(({ step }) => step === 'verify').map(({ code }) => code))).toEqual(new Set(['no_result']));
  expect(service.calls.verify).toBe(2);
});

describe('down', () => {
  test('from the start, for longer than is allowed: 69; it resumes once the service is there', async () => {
    const { folder, service, args } = await makeWorld(toCsv(leads(50, 23)));
    const { port } = service;
    await service.stop();
    // Nobody was asked: that is not what ends the calls it may make.
    const ended = await folder.run(args({ 'limits.maxOutageMs': '600', 'max-calls': '3' }));
    expect(ended).toMatchObject({ code: 69, stderr: expect.stringMatching(/the service has been unavailable for .* \(network/) });
    expect(await folder.json('out.csv.checkpoint.json')).toMatchObject({ state: 'stopped', totals: { calls: { enrich: 0 } } });
    await service.listen(port);
    expect((await folder.run(args({ 'max-errors': '100%' }))).code).toBe(0);
    expect(service.repeated).toBe(0);
    await addsUp(folder, 50);
  });

  test('for a while in the middle: the run waits, fails nothing, and goes on', async () => {
    const rows = leads(300, 24);
    const { folder, service, args } = await makeWorld(toCsv(rows));
    service.script = (asked, _response, reply, usual) => reply(asked.number > 100 && asked.number <= 135 ? { status: 503, body: '' } : usual());
    const ended = await folder.run(args({ 'max-errors': '100%', concurrency: '24' }));
    expect(ended.code).toBe(0);
    const { records } = await addsUp(folder, rows.length);
    expect(records['failed']).toBe(rows.filter(({ key }) => key?.startsWith('refused')).length);
  });

  test('asking to wait longer than is allowed: 69', async () => {
    const { folder, service, args } = await makeWorld(toCsv(leads(50, 25)));
    service.script = (_asked, _response, reply) => reply({ ...problem(429, 'rate_limited'), headers: { 'retry-after': '3600' } });
    const ended = await folder.run(args({ 'limits.maxWaitMs': '1000' }));
    expect(ended).toMatchObject({ code: 69, stderr: expect.stringMatching(/asks to wait 3600 s, longer than limits\.maxWaitMs/) });
  });
});

describe('77, and resumable', () => {
  const usual: Script = (_asked, _response, reply, answer) => reply(answer());

  test.each(sampleOf([
    [401, 'unauthorized', /the service refused the API key \(401 unauthorized: says unauthorized\)/],
    [402, 'insufficient_credits', /the credits are used up \(402/],
    [403, 'forbidden', /the service refused the API key \(403/],
  ] as const, 1))('%i in the middle', async (status, code, words) => {
    const rows = leads(200, 26);
    const { folder, service, args } = await makeWorld(toCsv(rows));
    service.script = (asked, _response, reply, answer) => reply(asked.number > 60 ? problem(status, code) : answer());
    expect(await folder.run(args({ steps: 'enrich' }))).toMatchObject({ code: 77, stderr: expect.stringMatching(words) });
    service.script = usual;
    const before = new Map(service.asked);
    expect((await folder.run(args({ steps: 'enrich', 'max-errors': '100%' }))).code).toBe(0);
    await addsUp(folder, rows.length);
    // The 60 that were answered are not asked for again.
    expect([...service.asked].filter(([key, times]) => times > (before.get(key) ?? 0)).length).toBe(service.asked.size - 60);
  });

  test('a wrong key', async () => {
    const { folder, service, args } = await makeWorld(toCsv(leads(20, 27)));
    const ended = await folder.run(args(), { env: { MILLRACE_API_KEY: 'another-key-0123456789' } });
    expect(ended).toMatchObject({ code: 77, stderr: expect.stringMatching(/MILLRACE_API_KEY/) });
    expect(ended.stderr).not.toContain('another-key');
    expect((await folder.run(args({ 'max-errors': '100%' }))).code).toBe(0);
    expect(service.authorizations.size).toBe(2);
  });

  test('--max-calls: counted over all runs, never exceeded, and a higher one resumes', async () => {
    const rows = leads(200, 28);
    const { folder, service, args } = await makeWorld(toCsv(rows));
    for (const [max, again] of [['50', false], ['50', true], ['90', false]] as const) {
      const ended = await folder.run(args({ steps: 'enrich', 'max-calls': max }));
      expect(ended).toMatchObject({ code: 77, stderr: expect.stringMatching(/limits\.maxCalls is reached/) });
      expect([service.requests.length, again]).toEqual([Number(max), again]);
    }
    expect((await folder.run(args({ steps: 'enrich', 'max-errors': '100%' }))).code).toBe(0);
    expect(service.repeated).toBe(0);
    expect((await addsUp(folder, rows.length)).calls).toEqual({ enrich: service.calls.enrich });
  });
});

describe('not such a service', () => {
  const misses: Script = (asked, _response, reply, usual) => reply(asked.path === 'enrich' ? problem(404, 'no_match') : usual());

  test('nothing but misses: 78 after 100, with nothing in output and ledger; believed with trustMisses', async () => {
    const { folder, service, args } = await makeWorld(people(400));
    service.script = misses;
    const ended = await folder.run(args({ steps: 'enrich', concurrency: '10' }));
    expect(ended).toMatchObject({ code: 78, stderr: expect.stringMatching(/the first 100 answers were all 404 miss/) });
    expect(service.requests.length).toBeLessThanOrEqual(110);
    expect((await durableLookups(folder.at('out.csv.ledger'))).size).toBe(0);
    expect((await folder.read('out.csv.partial')).split('\n').filter((line) => line.includes('@'))).toEqual([]);
    expect(await folder.files()).not.toContain('out.csv');
    expect((await folder.run(args({ steps: 'enrich', 'limits.trustMisses': true }))).code).toBe(0);
    expect((await report(folder)).records).toMatchObject({ total: 400, no_match: 400 });
  });

  test.each(['enrich', 'verify'])('%s: all that is left to ask was refused before, and is again: no reason to doubt a service that the ledger knows', async (steps) => {
    const refused = Array.from({ length: 150 }, (_, i) => `r${i},refused${i}@works.example\n`).join('');
    const { folder, service, args } = await makeWorld(`${people(50)}${refused}`);
    const delivered = (keys: readonly string[]): Reply => ({ status: 200, body: JSON.stringify(keys.map((email) => ({ email, result: 'deliverable' }))) });
    service.script = ({ keys, path }, _response, reply, usual) => reply(keys.some((key) => key.startsWith('refused')) ? problem(422, 'validation_failed') : path === 'verify' ? delivered(keys) : usual());
    const lenient = { steps, 'max-errors': '100%', 'limits.trustMisses': true };
    expect((await folder.run(args(lenient))).code).toBe(0);
    service.forget();
    expect(await folder.run(args({ ...lenient, 'limits.trustMisses': false, fresh: true }))).toMatchObject({ code: 0, stderr: '' });
    expect([...service.asked.keys()].filter((key) => !key.includes('refused'))).toEqual([]);
    expect((await report(folder)).records).toMatchObject({ total: 200, matched: 50, failed: 150 });
  });

  test('nothing but misses in a shorter input: they stand', async () => {
    const { folder, service, args } = await makeWorld(people(60));
    service.script = misses;
    expect((await folder.run(args())).code).toBe(0);
    expect((await report(folder)).records).toMatchObject({ total: 60, no_match: 60 });
  });

  test.each(sampleOf([
    ['a 404 of a path that it does not have', problem(404, 'not_found'), /does not look like the data service/],
    ['a 404 that is no JSON', { status: 404, body: '<h1>nginx</h1>', headers: { 'content-type': 'text/html' } }, /does not look like the data service/],
    ['a redirect', { status: 302, body: '', headers: { location: 'https://login.example/?token=abc' } }, /points to https:\/\/login\.example\/$/m],
  ] as const, 1))('%s: 78 within seconds', async (_, reply, words) => {
    const { folder, service, args } = await makeWorld(people(50));
    service.script = (_asked, _response, send) => send(reply);
    const ended = await folder.run(args({ concurrency: '2' }));
    expect(ended).toMatchObject({ code: 78, stderr: expect.stringMatching(words) });
    // A redirect may come from what stands in front: only ten seconds of nothing else tell.
    expect(service.requests.length).toBeLessThanOrEqual(reply.status === 302 ? 30 : 6);
  });
});

test('an input that changes while it is read: 65, the state says stopped, and the output does not appear', async () => {
  const { folder, service, args } = await makeWorld(toCsv(leads(100, 30)));
  service.script = () => undefined;
  const run = folder.start(args());
  await service.sees(1);
  const original = await readFile(folder.at('in.csv'), 'utf8');
  await writeFile(folder.at('in.csv'), original.replaceAll('Näme 1', 'Nyme 1'));
  run.kill('SIGTERM');
  run.kill('SIGINT');
  await run.ended;
  service.script = (_asked, _response, reply, usual) => reply(usual());
  expect((await folder.run(args())).code).toBe(65);

  await rm(folder.at('out.csv.checkpoint.json'));
  await rm(folder.at('out.csv.partial'));
  await rm(folder.at('out.csv.errors.jsonl.partial'), { force: true });
  service.forget();
  service.script = (asked, _response, reply, usual) => {
    if (asked.path === 'enrich') return reply(usual());
    // All was read by now, and nothing of it is finished: the verdicts are still out.
    void writeFile(folder.at('in.csv'), original.replaceAll('Näme 2', 'Nyme 2')).then(() => reply(usual()));
  };
  expect(await folder.run(args())).toMatchObject({ code: 65, stderr: expect.stringMatching(/the input changed while it was read/) });
  expect((await folder.json('out.csv.checkpoint.json'))['state']).toBe('stopped');
  expect(await folder.files()).not.toContain('out.csv');
});
