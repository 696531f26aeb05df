/** The service as an operator runs it: a process with metrics that gets one signal, and a second one. */
import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseExposition } from '../telemetry/parse-exposition.ts';
import { Folder } from '../support/cli.ts';
import { createKey, serve, type ServedProcess } from '../support/served.ts';

const EMAIL = 'ada@acme.example';

let folder: Folder;
let key = '';
beforeAll(async () => {
  folder = await Folder.make();
  await writeFile(folder.at('crm.csv'), `email,name\n${EMAIL},Ada Example\n`);
  await folder.run(['import', '--store', 's.sqlite', '--contacts', 'crm.csv']);
  key = await createKey(folder, 's.sqlite', '--plan', 'growth', '--credits', '50');
});
afterAll(() => folder.remove());

interface Watched extends ServedProcess {
  readonly monitor: string;
}

async function watched(...args: string[]): Promise<Watched> {
  const started = await serve(folder, ['--store', 's.sqlite', '--monitor', '0', ...args]);
  await started.says(/"event":"serving"/);
  const [, monitor = ''] = /"monitor":"([^"]+)"/.exec(started.stderr()) ?? [];
  return { ...started, monitor };
}

function enrich(url: string): Promise<Response> {
  return fetch(`${url}/v1/enrich`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ email: EMAIL }),
  });
}

async function metrics({ monitor }: Watched): Promise<ReturnType<typeof parseExposition>> {
  return parseExposition(await (await fetch(new URL('metrics', monitor))).text());
}

const valueOf = async (service: Watched, family: string, sample = family): Promise<number | undefined> =>
  (await metrics(service)).get(family)?.samples.get(sample);

it('a service has metrics on a port of their own and logs one line per answer, without people or keys', async () => {
  const service = await watched();
  expect((await enrich(service.url)).status).toBe(200);
  expect((await fetch(`${service.url}/v1/companies/acme.example?secret=1`, { headers: { authorization: `Bearer ${key}` } })).status).toBe(
    400,
  );
  expect((await fetch(`${service.url}/metrics`)).status).toBe(404);
  await expect
    .poll(() => valueOf(service, 'millrace_service_requests_total', 'millrace_service_requests_total{route="none",code="404"}'))
    .toBe(1);
  const text = await (await fetch(new URL('metrics', service.monitor))).text();
  const found = parseExposition(text);
  const sampleOf = (family: string, sample = family): number | undefined => found.get(family)?.samples.get(sample);
  expect(sampleOf('millrace_service_requests_total', 'millrace_service_requests_total{route="POST /v1/enrich",code="200"}')).toBe(1);
  expect(
    sampleOf(
      'millrace_service_request_duration_seconds',
      'millrace_service_request_duration_seconds_count{route="GET /v1/companies/:domain"}',
    ),
  ).toBe(1);
  expect([sampleOf('millrace_service_ready'), sampleOf('millrace_service_credits_total')]).toEqual([1, 1]);
  expect(sampleOf('millrace_service_store_bytes', 'millrace_service_store_bytes{file="main"}')).toBeGreaterThan(4_096);
  for (const path of ['healthz', 'readyz'])
    for (const door of [service.url, service.monitor]) expect((await fetch(new URL(path, door))).status).toBe(200);

  service.kill('SIGTERM');
  const { code, stdout, stderr } = await service.ended;
  expect(code).toBe(0);
  const lines = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.map(({ event }) => event)).toEqual(['serving', 'request', 'request', 'request', 'stopping', 'stopped']);
  expect(lines[1]).toEqual({
    level: 30,
    time: expect.any(String),
    event: 'request',
    request_id: expect.stringMatching(/^req_/),
    method: 'POST',
    route: 'POST /v1/enrich',
    status: 200,
    ms: expect.any(Number),
    bytes_in: 28,
    bytes_out: expect.any(Number),
    key_id: expect.stringMatching(/^key_/),
    credits: 1,
    replayed: false,
  });
  for (const output of [text, stdout, stderr])
    for (const secret of [key, EMAIL, 'ada', 'acme', 'secret']) expect(output).not.toContain(secret);
});

it('on SIGTERM a service refuses new connections, answers calls in flight, ends streams in order and exits with 0', async () => {
  // Slow enough to be still in flight when the metrics show it.
  const service = await watched('--latency-ms', '6000');
  const stream = await fetch(`${service.url}/v1/signals`, { headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream' } });
  const events = stream.text();
  const inFlight = enrich(service.url);
  await expect
    .poll(async () => [
      await valueOf(service, 'millrace_service_requests_in_flight'),
      await valueOf(service, 'millrace_service_event_streams'),
    ])
    .toEqual([1, 1]);
  service.kill('SIGTERM');
  await expect.poll(async () => (await fetch(new URL('readyz', service.monitor))).status).toBe(503);
  await expect
    .poll(() =>
      fetch(`${service.url}/healthz`).then(
        () => 'let in',
        () => 'refused',
      ),
    )
    .toBe('refused');
  const answer = await inFlight;
  expect([answer.status, answer.headers.get('connection'), ((await answer.json()) as { name: string }).name]).toEqual([
    200,
    'close',
    'Ada Example',
  ]);
  // The stream ended in order. A cut one would throw here.
  expect(await events).toMatch(/^retry: \d+\n\n$/);
  expect((await service.ended).code).toBe(0);
});

it('on a second signal a service ends without waiting for calls in flight', async () => {
  const service = await watched('--latency-ms', '60000');
  const inFlight = enrich(service.url).catch((error: unknown) => error);
  await expect.poll(() => valueOf(service, 'millrace_service_requests_in_flight')).toBe(1);
  service.kill('SIGTERM');
  await expect.poll(async () => (await fetch(new URL('readyz', service.monitor))).status).toBe(503);
  service.kill('SIGTERM');
  const { code, stderr } = await service.ended;
  expect([code, await inFlight]).toEqual([75, expect.any(Error)]);
  expect(stderr).toContain('stopped by SIGTERM');
});
