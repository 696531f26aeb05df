import { count } from './words.ts';
import { closeSync, openSync, readSync } from 'node:fs';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { JobPaths } from './paths.ts';
import type { Report } from './report.ts';

const PREVIEW_ROWS = 3;
/** Enough for the first rows; a first compressed member is larger and then simply not shown. */
const PREVIEW_BYTES = 256 * 1024;
const LINE_WIDTH = 110;

/** The table at the end of a run, where the result is, and its first rows. */
export function summaryTable(report: Report, paths: Pick<JobPaths, 'report' | 'errors' | 'output'> | null): string {
  const { records, calls } = report;
  const share = (n: number): string => (records.total === 0 ? '' : `${((n / records.total) * 100).toFixed(1)} %`);
  const rows: [string, string, string][] = [
    ['records', count(records.total), ''],
    ...(['matched', 'no_match', 'invalid', 'suppressed', 'failed'] as const).map((name): [string, string, string] => [`  ${name}`, count(records[name]), share(records[name])]),
    ...Object.entries(report.verification).map(([name, n]): [string, string, string] => [`  ${name}`, count(n), share(n)]),
    ['requests', count(Object.values(calls).reduce((sum, n) => sum + n, 0)), Object.entries(calls).map(([step, n]) => `${step} ${count(n)}`).join(', ')],
    ['lookups', count(report.lookups.unique), report.lookups.fromLedger > 0 ? `${count(report.lookups.fromLedger)} already paid for` : ''],
    ['credits', count(report.credits), ''],
  ];
  if (report.retries > 0) rows.push(['retries', count(report.retries), '']);
  if (report.throttled.events > 0) rows.push(['throttled', count(report.throttled.events), `${Math.round(report.throttled.waitedMs / 1_000)} s waited`]);
  if (report.latencyMs.p50 !== null) rows.push(['latency', `${report.latencyMs.p50} ms`, `p95 ${report.latencyMs.p95} ms, p99 ${report.latencyMs.p99} ms`]);
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = ['', ...rows.map(([name, value, note]) => `${name.padEnd(width)}  ${value.padStart(10)}  ${note}`.trimEnd()), ''];
  if (paths !== null) {
    lines.push(`Result: ${report.output.uri}`);
    lines.push(`Report: ${report.output.uri}.report.json`);
    if (records.failed + records.invalid > 0) lines.push(`Errors: ${report.output.uri}.errors.jsonl`);
    lines.push(...preview(paths.output));
  }
  return lines.join('\n');
}

/** The result's first lines, cut to a terminal's width; nothing when they cannot be had. */
function preview(path: string): string[] {
  try {
    const file = openSync(path, 'r');
    const bytes = Buffer.alloc(PREVIEW_BYTES);
    const length = readSync(file, bytes, 0, PREVIEW_BYTES, 0);
    closeSync(file);
    const head = bytes.subarray(0, length);
    const plain = path.endsWith('.gz') ? gunzipSync(head) : path.endsWith('.zst') ? zstdDecompressSync(head) : head;
    const lines = plain.toString('utf8').split('\n').slice(0, PREVIEW_ROWS + 1);
    return ['', ...lines.filter((line) => line !== '').map((line) => (line.length > LINE_WIDTH ? `${line.slice(0, LINE_WIDTH - 1)}…` : line))];
  } catch {
    return [];
  }
}

