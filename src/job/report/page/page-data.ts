/** The data of the report's page. Pure. */
import type { Checkpoint } from '../../../checkpoint/checkpoint-file.ts';
import { readSlots, type CallTimeline } from '../../../checkpoint/call-slots.ts';
import { LatencyHistogram, type LatencyRange } from '../../run/latency-histogram.ts';
import type { Report } from '../report.ts';
import type { CompiledJob } from '../../../definition/compiled-job.ts';

/** Bars of the latency chart at most. */
const MOST_RANGES = 40;
/** Files of the input that are named. */
const MOST_FILES = 3;

export interface PageData {
  readonly report: Report;
  readonly steps: readonly string[];
  /** Names of the first files only. */
  readonly input: { readonly names: readonly string[]; readonly files: number; readonly bytes: number };
  /** Milliseconds that the job ran, over all resumes. */
  readonly activeMs: number;
  /** `failed` and `invalid` rows by `<step>:<code>`. */
  readonly errors: Readonly<Record<string, number>>;
  readonly series: CallTimeline;
  readonly latencies: readonly LatencyRange[];
}

/** The report and the history behind it. It holds no row and no secret. */
export function pageData(
  { steps }: Pick<CompiledJob, 'steps'>,
  { manifest: { files }, mark, result, totals }: Checkpoint,
  report: Report,
): PageData {
  return {
    report,
    steps,
    input: {
      names: files.slice(0, MOST_FILES).map(({ uri }) => uri),
      files: files.length,
      bytes: files.reduce((sum, { size }) => sum + size, 0),
    },
    activeMs: totals.activeMs,
    errors: (result?.tally ?? mark.tally).errors ?? {},
    series: readSlots(totals.series),
    latencies: new LatencyHistogram(totals.latency).ranges(MOST_RANGES),
  };
}
