/** A service that is down, slow or refuses the key: the exit code tells what to do, and the same command resumes. */
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { leads, toCsv } from '../support/leads.ts';
import { sampleOf } from '../support/sample.ts';
import { problem, type Script } from '../support/scripted-service.ts';
import { flags, makeFolder, makeWorld } from '../support/world.ts';
import { addsUp } from './adds-up.ts';

test('a job against the embedded service with all faults switched on adds up', async () => {
  const folder = await makeFolder();
  const server = folder.start([
    'serve',
    '--sample',
    '--port',
    '0',
    '--error-rate',
    '0.08',
    '--throttle-rate',
    '0.01',
    '--drop-rate',
    '0.08',
    '--latency-jitter-ms',
    '10',
    '--fault-seed',
    '7',
  ]);
  await server.says('"url"');
  const { url } = JSON.parse(server.stdout()) as { url: string };
  const input = fileURLToPath(new URL('../../fixtures/leads.csv', import.meta.url));
  const ended = await folder.run(
    ['run', ...flags({ input, output: 'out.csv', 'base-url': url, plan: 'enterprise', progress: 'none', limit: '400' })],
    { env: { MILLRACE_API_KEY: 'sample-key' } },
  );
  expect(ended).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(
      /^warning: .* more fields than the header.*\nwarning: sample data: .*\n(?:warning: .* more than an address in its .*\n)?$/,
    ),
  });
  const found = await addsUp(folder, 400, input);
  expect(found.retries).toBeGreaterThan(10);
  server.kill('SIGTERM');
  expect((await server.ended).code).toBe(0);
});

describe('a service that is down', () => {
  test('from the start beyond limits.maxOutageMs is 69, and the job resumes once the service works', async () => {
    const { folder, service, args } = await makeWorld(toCsv(leads(50, 23)));
    const { port } = service;
    await service.stop();
    // The calls reached no service, so they do not count as calls.
    const ended = await folder.run(args({ 'limits.maxOutageMs': '600', 'max-calls': '3' }));
    expect(ended).toMatchObject({ code: 69, stderr: expect.stringMatching(/the service has been unavailable for .* \(network/) });
    expect(await folder.json('out.csv.checkpoint.json')).toMatchObject({ state: 'stopped', totals: { calls: { enrich: 0 } } });
    await service.listen(port);
    expect((await folder.run(args({ 'max-errors': '100%' }))).code).toBe(0);
    expect(service.repeated).toBe(0);
    await addsUp(folder, 50);
  });

  test('for a while in the middle makes the run wait, fail nothing and continue', async () => {
    const rows = leads(300, 24);
    const { folder, service, args } = await makeWorld(toCsv(rows));
    service.script = (asked, _response, reply, usual) =>
      reply(asked.number > 100 && asked.number <= 135 ? { status: 503, body: '' } : usual());
    const ended = await folder.run(args({ 'max-errors': '100%', concurrency: '24' }));
    expect(ended.code).toBe(0);
    const { records } = await addsUp(folder, rows.length);
    expect(records['failed']).toBe(rows.filter(({ key }) => key?.startsWith('refused')).length);
  });

  test('ends the run with 69 when it asks for a longer wait than limits.maxWaitMs', async () => {
    const { folder, service, args } = await makeWorld(toCsv(leads(50, 25)));
    service.script = (_asked, _response, reply) => reply({ ...problem(429, 'rate_limited'), headers: { 'retry-after': '3600' } });
    const ended = await folder.run(args({ 'limits.maxWaitMs': '1000' }));
    expect(ended).toMatchObject({ code: 69, stderr: expect.stringMatching(/asks to wait 3600 s, longer than limits\.maxWaitMs/) });
  });
});

describe('a run is 77 and resumable', () => {
  const usual: Script = (_asked, _response, reply, answer) => reply(answer());

  test.each(
    sampleOf(
      [
        [401, 'unauthorized', /the service refused the API key \(401 unauthorized: says unauthorized\)/],
        [402, 'insufficient_credits', /the credits are used up \(402/],
        [403, 'forbidden', /the service refused the API key \(403/],
      ] as const,
      1,
    ),
  )('after a %i in the middle', async (status, code, words) => {
    const rows = leads(200, 26);
    const { folder, service, args } = await makeWorld(toCsv(rows));
    service.script = (asked, _response, reply, answer) => reply(asked.number > 60 ? problem(status, code) : answer());
    expect(await folder.run(args({ steps: 'enrich' }))).toMatchObject({ code: 77, stderr: expect.stringMatching(words) });
    service.script = usual;
    const before = new Map(service.asked);
    expect((await folder.run(args({ steps: 'enrich', 'max-errors': '100%' }))).code).toBe(0);
    await addsUp(folder, rows.length);
    // The 60 answered ones are not asked for again.
    expect([...service.asked].filter(([key, times]) => times > (before.get(key) ?? 0)).length).toBe(service.asked.size - 60);
  });

  test('after a wrong API key, which it does not print', async () => {
    const { folder, service, args } = await makeWorld(toCsv(leads(20, 27)));
    const ended = await folder.run(args(), { env: { MILLRACE_API_KEY: 'another-key-0123456789' } });
    expect(ended).toMatchObject({ code: 77, stderr: expect.stringMatching(/MILLRACE_API_KEY/) });
    expect(ended.stderr).not.toContain('another-key');
    expect((await folder.run(args({ 'max-errors': '100%' }))).code).toBe(0);
    expect(service.authorizations.size).toBe(2);
  });

  test('at --max-calls, which counts over all runs and is never exceeded; a higher value resumes', async () => {
    const rows = leads(200, 28);
    const { folder, service, args } = await makeWorld(toCsv(rows));
    for (const [max, again] of [
      ['50', false],
      ['50', true],
      ['90', false],
    ] as const) {
      const ended = await folder.run(args({ steps: 'enrich', 'max-calls': max }));
      expect(ended).toMatchObject({ code: 77, stderr: expect.stringMatching(/limits\.maxCalls is reached/) });
      expect([service.requests.length, again]).toEqual([Number(max), again]);
    }
    expect((await folder.run(args({ steps: 'enrich', 'max-errors': '100%' }))).code).toBe(0);
    expect(service.repeated).toBe(0);
    expect((await addsUp(folder, rows.length)).calls).toEqual({ enrich: service.calls.enrich });
  });
});
