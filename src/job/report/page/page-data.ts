/** The data of the report's page. Pure. */
import type { Checkpoint } from '../../../checkpoint/checkpoint-file.ts';
import { LatencyHistogram, type LatencyRange } from '../../run/latency-histogram.ts';
import type { Report } from '../report.ts';

/** Bars of the latency chart at most. */
const MOST_RANGES = 40;
/** Files of the input that are named. */
const MOST_FILES = 3;

export interface PageData {
  readonly report: Report;
  /** Names of the first files only. */
  readonly input: { readonly names: readonly string[]; readonly files: number; readonly bytes: number };
  readonly latencies: readonly LatencyRange[];
}

/** The report, and what the checkpoint knows besides. It holds no row and no secret. */
export function pageData({ manifest: { files }, totals }: Checkpoint, report: Report): PageData {
  return {
    report,
    input: {
      names: files.slice(0, MOST_FILES).map(({ uri }) => uri),
      files: files.length,
      bytes: files.reduce((sum, { size }) => sum + size, 0),
    },
    latencies: new LatencyHistogram(totals.latency).ranges(MOST_RANGES),
  };
}
