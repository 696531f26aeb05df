import { readFile } from 'node:fs/promises';
import { expect, it, vi } from 'vitest';
import { exposition } from '../../../src/telemetry/prometheus-text.ts';
import { Journal } from '../../../src/service/store/journal.ts';
import { LoopLag } from '../../../src/service/monitoring/loop-lag.ts';
import { serviceFamilies, SERVICE_METRICS } from '../../../src/service/app/metrics.ts';
import { parseExposition } from '../../telemetry/parse-exposition.ts';
import { makeKey, makeStore, serveStore } from '../harness.ts';

it('the documentation names every metric and no other', async () => {
  const text = await readFile('docs/operating.md', 'utf8');
  const documented = [
    ...text.slice(text.indexOf('## Watching'), text.indexOf('Worth an alert')).matchAll(/`((?:millrace|process)_\w+)`/g),
  ].map(([, name]) => name);
  expect(new Set(documented)).toEqual(new Set(Object.keys(SERVICE_METRICS)));
});

it('refusals are counted by reason and plan, and replays are counted', async () => {
  const store = await makeStore();
  const key = await makeKey(store, 'trial', { credits: 5 });
  const service = await serveStore({ store });
  const ask = (headers = {}) => service.post('/v1/enrich', { id: 'pe_1' }, { key, headers });
  for (let n = 0; n < 2; n++) await ask({ 'idempotency-key': 'k' });
  await Promise.all(Array.from({ length: 70 }, () => ask()));
  await service.post('/v1/enrich', { id: 'pe_1' }, { key: 'unknown' });
  await service.request('/v1/people/jane.doe@acme.example');
  const found = parseExposition(exposition(serviceFamilies(service.look(), 0)));
  const value = (family: string, labels = ''): number => found.get(family)?.samples.get(family + labels) ?? 0;
  const enriched = (code: number): number => value('millrace_service_requests_total', `{route="POST /v1/enrich",code="${code}"}`);
  expect([enriched(200), enriched(401), value('millrace_service_requests_total', '{route="none",code="404"}')]).toEqual([6, 1, 1]);
  expect(enriched(402) + enriched(429)).toBe(66);
  expect([
    value('millrace_service_credits_total'),
    value('millrace_service_replays_total'),
    value('millrace_service_throttled_total', '{plan="trial"}'),
  ]).toEqual([5, 1, enriched(429)]);
  expect([
    value('millrace_service_ready'),
    value('millrace_service_requests_in_flight'),
    value('millrace_service_store_stuck_seconds'),
  ]).toEqual([1, 0, 0]);
  expect(JSON.stringify([...found])).not.toMatch(/jane|acme|key_/);
});

it('a replay that ends in 503 is counted as a 503 only', async () => {
  const store = await makeStore();
  const key = await makeKey(store, 'trial');
  const service = await serveStore({ store });
  const ask = async (): Promise<number> =>
    (await service.post('/v1/enrich', { id: 'pe_1' }, { key, headers: { 'idempotency-key': 'k' } })).status;
  expect([await ask(), await ask()]).toEqual([200, 200]);
  const { meter } = service.look();
  const before = meter.replays;
  // The quota of a replay is not written each time.
  vi.spyOn(Journal.prototype, 'written').mockResolvedValue(false);
  let replayed = 0;
  while ((await ask()) === 200) replayed++;
  vi.restoreAllMocks();
  expect([before, meter.replays, meter.routes.get('POST /v1/enrich')?.codes]).toEqual([
    1,
    1 + replayed,
    new Map([
      ['200', 2 + replayed],
      ['503', 1],
    ]),
  ]);
});

it('the lag of the event loop is the worst delay of the last seconds', () => {
  vi.useFakeTimers();
  let skewMs = 0;
  const lag = new LoopLag(() => Date.now() + skewMs);
  vi.advanceTimersByTime(1_000);
  expect(lag.worstMs).toBe(0);
  skewMs = 70;
  vi.advanceTimersByTime(10_000);
  expect(lag.worstMs).toBe(70);
  vi.advanceTimersByTime(40_000);
  expect(lag.worstMs).toBe(0);
  lag.close();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});
