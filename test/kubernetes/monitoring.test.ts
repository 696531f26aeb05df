/** The dashboard, the alerts and docs/monitoring.md name metrics of `/metrics`, and no others. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { METRICS } from '../../src/job/monitor/metrics.ts';
import { ensurePackage } from '../services/debian.ts';
import { expectFiring, type AlertCase, type Series } from './promtool.ts';

const path = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const DASHBOARD = path('jobs/kubernetes/grafana/millrace.json');
const ALERTS = path('jobs/kubernetes/alerts.yaml');

/** Names of metrics in an expression, without the suffixes of histograms. */
const namesIn = (text: string): string[] =>
  [...text.matchAll(/\b(?:millrace|process)_[a-z_]+/g)].map(([name]) => name.replace(/_(?:bucket|sum|count)$/, ''));

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
}
const dashboard = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as { panels: Panel[]; templating: { list: { name: string }[] } };
const groups = (parse(readFileSync(ALERTS, 'utf8')) as { groups: { name: string; rules: { alert: string; expr: string }[] }[] }).groups;
const alertsOf = (group: string): { alert: string; expr: string }[] => groups.find(({ name }) => name === group)?.rules ?? [];

test('every metric of the dashboard exists, and every panel has one', () => {
  for (const { title, targets } of dashboard.panels) {
    const names = targets.flatMap(({ expr }) => namesIn(expr));
    expect(names.length, title).toBeGreaterThanOrEqual(targets.length);
    expect(
      names.filter((name) => !(name in METRICS)),
      title,
    ).toEqual([]);
  }
});

test('every metric of the alerts exists', () => {
  expect(alertsOf('millrace').length).toBeGreaterThan(5);
  for (const { alert, expr } of alertsOf('millrace')) {
    expect(namesIn(expr).length, alert).toBeGreaterThan(0);
    expect(
      namesIn(expr).filter((name) => !(name in METRICS)),
      alert,
    ).toEqual([]);
  }
});

/** Metrics of kube-state-metrics (its docs/metrics/workload). */
const KUBE_METRICS = [
  'kube_cronjob_created',
  'kube_cronjob_spec_suspend',
  'kube_cronjob_status_last_successful_time',
  'kube_job_failed',
  'kube_job_status_active',
  'kube_job_status_start_time',
  'kube_pod_deletion_timestamp',
  'kube_pod_status_phase',
];

test('the alerts on nights name metrics of kube-state-metrics, and docs/monitoring.md names each alert', () => {
  const page = readFileSync(path('docs/monitoring.md'), 'utf8');
  const used = alertsOf('millrace-nights').flatMap(({ expr }) => expr.match(/\bkube_[a-z_]+/g) ?? []);
  expect([...new Set(used)].sort()).toEqual(KUBE_METRICS);
  for (const { alert } of alertsOf('millrace-nights')) expect(page).toContain(`| \`${alert}\` |`);
});

test('docs/monitoring.md lists every metric with its type, and no other', () => {
  const page = readFileSync(path('docs/monitoring.md'), 'utf8');
  const rows = [...page.matchAll(/^\| ((?:`[a-z_]+`(?:, )?)+) \| (\w*) ?\|/gm)].map(([, names = '', type = '']) => ({
    names: namesIn(names),
    type,
  }));
  expect(rows.flatMap(({ names }) => names).sort()).toEqual(Object.keys(METRICS).sort());
  for (const { names, type } of rows) for (const name of names) if (type !== '') expect([name, type]).toEqual([name, METRICS[name]?.type]);
});

test.runIf(ensurePackage('prometheus', 'promtool'))('Prometheus accepts the alerts, and each expression of the dashboard', () => {
  expect(spawnSync('promtool', ['check', 'rules', ALERTS], { encoding: 'utf8' })).toMatchObject({ stderr: '', status: 0 });
  const rules = dashboard.panels.flatMap(({ title, targets }) =>
    targets.map(({ expr }, i) => ({ record: `panel:${i}`, expr: expr.replaceAll('$instance', '.*'), labels: { title } })),
  );
  const folder = mkdtempSync(join(tmpdir(), 'millrace-rules-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'panels.json'), JSON.stringify({ groups: [{ name: 'panels', rules }] }));
  expect(spawnSync('promtool', ['check', 'rules', join(folder, 'panels.json')], { encoding: 'utf8' })).toMatchObject({
    stderr: '',
    status: 0,
  });
});

/** Half an hour of a pod, scraped each minute. It uses `rpm` of a plan of 1,000, in two steps, while requests wait. */
const pod = (namespace: string, name: string, rpm: number, waiting = 5): { series: string; values: string }[] => {
  const labels = `namespace="${namespace}", job="millrace", pod="${name}", instance="${name}:9464"`;
  const each = (step: string): { series: string; values: string } => ({
    series: `millrace_requests_total{${labels}, step="${step}", code="200"}`,
    values: `0+${rpm / 2}x30`,
  });
  return [
    each('enrich'),
    each('verify'),
    { series: `millrace_plan_requests_per_minute{${labels}}`, values: '1000x30' },
    { series: `millrace_requests_waiting{${labels}}`, values: `${waiting}x30` },
  ];
};
const pods = (...rpm: number[]): { series: string; values: string }[] => rpm.flatMap((each, i) => pod('night', `pod-${i}`, each));

test.runIf(ensurePackage('prometheus', 'promtool'))('the unused plan is that of all pods of a namespace together', () => {
  fires('MillraceQuotaUnused', 'namespace', '29m', [
    { name: 'four shards with a quarter each', input: pods(245, 245, 245, 245), by: [] },
    { name: 'one of them takes what the others leave of a shared quota', input: pods(600, 20, 20, 20), by: [] },
    { name: 'four shards of which each is slow', input: pods(110, 110, 110, 110), by: ['night'] },
    { name: 'one pod alone', input: pods(400), by: ['night'] },
    { name: 'nothing waits', input: pod('night', 'pod', 100, 0), by: [] },
    { name: 'a key of its own in another namespace', input: [...pods(900), ...pod('day', 'pod', 100)], by: ['day'] },
  ]);
});

const fires = (alert: string, label: string, at: string, cases: readonly AlertCase[], interval?: string): void =>
  expectFiring(ALERTS, alert, label, at, cases, interval);

/** A pod from its first scrape on, one a minute: its written rows and its waits. */
const progress = (name: string, rows: string | null, by: string | null = null): Series[] => {
  const labels = `namespace="night", job="millrace", pod="${name}", instance="${name}:9464"`;
  return [
    { series: `millrace_lag_records{${labels}}`, values: '200x60' },
    ...(rows === null
      ? []
      : ['matched', 'failed'].map((outcome) => ({
          series: `millrace_records_total{${labels}, outcome="${outcome}"}`,
          values: outcome === 'matched' ? rows : '0x60',
        }))),
    ...['quota', 'answers', 'input'].map((reason) => ({
      series: `millrace_held_up{${labels}, by="${reason}"}`,
      values: `${reason === by ? 1 : 0}x60`,
    })),
  ];
};

test.runIf(ensurePackage('prometheus', 'promtool'))(
  'the alert on progress fires for a stalled pod of ten minutes, and not while rows come or a wait ends by itself',
  () => {
    fires('MillraceNoProgress', 'pod', '11m', [
      { name: 'it has never written a row', input: progress('new', '0x60'), by: ['new'] },
      { name: 'it has no series of rows at all', input: progress('new', null), by: ['new'] },
      { name: 'it wrote rows in its first minute', input: progress('stuck', '0 500x60'), by: ['stuck'] },
      { name: 'it waits for answers that do not come', input: progress('hung', '0 500x60', 'answers'), by: ['hung'] },
      { name: 'the quota is used up', input: progress('held', '0 500x60', 'quota'), by: [] },
      { name: 'a row a minute', input: progress('slow', '0+1x60'), by: [] },
      { name: 'one of two', input: [...progress('stuck', '0x60'), ...progress('well', '0+10x60')], by: ['stuck'] },
    ]);
  },
);

/** Times are seconds since the first scrape. */
const at = (metric: string, labels: string, value: number | string): Series => ({
  series: `${metric}{namespace="night", ${labels}}`,
  values: `${value}x60`,
});

test.runIf(ensurePackage('prometheus', 'promtool'))(
  'nights are watched: the age of the last success, a late night, and a failed one',
  () => {
    const cron = 'cronjob="millrace"';
    const success = (seconds: number): Series => at('kube_cronjob_status_last_successful_time', cron, seconds);
    const born = at('kube_cronjob_created', cron, 0);
    fires(
      'MillraceNoSuccess',
      'cronjob',
      '37h',
      [
        { name: 'a day and a half ago', input: [born, success(60)], by: ['millrace'] },
        { name: 'last night', input: [born, success(24 * 3_600)], by: [] },
        { name: 'never', input: [born], by: ['millrace'] },
        { name: 'suspended', input: [born, success(60), at('kube_cronjob_spec_suspend', cron, 1)], by: [] },
        { name: 'another CronJob', input: [at('kube_cronjob_status_last_successful_time', 'cronjob="backup"', 60)], by: [] },
      ],
      '1h',
    );
    const job = 'job_name="millrace-29919030"';
    fires(
      'MillraceNightLate',
      'job_name',
      '13h',
      [
        {
          name: 'under way',
          input: [at('kube_job_status_start_time', job, 60), at('kube_job_status_active', job, 1)],
          by: ['millrace-29919030'],
        },
        { name: 'over', input: [at('kube_job_status_start_time', job, 60), at('kube_job_status_active', job, 0)], by: [] },
        {
          name: 'begun two hours ago',
          input: [at('kube_job_status_start_time', job, 11 * 3_600), at('kube_job_status_active', job, 1)],
          by: [],
        },
      ],
      '1h',
    );
    fires('MillraceNightFailed', 'job_name', '5m', [
      {
        name: 'failed',
        input: [at('kube_job_failed', `${job}, condition="true"`, 1), at('kube_job_failed', `${job}, condition="false"`, 0)],
        by: ['millrace-29919030'],
      },
      {
        name: 'not failed',
        input: [at('kube_job_failed', `${job}, condition="true"`, 0), at('kube_job_failed', `${job}, condition="false"`, 1)],
        by: [],
      },
    ]);
  },
);

test.runIf(ensurePackage('prometheus', 'promtool'))(
  'pods are watched that do not start, or that do not end because their node is gone',
  () => {
    const name = 'pod="millrace-29919030-0-abcde"';
    const phase = (values: string): Series => ({ series: `kube_pod_status_phase{namespace="night", ${name}, phase="Pending"}`, values });
    fires('MillracePodNotStarting', 'pod', '20m', [
      { name: 'a Secret is missing', input: [phase('1x60')], by: ['millrace-29919030-0-abcde'] },
      { name: 'started after five minutes', input: [phase('1x5 0x60')], by: [] },
    ]);
    fires('MillracePodStuckTerminating', 'pod', '20m', [
      { name: 'since the eighth minute', input: [at('kube_pod_deletion_timestamp', name, 480)], by: ['millrace-29919030-0-abcde'] },
      { name: 'since the fifteenth', input: [at('kube_pod_deletion_timestamp', name, 900)], by: [] },
      { name: 'not at all', input: [phase('0x60')], by: [] },
    ]);
  },
);
