/** The alerts of a self-hosted service name metrics of its `/metrics`, and fire when an operator must act. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { SERVICE_METRICS } from '../../src/service/app/metrics.ts';
import { ensurePackage } from '../services/debian.ts';
import { expectFiring, type AlertCase, type Series } from './promtool.ts';

const path = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const ALERTS = path('jobs/kubernetes/service-alerts.yaml');
const { groups } = parse(readFileSync(ALERTS, 'utf8')) as { groups: { rules: { alert: string; expr: string }[] }[] };
const rules = groups.flatMap((group) => group.rules);

test('every metric of the alerts exists, and docs/operating.md lists each alert', () => {
  const page = readFileSync(path('docs/operating.md'), 'utf8');
  for (const { alert, expr } of rules) {
    const names = [...expr.matchAll(/\bmillrace_\w+/g)].map(([name]) => name);
    expect(names.length, alert).toBeGreaterThan(0);
    expect(
      names.filter((name) => !(name in SERVICE_METRICS)),
      alert,
    ).toEqual([]);
    expect(page).toContain(`| \`${alert}\` |`);
  }
});

const GIB = 1024 ** 3;
const series = (name: string, values: string, labels = ''): Series => ({ series: `${name}{instance="one"${labels}}`, values });
const unwritable = (values: string): Series[] => [
  series('millrace_service_store_unwritable', values, ', reason="disk_full"'),
  series('millrace_service_store_unwritable', '0x90', ', reason="disk_failed"'),
];
const disk = (free: string): Series[] => [
  series('millrace_service_disk_free_bytes', free, ', files="store"'),
  series('millrace_service_disk_bytes', `${100 * GIB}x90`, ', files="store"'),
];
const errors = (values: string): Series[] => [series('millrace_service_requests_total', values, ', route="GET /v1/signals", code="500"')];

const CASES: Readonly<Record<string, readonly AlertCase[]>> = {
  MillraceServiceNotReady: [
    { name: 'not ready for five minutes', input: [series('millrace_service_ready', '1x55 0x30')], by: ['one'] },
    { name: 'ready', input: [series('millrace_service_ready', '1x90')], by: [] },
  ],
  MillraceStoreUnwritable: [
    { name: 'a full disk', input: unwritable('0x50 1x30'), by: ['one'] },
    { name: 'an import had it for a moment', input: unwritable('0x40 1 0x40'), by: [] },
  ],
  MillraceDiskNearlyFull: [
    { name: 'four of a hundred GiB are left', input: disk(`${4 * GIB}x90`), by: ['one'] },
    { name: 'a third, and six GiB less every hour', input: disk(`${36 * GIB}-${GIB / 10}x90`), by: ['one'] },
    { name: 'a third, and one GiB less every hour', input: disk(`${36 * GIB}-${GIB / 60}x90`), by: [] },
  ],
  MillraceStoreDamaged: [
    { name: 'met once', input: [series('millrace_service_store_damage_total', '_x50 1x40', ', where="POST /v1/enrich"')], by: ['one'] },
    { name: 'nothing is damaged', input: [series('millrace_service_ready', '1x90')], by: [] },
  ],
  MillraceServiceErrors: [
    { name: 'one a minute', input: errors('0+1x90'), by: ['one'] },
    { name: 'one, half an hour ago', input: errors('0x30 1x60'), by: [] },
  ],
  MillraceServiceOverloaded: [
    { name: 'ten a minute', input: [series('millrace_service_shed_total', '0+10x90', ', reason="line"')], by: ['one'] },
    { name: 'none', input: [series('millrace_service_shed_total', '7x90', ', reason="line"')], by: [] },
  ],
};

test.runIf(ensurePackage('prometheus', 'promtool'))('Prometheus accepts the alerts, and each fires in its cases', () => {
  expect(spawnSync('promtool', ['check', 'rules', ALERTS], { encoding: 'utf8' })).toMatchObject({ stderr: '', status: 0 });
  expect(rules.map(({ alert }) => alert)).toEqual(Object.keys(CASES));
  for (const [alert, cases] of Object.entries(CASES)) expectFiring(ALERTS, alert, 'instance', '60m', cases);
});
