import { serviceOf, servicePace } from '../../definition/job-provider.ts';
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import type { RunTotals, Throttled } from '../../checkpoint/run-totals.ts';
import type { PreviousRun } from '../../checkpoint/previous-run.ts';
import { NO_RUNS, type RunLog } from '../../checkpoint/run-log.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import type { Fence } from '../../storage/fence.ts';
import { EXIT, MillraceError, StorageError, storageHint } from '../../util/errors.ts';
import { storageOf } from '../../storage/storage-of.ts';
import { costOf, type Money } from '../../definition/credit-price.ts';
import { LatencyHistogram } from '../run/latency-histogram.ts';
import type { JobPaths } from '../lifecycle/paths.ts';
import type { RecordOutcome } from '../../processor/result.ts';
import type { Tally } from '../../writer/tally.ts';
import type { WaitTotals } from '../../checkpoint/wait-log.ts';
import { packageVersion } from '../../util/package-version.ts';
import {
  figuresByKind,
  figuresOf,
  filesOf,
  reportedCalls,
  timelineOf,
  type Figures,
  type FiguresByKind,
  type ReportedCall,
  type ReportFiles,
  type Timeline,
} from './report-parts.ts';
import { exact } from '../run/counters.ts';
import { allTakenCredits, costOfProviders, providerFigures, type ReportedProviders } from './provider-figures.ts';

/**
 * `report.json`, as docs/report.schema.json describes it. Totals cover all resumes; the outcomes sum to `records.total`. New keys come
 * last.
 */
export interface Report extends Figures, FiguresByKind {
  readonly job: string;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly exitCode: number | null;
  /** Why a finished run exits with 1, a sentence each without its full stop. Left out where it exits with 0. */
  readonly exitReasons?: readonly string[];
  /** Running time over all resumes, milliseconds. */
  readonly activeMs: number;
  /** `skipped` is left out without `input.where`, unless every step was skipped by its condition. */
  readonly records: Readonly<Record<'total' | Exclude<RecordOutcome, 'skipped'>, number>> & { readonly skipped?: number };
  readonly verification: Readonly<Record<string, number>>;
  /** Rows of the errors file by `<step>:<code>`. */
  readonly errors: Readonly<Record<string, number>>;
  readonly calls: Readonly<Record<string, number>>;
  readonly lookups: { readonly unique: number; readonly fromLedger: number };
  readonly retries: number;
  readonly throttled: Throttled;
  /** Waits of five seconds or more without a request, each with its start, its length and its reason. */
  readonly waits: WaitTotals;
  /**
   * Only where verify requests were too large for the service: addresses in one at the end, and how many ran into the time limit or were
   * refused as too large.
   */
  readonly verifyRequests?: { readonly addresses: number; readonly tooLarge: number };
  /** Exact over kills, where each answer names its credits. */
  readonly credits: number;
  /** The same where answers are still to come, did not arrive or cannot be read: they may cost more. Left out otherwise. */
  readonly creditsAtLeast?: number;
  /** The credits in money; left out without `service.creditPrice`. With providers: the sum of their costs, where it has one currency. */
  readonly cost?: Money;
  /**
   * `rpm`: null when unlimited. `usedShare`: calls as a share of the offered ones: the plan's rate times the running time, plus the calls
   * that a full quota offered at a start.
   */
  readonly quota: {
    readonly rpm: number | null;
    readonly usedShare: number | null;
    /**
     * When the service lets the job go on, RFC 3339: a quota window is used up, or the service asked to wait. Null when neither is known.
     */
    readonly goesOnAt: string | null;
  };
  readonly latencyMs: { readonly p50: number | null; readonly p95: number | null; readonly p99: number | null };
  readonly output: { readonly uri: string; readonly rows: number; readonly bytes: number; readonly sha256: string | null };
  /** The version of Millrace that wrote the report. */
  readonly version: string;
  /** The command line of the latest run, without secrets. */
  readonly command: string | null;
  /** `url`: null for the embedded service. `plan`: null where the job states `rpm`. */
  readonly service: { readonly url: string | null; readonly embedded: boolean; readonly plan: string | null };
  readonly steps: readonly string[];
  /** The last run of the same job, found by its report. Null without one. */
  readonly previous: (Omit<PreviousRun, 'activeMs' | 'companies' | 'sameInput'> & Figures & FiguresByKind) | null;
  readonly runs: RunLog;
  readonly timeline: Timeline;
  /** At most 20 requests each, the first one first. */
  readonly slowest: readonly ReportedCall[];
  readonly mostRetried: readonly ReportedCall[];
  /** Null for a run to standard output. */
  readonly files: ReportFiles | null;
  /** Lookups that another row of the job shares, so that they cost nothing. After a retry it may be too low. */
  readonly duplicateLookups: number;
  /** By the job's names; left out for a job with one service. */
  readonly providers?: ReportedProviders;
  /** Answers came from sample data: they say nothing about real people. Left out otherwise. */
  readonly sampleData?: true;
  /** Rows that skipped a step, by step and reason: `when` is its condition. Left out without a condition that did not hold. */
  readonly skippedSteps?: Readonly<Record<string, { readonly when: number }>>;
  /** Rows that lack a field because a provider was skipped or failed. Left out while there is none. */
  readonly open?: number;
}

/** The parts of a job that its report names. */
export type ReportedJob = Pick<CompiledJob, 'output' | 'checkpoint' | 'steps' | 'providers' | 'waterfalls' | 'namesProviders'>;

const MINUTE_MS = 60_000;

/** @param rpm the run's own requests a minute: see `ownRpm` */
export function buildReport(checkpoint: Checkpoint, job: ReportedJob, rpm: number | null = servicePace(job).rpm): Report {
  const { mark, totals, result, previous, manifest } = checkpoint;
  const { uri } = job.output;
  const tally = result?.tally ?? mark.tally;
  const records = recordsOf(checkpoint, tally);
  const counted = { records, verification: tally.verification, activeMs: totals.activeMs };
  const runs = totals.runs ?? NO_RUNS;
  const providers = providerFigures(job, checkpoint, tally.providers);
  const credits = exact(totals.credits + allTakenCredits(job, checkpoint));
  const cost = costFor(credits, job, providers);
  const latency = new LatencyHistogram(totals.latency);
  const calls = Object.values(totals.calls).reduce((sum, count) => sum + count, 0);
  return {
    job: checkpoint.job,
    startedAt: checkpoint.startedAt,
    finishedAt: checkpoint.finishedAt,
    exitCode: checkpoint.exitCode,
    ...(checkpoint.exitCode === EXIT.tooManyFailed ? { exitReasons: checkpoint.exitReasons ?? [] } : {}),
    records,
    verification: tally.verification,
    calls: totals.calls,
    lookups: totals.lookups,
    retries: totals.retries,
    throttled: totals.throttled,
    waits: totals.waits,
    ...verifyRequestsOf(totals),
    credits,
    ...((totals.creditsLost ?? 0) > 0 || Object.values(providers ?? {}).some(({ creditsAtLeast }) => creditsAtLeast !== undefined)
      ? { creditsAtLeast: credits }
      : {}),
    ...(cost === null ? {} : { cost }),
    quota: {
      rpm,
      usedShare:
        rpm === null || totals.activeMs < 1_000
          ? null
          : Math.min(1, Math.round((calls / ((rpm * totals.activeMs) / MINUTE_MS + totals.beyondPlan)) * 1_000) / 1_000),
      goesOnAt: goesOnAt(checkpoint),
    },
    latencyMs: { p50: latency.percentile(0.5), p95: latency.percentile(0.95), p99: latency.percentile(0.99) },
    output: { uri, rows: tally.total, bytes: result?.bytes ?? mark.bytes, sha256: result?.sha256 ?? null },
    activeMs: totals.activeMs,
    errors: tally.errors ?? {},
    version: packageVersion(),
    command: runs.list.at(-1)?.command ?? null,
    ...askedBy(checkpoint, job),
    ...figuresOf(counted),
    previous: previousFigures(previous ?? null),
    runs,
    timeline: timelineOf(totals.series, totals.waits.list),
    slowest: reportedCalls(totals.notable?.slowest, manifest.files),
    mostRetried: reportedCalls(totals.notable?.mostRetried, manifest.files),
    files: filesOf(job, { ...counted, open: tally.open ?? 0 }),
    duplicateLookups: Math.max(0, (tally.lookups ?? 0) - totals.lookups.unique),
    ...(providers === null ? {} : { providers }),
    ...(totals.isSample === true ? { sampleData: true as const } : {}),
    ...(tally.unmeant === undefined
      ? {}
      : { skippedSteps: Object.fromEntries(Object.entries(tally.unmeant).map(([step, rows]) => [step, { when: rows }])) }),
    ...(tally.open === undefined ? {} : { open: tally.open }),
    ...figuresByKind({ records, ...(tally.companies === undefined ? {} : { companies: tally.companies }) }),
  };
}

function costFor(credits: number, job: ReportedJob, providers: ReportedProviders | null): Money | null {
  if (providers !== null) return costOfProviders(providers);
  const creditPrice = serviceOf(job)?.creditPrice ?? null;
  return creditPrice === null ? null : costOf(credits, creditPrice);
}

function recordsOf({ fingerprint }: Checkpoint, { total, outcomes }: Tally): Report['records'] {
  const { skipped = 0, ...others } = outcomes;
  return { total, ...others, ...((fingerprint['input.where'] ?? null) === null && skipped === 0 ? {} : { skipped }) };
}

/** The service and the steps of the run. A status may be asked for with other flags. */
function askedBy({ fingerprint }: Checkpoint, job: ReportedJob): Pick<Report, 'service' | 'steps'> {
  const service = serviceOf(job);
  const { 'service.baseUrl': url, 'service.embedded': embedded, steps: asked } = fingerprint;
  return {
    service: {
      url: typeof url === 'string' || url === null ? url : (service?.baseUrl ?? null),
      embedded: typeof embedded === 'boolean' ? embedded : (service?.embedded ?? false),
      plan: service?.plan ?? null,
    },
    steps: Array.isArray(asked) ? asked.filter((step) => typeof step === 'string') : job.steps,
  };
}

function previousFigures(previous: PreviousRun | null): Report['previous'] {
  if (previous === null) return null;
  const { activeMs, companies: _, sameInput: _same, ...run } = previous;
  return { ...run, ...figuresOf({ ...run, activeMs }), ...figuresByKind(previous) };
}

function verifyRequestsOf({ verifyRequests }: RunTotals): Pick<Report, 'verifyRequests'> {
  if (verifyRequests === undefined || verifyRequests.tooLarge === 0) return {};
  return { verifyRequests: { addresses: verifyRequests.size, tooLarge: verifyRequests.tooLarge } };
}

/** The end of the longest wait of an unfinished job. */
function goesOnAt({ state, spent }: Checkpoint): string | null {
  if (spent === null || state === 'finished' || state === 'finishing') return null;
  const windows = (spent.windows ?? []).flatMap(({ opensAtMs }) => (opensAtMs === undefined ? [] : [opensAtMs]));
  const atMs = Math.max(spent.later?.untilMs ?? 0, ...windows);
  return atMs > spent.savedAtMs ? new Date(atMs).toISOString() : null;
}

/** Both forms of the report: `report.json`, then the page. @throws StorageError, or 75 when the job was lost */
export async function writeReports(
  paths: Pick<JobPaths, 'report' | 'reportPage'>,
  report: Report,
  page: string,
  fence: Fence,
): Promise<void> {
  await write(paths.report, `${JSON.stringify(report, null, 2)}\n`, fence);
  await write(paths.reportPage, page, fence);
}

async function write(path: string, text: string, fence: Fence): Promise<void> {
  try {
    await (await storageOf(path)).replaceText(path, text, fence);
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw new StorageError('report_failed', `the report ${path} could not be written: ${(error as Error).message}`, {
      hint: storageHint(error, 'the rest is done'),
      cause: error,
    });
  }
}
