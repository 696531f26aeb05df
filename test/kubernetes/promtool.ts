/** Evaluates alerts with Prometheus itself. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';

export interface Series {
  readonly series: string;
  readonly values: string;
}
export interface AlertCase {
  readonly name: string;
  readonly input: readonly Series[];
  readonly by: readonly string[];
}

/**
 * Checks with promtool that an alert fires at that time for these values of one label, and for no others. @param rules the file of the
 * alert
 */
export function expectFiring(rules: string, alert: string, label: string, at: string, cases: readonly AlertCase[], interval = '1m'): void {
  const tests = cases.map(({ name, input, by }) => ({
    name,
    interval,
    input_series: input.map(({ series, values }) => ({ series, values })),
    // The alerts themselves as a query, so that their texts are not repeated.
    promql_expr_test: [
      {
        expr: `count by (${label}) (ALERTS{alertname="${alert}", alertstate="firing"})`,
        eval_time: at,
        exp_samples: by.map((value) => ({ labels: `{${label}="${value}"}`, value: 1 })),
      },
    ],
  }));
  const folder = mkdtempSync(join(tmpdir(), 'millrace-rules-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'tests.json'), JSON.stringify({ rule_files: [rules], evaluation_interval: interval, tests }));
  expect(spawnSync('promtool', ['test', 'rules', join(folder, 'tests.json')], { encoding: 'utf8' })).toMatchObject({
    stderr: '',
    status: 0,
  });
}
