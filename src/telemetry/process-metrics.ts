/** The metrics of every Millrace process, under the names that other programs use too. */
import { packageVersion } from '../util/package-version.ts';
import type { Family, MetricSample } from './prometheus-text.ts';

export const PROCESS_METRICS = {
  millrace_build_info: { type: 'gauge', help: 'Always 1; the labels say what runs.' },
  process_start_time_seconds: { type: 'gauge', help: 'When the process was started, Unix time.' },
  process_cpu_seconds_total: { type: 'counter', help: 'Processor time, user and system.' },
  process_resident_memory_bytes: { type: 'gauge', help: 'Resident memory.' },
} as const satisfies Readonly<Record<string, Pick<Family, 'type' | 'help'>>>;

/** When this process was started, epoch milliseconds. */
export function startedAtMs(): number {
  return Date.now() - process.uptime() * 1_000;
}

/** @param startedAtMs of the process, Unix time */
export function processSamples(startedAtMs: number): Record<keyof typeof PROCESS_METRICS, readonly MetricSample[]> {
  const { user, system } = process.cpuUsage();
  return {
    millrace_build_info: [{ labels: { version: packageVersion(), node: process.version }, value: 1 }],
    process_start_time_seconds: [{ value: startedAtMs / 1_000 }],
    process_cpu_seconds_total: [{ value: (user + system) / 1e6 }],
    process_resident_memory_bytes: [{ value: process.memoryUsage.rss() }],
  };
}
