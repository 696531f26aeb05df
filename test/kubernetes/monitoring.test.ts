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
