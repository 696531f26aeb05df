import { paced } from '../../definition/support.ts';
import { RecordsOnTheWay } from '../../../src/job/run/on-the-way.ts';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect, createServer, type AddressInfo } from 'node:net';
import { runInNewContext } from 'node:vm';
import { expect, onTestFinished, test } from 'vitest';
import type { Reporter } from '../../../src/job/progress/reporter.ts';
import type { CompiledJob } from '../../../src/definition/compiled-job.ts';
import type { MonitorAddress } from '../../../src/telemetry/listen-address.ts';
import { openMonitor, type Monitor } from '../../../src/job/monitor/open-monitor.ts';
import { PAGE } from '../../../src/job/monitor/page.ts';
import { EMPTY_TALLY } from '../../../src/writer/tally.ts';
import { parseExposition } from '../../telemetry/parse-exposition.ts';

const JOB = { name: 'night "ly"\n', ...paced(1_000), limits: { limit: null }, output: { uri: 'out.csv' } } as unknown as CompiledJob;

async function open(address: MonitorAddress = { host: '127.0.0.1', port: 0 }): Promise<Monitor> {
  const monitor = await openMonitor(JOB, address);
  onTestFinished(() => monitor.close().catch(() => undefined));
  return monitor;
}

const portOf = ({ url }: Monitor): number => Number(new URL(url).port);

test('the monitor before the run is alive, not ready, and has the process metrics', async () => {
  const monitor = await open();
  const get = (path: string): Promise<Response> => fetch(new URL(path, monitor.url));
  expect([await get('healthz'), await get('readyz'), await get('progress.json'), await get('nothing')].map(({ status }) => status)).toEqual(
    [200, 503, 200, 404],
  );
  const parsed = parseExposition(await (await get('metrics')).text());
  expect([...parsed.keys()]).toEqual([
    'millrace_build_info',
    'process_start_time_seconds',
    'process_cpu_seconds_total',
    'process_resident_memory_bytes',
    'millrace_job_info',
  ]);
  expect([...(parsed.get('millrace_job_info')?.samples.keys() ?? [])]).toEqual([String.raw`millrace_job_info{name="night \"ly\"\n"}`]);
  expect(await (await get('progress.json')).json()).toEqual({ job: JOB.name, state: 'starting' });
});

test('the monitor refuses methods other than GET without reading their bodies', async () => {
  const monitor = await open();
  const asked = request(new URL('metrics', monitor.url), { method: 'POST', headers: { 'transfer-encoding': 'chunked' } });
  asked.on('error', () => undefined);
  asked.write('x');
  const [response] = await once(asked, 'response');
  expect([response.statusCode, response.headers.allow, response.headers.connection]).toEqual([405, 'GET, HEAD', 'close']);
  asked.destroy();
});

test('the monitor closes a connection whose header has no end', async () => {
  const monitor = await open();
  const socket = connect(portOf(monitor), '127.0.0.1').setEncoding('latin1');
  socket.write(`GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(9 * 1_024)}`);
  const [said] = await once(socket, 'data');
  expect(said).toMatch(/^HTTP\/1\.1 431 /);
  await once(socket, 'close');
});

test('a monitor port in use is 78, and the message says so', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;
  await expect(openMonitor(JOB, { host: '127.0.0.1', port })).rejects.toMatchObject({
    exitCode: 78,
    code: 'monitor_cannot_listen',
    message: `the monitor cannot listen on 127.0.0.1, port ${port}: the port is taken`,
  });
});

test('closing the monitor ends idle connections and frees the port', async () => {
  const monitor = await open();
  const socket = connect(portOf(monitor), '127.0.0.1');
  await once(socket, 'connect');
  const closed = new Promise((resolve) => socket.on('error', () => undefined).once('close', resolve));
  await monitor.close();
  await closed;
  await open({ host: '127.0.0.1', port: portOf(monitor) });
});

test('the page of the monitor runs its script, has every element that it writes to, and loads nothing from elsewhere', async () => {
  const monitor = await open();
  const response = await fetch(monitor.url);
  const page = await response.text();
  expect(page).toBe(PAGE);
  expect(response.headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; connect-src 'self'/,
  );
  expect(page).not.toMatch(/(?:src|href)="(?:https?:)?\/\/|@import|url\(/);
  const [, script = ''] = /<script>([\s\S]*)<\/script>/.exec(page) ?? [];
  const ids = new Set([...page.matchAll(/ id="([\w-]+)"/g)].map(([, id]) => id));
  const elements = new Map<string, Record<string, unknown>>();
  const document = {
    title: '',
    getElementById: (id: string) => {
      if (!ids.has(id)) throw new Error(`there is no element ${id}`);
      const element = elements.get(id) ?? { setAttribute: (name: string, value: string) => Object.assign(element, { [name]: value }) };
      elements.set(id, element);
      return element;
    },
  };
  const now = {
    job: '<b>x</b>',
    state: 'running',
    share: 0.42,
    etaMs: 90_000,
    rows: 1_234,
    outcomes: { matched: 1_000, no_match: 234, failed: 0 },
    matchRates: { people: 0.75, companies: 0.987 },
    rowsPerSecond: 16,
    requestsPerSecond: 16.5,
    rpm: 1_000,
    quota: { limit: 1_000, remaining: 7, usedShare: 0.99 },
    inFlight: 3,
    inFlightLimit: 16,
    waiting: 20,
    lag: { records: 23, oldestMs: 2_000 },
    checkpointAgeMs: 700,
    latencyMs: { p50: 61, p95: 80, p99: 1_200 },
    retries: 4,
    throttled: { events: 1, waitedMs: 900 },
    heldUp: { by: 'quota', what: 'the quota of 9 requests a day, which is used up', leftMs: 31_000 },
    activeMs: 65_000,
    credits: 1_500,
    verification: { risky: 1, deliverable: 900 },
    errors: { 'enrich:http_500': 3 },
    series: { widthMs: 2_000, requests: [10, 20, 5] },
  };
  const turns: (() => void)[] = [];
  runInNewContext(script, {
    document,
    fetch: async () => ({ json: async () => now }),
    setTimeout: (turn: () => void) => turns.push(turn),
    AbortSignal,
  });
  await new Promise(setImmediate);
  expect(turns).toHaveLength(1);
  const text = (id: string): unknown => elements.get(id)?.['textContent'];
  expect(
    ['job', 'notice', 'rows', 'rows-more', 'requests', 'quota', 'quota-more', 'eta', 'latency', 'lag-more', 'checkpoint'].map(text),
  ).toEqual([
    '<b>x</b>',
    'Waiting for the quota of 9 requests a day, which is used up: 31 s left',
    '1,234',
    'matched 1,000, no_match 234',
    '17',
    '99 %',
    '7 of 1,000 left, says the service',
    '1 min 30 s',
    '61 ms',
    'the oldest for 2 s',
    '1 s ago',
  ]);
  expect(['matched', 'matched-more'].map(text)).toEqual(['75.0 %, 98.7 %', 'of people, of companies']);
  expect(['elapsed', 'credits', 'verdicts', 'verdicts-more', 'errors', 'errors-more'].map(text)).toEqual([
    '1 min 5 s',
    '1,500',
    '901',
    'deliverable 900, risky 1',
    '3',
    'enrich:http_500 3',
  ]);
  // The slots of the whole run, without the last, which is not over. The plan's 16.7 requests a second are the top.
  expect([document.title, elements.get('rate')?.['points']]).toEqual(['42 % <b>x</b> - Millrace', '0.0,71.50 300.0,43.00']);
  // The final picture stays: nothing is asked for again.
  Object.assign(now, { state: 'finished', exitCode: 1, share: 1 });
  turns.pop()?.();
  await new Promise(setImmediate);
  expect([turns, text('state')]).toEqual([[], 'finished with exit code 1']);
});

test('the monitor is ready while the run lasts, and passes reporter events on', async () => {
  const monitor = await open();
  const calls: string[] = [];
  const reporter = {
    start: () => calls.push('start'),
    stop: () => calls.push('stop'),
    info: () => calls.push('info'),
  } as unknown as Reporter;
  const watched = monitor.watching(reporter);
  const ready = async (): Promise<number> => (await fetch(new URL('readyz', monitor.url))).status;
  watched.info('x', 'y');
  const counters = {
    waitsNow: () => ({ reasons: {} }),
    meter: { steps: new Map(), rows: {} },
    requestSize: () => ({ kept: null, tooLarge: 0 }),
    callsNow: 0,
    throttledEvents: 0,
    waitedMs: 0,
    credits: 0,
    series: null,
    latency: { percentile: () => null },
  };
  const checkpoint = { retry: null, manifest: { files: [] }, mark: { position: null } };
  watched.start({
    job: { output: { uri: 'out' }, ...paced(null), limits: { limit: null } },
    counters,
    checkpoint,
    pool: { outage: null },
    limiter: { throttledMs: () => 0, pausedMs: () => 0 },
    loop: { onTheWay: new RecordsOnTheWay() },
    checkpoints: { lastSaved: null },
    writer: { tally: EMPTY_TALLY },
  } as unknown as Parameters<Reporter['start']>[0]);
  expect(await ready()).toBe(200);
  watched.stop();
  expect(await ready()).toBe(503);
  expect(calls).toEqual(['info', 'start', 'stop']);
});
