import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { parseExposition, type Parsed } from '../telemetry/parse-exposition.ts';
import { METRICS } from '../../src/job/monitor/metrics.ts';
import { freePort } from '../services/free-port.ts';
import { ensurePackage } from '../services/debian.ts';
import { leads, toCsv } from '../support/leads.ts';
import { API_KEY } from '../support/scripted-service.ts';
import { makeWorld } from '../support/world.ts';

const HEADERS = { 'x-ratelimit-limit': '1000', 'x-ratelimit-remaining': '900', 'x-ratelimit-reset': '60' };

/** Metrics that have nothing to say before the first row, or while nothing waits. */
const ABSENT_AT_FIRST = ['millrace_held_up_until_timestamp_seconds', 'millrace_verify_request_addresses', 'millrace_match_ratio'];

test('--monitor serves the metrics of a run to Prometheus; port and process end with the run', async () => {
  const { folder, service, args } = await makeWorld(toCsv(leads(60, 7)));
  // All lookups but the last are answered, one at its second attempt. The run then waits while the test reads the metrics.
  let failed = false;
  let finish: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    service.script = (asked, _response, reply, usual) => {
      if (asked.number === 5 && !failed) {
        failed = true;
        reply({ status: 500, body: '{}' });
      } else if (asked.path === 'verify') {
        finish = () => reply(usual());
        resolve();
      } else reply({ ...usual(), headers: HEADERS });
    };
  });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const run = folder.start(
    args({ monitor: String(port), progress: 'log', rpm: '1000', plan: false, concurrency: '2', 'max-errors': '100%' }),
  );
  await run.says(`the run shows itself at ${url}`);
  await held;
  const text = await (await fetch(new URL('metrics', url))).text();
  const parsed = parseExposition(text);
  // The end of a wait exists only during a wait, the size of verify requests only after the first answer, and providers only by name.
  expect([...parsed.keys()].sort()).toEqual(
    Object.keys(METRICS)
      .filter((name) => !ABSENT_AT_FIRST.includes(name))
      .filter((name) => !name.startsWith('millrace_provider_'))
      .sort(),
  );
  expect(text).not.toContain(API_KEY);
  expect(text).not.toMatch(/@|works\d/);
  const of = (name: string, labels = ''): number | undefined => parsed.get(name)?.samples.get(name + labels);
  const enriched = [...(parsed.get('millrace_requests_total') as Parsed).samples]
    .filter(([key]) => key.includes('step="enrich"'))
    .reduce((sum, [, n]) => sum + n, 0);
  expect(enriched).toBe(service.calls.enrich);
  expect(of('millrace_requests_total', '{step="enrich",code="500"}')).toBe(1);
  expect(of('millrace_retries_total', '{step="enrich"}')).toBe(1);
  expect([
    of('millrace_requests_in_flight'),
    of('millrace_plan_requests_per_minute'),
    of('millrace_quota_limit'),
    of('millrace_quota_remaining'),
  ]).toEqual([1, 1_000, 1_000, 900]);
  expect(of('millrace_lag_records')).toBeGreaterThan(0);
  if (ensurePackage('prometheus', 'promtool'))
    expect(spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })).toMatchObject({
      stdout: '',
      stderr: '',
      status: 0,
    });
  expect(await (await fetch(new URL('progress.json', url))).json()).toMatchObject({
    job: 'out',
    state: 'running',
    inFlight: 1,
    rpm: 1_000,
    retries: 1,
  });
  finish();
  expect(await run.ended).toMatchObject({ code: 0 });
  await expect(fetch(url)).rejects.toThrow();
});

test('the live page, the status and the report agree on the records done and the total', async () => {
  const { folder, service, args } = await makeWorld(toCsv(leads(60, 7).filter(({ key }) => key !== null)));
  service.script = (asked, _response, reply, usual) => {
    if (asked.number <= 20) reply(usual());
  };
  const port = await freePort();
  const job = { steps: 'enrich', concurrency: '2', 'max-errors': '100%' };
  const run = folder.start(args({ ...job, monitor: String(port) }));
  await service.when(() => service.answered === 20 && service.unanswered.size > 0);
  interface Done {
    readonly state: string;
    readonly share: number;
    readonly rows: number;
    readonly records: unknown;
  }
  const page = async (): Promise<Done> => (await (await fetch(`http://127.0.0.1:${port}/progress.json`)).json()) as Done;
  const status = async (): Promise<Done> => {
    const { state, share, records, expected } = JSON.parse(
      (await folder.run(['status', ...args({ ...job, json: true }).slice(1)])).stdout,
    ) as Omit<Done, 'rows'> & { records: { total: number }; expected: unknown };
    return { state, share, rows: records.total, records: expected };
  };
  // The run waits, so that its checkpoint and its page, refreshed twice a second, become equal.
  let [shown, stored] = [await page(), await status()];
  while (shown.rows !== stored.rows || shown.share !== stored.share) [shown, stored] = [await page(), await status()];
  expect(stored).toEqual({ state: 'running', share: shown.share, rows: shown.rows, records: shown.records });
  expect(stored.share).toBeGreaterThan(0);
  const words = (await folder.run(['status', ...args(job).slice(1)])).stdout;
  expect(words).toMatch(new RegExp(`, ${Math.floor(stored.share * 100)} % of (?:about )?\\d+ records, ${stored.rows} rows written, `));
  run.kill('SIGTERM');
  run.kill('SIGINT');
  expect((await run.ended).code).toBe(75);
  expect(await status()).toEqual({ ...stored, state: 'stopped' });
  service.script = (_asked, _response, reply, usual) => reply(usual());
  expect((await folder.run(args(job))).code).toBe(0);
  const { records } = (await folder.json('out.csv.report.json')) as { records: { total: number } };
  expect(await status()).toEqual({ state: 'finished', share: 1, rows: records.total, records: { records: records.total, isExact: true } });
});

test('an open page gets the final picture of a resumed run, with the numbers of its report', async () => {
  const { folder, service, args } = await makeWorld(toCsv(leads(60, 7)));
  const port = await freePort();
  const job = { concurrency: '2', 'max-errors': '100%' };
  expect((await folder.run(args({ ...job, 'max-calls': '20' }))).code).toBe(77);
  service.latencyMs = 5;
  const run = folder.start(args({ ...job, monitor: String(port) }));
  let shown: Record<string, unknown> = {};
  // As the page does: again and again, until the run has ended.
  while (shown['state'] !== 'finished') {
    const response = await fetch(`http://127.0.0.1:${port}/progress.json`).catch(() => null);
    if (response !== null) shown = (await response.json()) as typeof shown;
    await new Promise(setImmediate);
  }
  expect((await run.ended).code).toBe(0);
  const report = await folder.json('out.csv.report.json');
  const { total, ...outcomes } = report['records'] as Record<string, number>;
  const { verification, errors, credits, exitCode, calls } = report as Record<string, unknown> & { calls: Record<string, number> };
  expect(shown).toMatchObject({ rows: total, outcomes, verification, errors, credits, exitCode, share: 1 });
  const { requests } = shown['series'] as { requests: number[] };
  expect(requests.reduce((sum, n) => sum + n, 0)).toBe(Object.values(calls).reduce((sum, n) => sum + n, 0));
});

test('a --monitor port in use ends the run before it has made any file', async () => {
  const { folder, service, args } = await makeWorld(toCsv(leads(3, 8)));
  const ended = await folder.run(args({ monitor: String(service.port) }));
  expect(ended.code).toBe(78);
  expect(ended.stderr).toContain(`the monitor cannot listen on 127.0.0.1, port ${service.port}: the port is taken`);
  expect(await folder.files()).toEqual(['in.csv']);
});
