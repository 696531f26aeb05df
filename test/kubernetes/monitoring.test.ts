/** The dashboard, the alerts and the page of the docs name what `/metrics` tells, and nothing else. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { METRICS } from '../../src/monitor/metrics.ts';
import { ensurePackage } from '../services/debian.ts';

const path = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const DASHBOARD = path('jobs/kubernetes/grafana/millrace.json');
const ALERTS = path('jobs/kubernetes/alerts.yaml');

/** Names of metrics in an expression, a histogram's without what is added to them. */
const namesIn = (text: string): string[] => [...text.matchAll(/\b(?:millrace|process)_[a-z_]+/g)].map(([name]) => name.replace(/_(?:bucket|sum|count)$/, ''));

interface Panel { readonly title: string; readonly targets: readonly { readonly expr: string }[] }
const dashboard = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as { panels: Panel[]; templating: { list: { name: string }[] } };
const alerts = (parse(readFileSync(ALERTS, 'utf8')) as { groups: { rules: { alert: string; expr: string }[] }[] }).groups.flatMap(({ rules }) => rules);

test('every metric of the dashboard exists, and every panel has one', () => {
  for (const { title, targets } of dashboard.panels) {
    const names = targets.flatMap(({ expr }) => namesIn(expr));
    expect(names.length, title).toBeGreaterThanOrEqual(targets.length);
    expect(names.filter((name) => !(name in METRICS)), title).toEqual([]);
  }
});

test('every metric of the alerts exists', () => {
  expect(alerts.length).toBeGreaterThan(5);
  for (const { alert, expr } of alerts) {
    expect(namesIn(expr).length, alert).toBeGreaterThan(0);
    expect(namesIn(expr).filter((name) => !(name in METRICS)), alert).toEqual([]);
  }
});

test('docs/monitoring.md lists every metric with its type, and no other', () => {
  const page = readFileSync(path('docs/monitoring.md'), 'utf8');
  const rows = [...page.matchAll(/^\| ((?:`[a-z_]+`(?:, )?)+) \| (\w*) ?\|/gm)].map(([, names = '', type = '']) => ({ names: namesIn(names), type }));
  expect(rows.flatMap(({ names }) => names).sort()).toEqual(Object.keys(METRICS).sort());
  for (const { names, type } of rows) for (const name of names) if (type !== '') expect([name, type]).toEqual([name, METRICS[name]?.type]);
});

test.runIf(ensurePackage('prometheus', 'promtool'))('Prometheus takes the alerts, and each expression of the dashboard', () => {
  expect(spawnSync('promtool', ['check', 'rules', ALERTS], { encoding: 'utf8' })).toMatchObject({ stderr: '', status: 0 });
  const rules = dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }, i) => ({ record: `panel:${i}`, expr: expr.replaceAll('$instance', '.*'), labels: { title } })));
  const folder = mkdtempSync(join(tmpdir(), 'millrace-rules-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'panels.json'), JSON.stringify({ groups: [{ name: 'panels', rules }] }));
  expect(spawnSync('promtool', ['check', 'rules', join(folder, 'panels.json')], { encoding: 'utf8' })).toMatchObject({ stderr: '', status: 0 });
});

/** A pod for half an hour, scraped each minute: of a plan of 1,000 it uses so many a minute, in two steps, and requests wait. */
const pod = (namespace: string, name: string, rpm: number, waiting = 5): { series: string; values: string }[] => {
  const labels = `namespace="${namespace}", job="millrace", pod="${name}", instance="${name}:9464"`;
  const each = (step: string): { series: string; values: string } => ({ series: `millrace_requests_total{${labels}, step="${step}", code="200"}`, values: `0+${rpm / 2}x30` });
  return [each('enrich'), each('verify'), { series: `millrace_plan_requests_per_minute{${labels}}`, values: '1000x30' }, { series: `millrace_requests_waiting{${labels}}`, values: `${waiting}x30` }];
};
const pods = (...rpm: number[]): { series: string; values: string }[] => rpm.flatMap((each, i) => pod('night', `pod-${i}`, each));

test.runIf(ensurePackage('prometheus', 'promtool'))('an unused plan is what all pods of a namespace leave of it together', () => {
  const tests = [
    { name: 'four shards with a quarter each', input: pods(245, 245, 245, 245), fires: [] },
    { name: 'one of them takes what the others leave of a shared quota', input: pods(600, 20, 20, 20), fires: [] },
    { name: 'four shards of which each is slow', input: pods(110, 110, 110, 110), fires: ['night'] },
    { name: 'one pod alone', input: pods(400), fires: ['night'] },
    { name: 'nothing waits', input: pod('night', 'pod', 100, 0), fires: [] },
    { name: 'a key of its own in another namespace', input: [...pods(900), ...pod('day', 'pod', 100)], fires: ['day'] },
  ].map(({ name, input, fires }) => ({
    name,
    interval: '1m',
    input_series: input.map(({ series, values }) => ({ series, values })),
    // The alerts themselves, as a query, so that their texts need not be written twice.
    promql_expr_test: [{
      expr: 'count by (namespace) (ALERTS{alertname="MillraceQuotaUnused", alertstate="firing"})',
      eval_time: '29m',
      exp_samples: fires.map((namespace) => ({ labels: `{namespace="${namespace}"}`, value: 1 })),
    }],
  }));
  const folder = mkdtempSync(join(tmpdir(), 'millrace-rules-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'tests.json'), JSON.stringify({ rule_files: [ALERTS], tests }));
  expect(spawnSync('promtool', ['test', 'rules', join(folder, 'tests.json')], { encoding: 'utf8' })).toMatchObject({ stderr: '', status: 0 });
});
