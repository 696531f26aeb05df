import type { RotatingKey } from '../client/rotating-key.ts';
import { dirname } from 'node:path';
import { writeCheckpoint, type Checkpoint, type RunTotals } from '../checkpoint/checkpoint-file.ts';
import type { Fence } from '../checkpoint/fence.ts';
import type { JobLock } from '../checkpoint/job-lock.ts';
import { EXIT, MillraceError, StorageError, UsageError, type ExitCode } from '../errors.ts';
import { openRunLedger } from '../ledger/open-run-ledger.ts';
import { isShared } from '../ledger/place.ts';
import { claimedFor } from '../limiter/quota-windows.ts';
import { stopWaiting } from '../storage/storages.ts';
import { loadKeys } from '../processor/load-keys.ts';
import { OutputWriter } from '../writer/output-writer.ts';
import { rowFormat, type RowFormat } from '../writer/row-format.ts';
import { CallBudget } from './call-budget.ts';
import { CallSeries } from './call-series.ts';
import { Counters } from './counters.ts';
import { errorLine } from './error-line.ts';
import type { ExpectedRecords } from './expected-records.ts';
import { commitAgain, dropRemains, markFinishing, putInPlace, refuseChangedInput } from './finish.ts';
import { adoptSpool, dropArriving } from './frozen-input.ts';
import { holdJob } from './hold-job.ts';
import { ledgerRights } from './ledger-rights.ts';
import { jobLedger, jobPaths, type JobPaths } from './paths.ts';
import { openReporter, type Reporter } from './reporter.ts';
import { buildReport } from './report.ts';
import { retryParts, retryWords } from './retry-parts.ts';
import { decideRetry, firstMark } from './retry-start.ts';
import type { RowSink } from './job-parts.ts';
import { warnOfMissesAlone } from './notices.ts';
import { RunningJob } from './run-job.ts';
import { runToStandardOutput } from './run-to-stdout.ts';
import { makeOwnFolder } from './scratch.ts';
import { dropDamagedPlan, leaveShards } from './shards/in-one-piece.ts';
import { runShard, type Decide } from './shards/run-shard.ts';
import { ownRpm, ownWindows } from './shards/shard-job.ts';
import { serviceOrigin } from './service-origin.ts';
import { expectedOf } from './snapshot.ts';
import { SilenceWatch } from './silence.ts';
import { orClosed, sharedQuotaOf } from './shared-quota.ts';
import { decideStart, refuseOthersFiles, reopenOutput, type Start, type StartOptions } from './start.ts';
import { waits } from '../waits.ts';
import type { MonitorAddress } from '../monitor/address.ts';
import type { CompiledJob, RunOptions } from './types.ts';

export interface RunContext {
  readonly baseUrl: string;
  readonly apiKey: RotatingKey;
  /** The first signal: stop intake, finish what is in flight. Its reason is the error that the run ends with. */
  readonly drain: AbortSignal;
  /** The second: cancel it. */
  readonly abort: AbortSignal;
  /** See `JobParts`. */
  readonly vouched?: () => Promise<boolean>;
}

/**
 * Runs a job, or resumes it where it stopped.
 * @throws MillraceError whatever ended the run; the job's state is on disk by then
 */
export async function runCommand(job: CompiledJob, options: RunOptions, context: RunContext): Promise<ExitCode> {
  return reported(job, options, context, (reporter) => {
    if (job.output.uri === '-') return runToStandardOutput(job, options, context, reporter);
    if (options.shard === null) return runLocked(job, options, context, reporter, 'run');
    return runShard(job, options.shard, options, context.drain, reporter, (part, decide, vouched) => runLocked(part, options, { ...context, vouched }, reporter, 'run', decide));
  });
}

/**
 * Asks again for what failed in a finished job, and puts the results in their places: a new output replaces the old
 * one when it is whole.
 * @throws MillraceError as `runCommand`, and 65 when there is nothing finished to retry
 */
export async function retryCommand(job: CompiledJob, options: RunOptions, context: RunContext): Promise<ExitCode> {
  if (job.output.uri === '-') throw new UsageError('no_checkpoint', 'a run to standard output keeps no checkpoint, so there is nothing to retry', { hint: 'Name a file as --output.' });
  return reported(job, options, context, (reporter) => runLocked(job, options, context, reporter, 'retry'));
}

async function reported(job: CompiledJob, options: RunOptions, { abort }: RunContext, work: (reporter: Reporter) => Promise<ExitCode>): Promise<ExitCode> {
  const opened = await openReporter(job, options);
  const silence = new SilenceWatch({ waits, reporter: opened, now: () => performance.now(), wallNow: Date.now });
  const reporter = followed(opened, silence);
  abort.addEventListener('abort', () => void Promise.all([job.output.uri, job.checkpoint.uri].map(stopWaiting)), { once: true });
  try {
    return options.monitor === null ? await work(reporter) : await monitored(job, options.monitor, reporter, silence, work);
  } finally {
    silence.close();
    await reporter.close();
  }
}

/** A reporter that also tells the watch of the run, whose report then has the waits from the start of the process on. */
function followed(reporter: Reporter, silence: SilenceWatch): Reporter {
  return {
    ...reporter,
    start: (running) => {
      const { counters } = running;
      counters.waitsNow = () => silence.totals;
      silence.follow(() => counters.lastSentMs);
      reporter.start({ ...running, silence });
    },
    stop: () => {
      silence.unfollow();
      reporter.stop();
    },
  };
}

async function monitored(job: CompiledJob, address: MonitorAddress, reporter: Reporter, silence: SilenceWatch, work: (reporter: Reporter) => Promise<ExitCode>): Promise<ExitCode> {
  const { openMonitor } = await import('../monitor/open-monitor.ts');
  const monitor = await openMonitor(job, address, silence);
  try {
    reporter.info('monitor', `the run shows itself at ${monitor.url}`);
    return await work(monitor.watching(reporter));
  } finally {
    await monitor.close();
  }
}

async function runLocked(job: CompiledJob, options: RunOptions, context: RunContext, reporter: Reporter, command: Command, decide: Decide = DECIDES[command]): Promise<ExitCode> {
  const named = jobPaths(job, options);
  const hold = { signal: context.drain, reporter };
  const before = (): Promise<void> => (command === 'run' ? refuseOthersFiles(named) : Promise.resolve());
  const asBefore = ({ checkpoint, because }: Start & { kind: 'done' }): ExitCode => {
    reporter.done(buildReport(checkpoint, job.output.uri, ownRpm(job, checkpoint)), named, because);
    return (checkpoint.exitCode ?? EXIT.ok) as ExitCode;
  };
  return holdJob(named, { ...hold, before }, async (lock, lost) => {
    const paths = { ...named, arriving: lock.temporary(named.spool) };
    try {
      if (isShared(job.ledger.uri)) await makeOwnFolder(dirname(paths.ledger));
      const generationBefore = await leaveShards(job, paths, options.fresh, lock, hold);
      const start = await settleStart(job, paths, lock, command, decide, { fresh: options.fresh, generationBefore, now: () => new Date(), signal: AbortSignal.any([context.drain, lost]) });
      if (start.kind === 'go') return await execute(job, paths, start, context, lock, lost, reporter, options.fresh);
      // A crash just before the end may have left it.
      await dropRemains(paths, start.checkpoint, lock);
      return asBefore(start);
    } finally {
      await dropArriving(paths);
    }
  }).catch(async (error: unknown) => {
    if (decide !== decideStart || options.fresh || !mayNotLock(error)) throw error;
    // What is finished changes nothing, and needs no lock for that.
    const start = await decideStart(job, named, { fresh: false, now: () => new Date(), signal: context.drain }).catch(() => null);
    await dropArriving(named);
    if (start?.kind === 'done') return asBefore(start);
    throw error;
  });
}

/** The job lies where this process may not write. */
function mayNotLock(error: unknown): boolean {
  return error instanceof StorageError && error.code === 'lock_failed' && ['EACCES', 'EPERM', 'EROFS'].includes((error.cause as NodeJS.ErrnoException | undefined)?.code ?? '');
}

/** What a crash left to be put in place is put there first; then the job is like any other that is finished. */
async function settleStart(job: CompiledJob, paths: JobPaths, lock: JobLock, command: Command, decide: Decide, options: StartOptions): Promise<Exclude<Start, { kind: 'finish' }>> {
  const start = await decide(job, paths, options);
  if (start.kind !== 'finish') return start;
  await putInPlace(job, paths, start.checkpoint, () => commitAgain(paths, start.checkpoint, lock), lock);
  // A retry that only had to be put in place is this one; what failed again is the next one's.
  if (command === 'retry' && start.checkpoint.retry !== null) return { kind: 'done', checkpoint: start.checkpoint, because: 'the retry that was under way only had to be put in place, and is now: nothing was called' };
  return settleStart(job, paths, lock, command, decide, options);
}

type Command = 'run' | 'retry';

const DECIDES: Readonly<Record<Command, Decide>> = { run: decideStart, retry: decideRetry };

async function execute(job: CompiledJob, paths: JobPaths, start: Start & { kind: 'go' }, context: RunContext, lock: JobLock, lost: AbortSignal, reporter: Reporter, fresh: boolean): Promise<ExitCode> {
  if (start.notice !== null) reporter.warn('written_again', start.notice);
  const mark = start.reopen ? await reopenOutput(paths, start.checkpoint.mark, lock) : start.checkpoint.mark;
  const checkpoint: Checkpoint = { ...start.checkpoint, mark, state: 'running' };
  await adoptSpool(paths, lock);
  // The checkpoint comes first: from here on, the partial files are this job's.
  await writeCheckpoint(paths.checkpoint, checkpoint, lock);
  if (fresh) await dropDamagedPlan(paths, lock);
  const abort = AbortSignal.any([context.abort, lost]);
  const ledger = await openRunLedger(jobLedger(job, paths), { ...ledgerRights(job, checkpoint), mayWrite: lock.checkNow, tell: reporter, drain: context.drain, abort });
  const monotonicNow = (): number => performance.now();
  const share = 1 / (checkpoint.shard?.of ?? 1);
  const { rpm } = job.service;
  const series = new CallSeries({ from: checkpoint.totals.series, rpm: rpm === null ? null : rpm * share, nowMs: monotonicNow(), wallMs: Date.now() });
  const counters = new Counters(checkpoint.totals, monotonicNow, series);
  const uncounted = Math.max(0, checkpoint.callsAtMost - counters.allCalls);
  const budget = new CallBudget({ maxCalls: job.limits.maxCalls, windowCalls: claimedFor(ownWindows(job, checkpoint)), counters, uncounted, record: () => keep({}) });
  // A shard counts its own: the others write to the same ledger.
  const totals = (): RunTotals => (checkpoint.shard === null ? counters.totals(ledger.totals(), checkpoint.retry?.forgotten) : counters.totals(ledger.added(), checkpoint.totals.lookups));
  let latest = checkpoint;
  let expected: () => ExpectedRecords | null = () => null;
  let writing: Promise<void> = Promise.resolve();
  const write = async (change: Partial<Checkpoint>): Promise<void> => {
    if (lost.aborted) throw lost.reason;
    const { state = latest.state } = change;
    latest = { ...latest, ...change, expected: expected() ?? latest.expected ?? null, updatedAt: new Date().toISOString(), totals: totals(), callsAtMost: state === 'running' ? budget.claim() : budget.sent };
    const { callsAtMost } = latest;
    await writeCheckpoint(paths.checkpoint, latest, lock);
    budget.claimedUpTo(callsAtMost);
  };
  // One at a time: calls are claimed whenever they run out.
  const keep = (change: Partial<Checkpoint>): Promise<void> => {
    const written = writing.then(() => write(change));
    writing = written.catch(() => undefined);
    return written;
  };
  try {
    const sink = await openSink(job, paths, checkpoint, start.isFirst, lock);
    try {
      const keysOf = await loadKeys(job.steps);
      const quota = await sharedQuotaOf(job, context, reporter, checkpoint);
      const running = await orClosed(quota, () => new RunningJob({
        job,
        checkpoint,
        wasKilled: start.checkpoint.state === 'running',
        ledger,
        sink,
        counters,
        budget,
        reporter,
        waits,
        quota,
        share,
        retry: checkpoint.retry === null ? null : retryParts(job, paths, checkpoint.manifest, checkpoint.retry),
        keysOf,
        vouched: context.vouched,
        service: { baseUrl: context.baseUrl, origin: serviceOrigin(job), apiKey: context.apiKey },
        keepTotals: () => keep({}),
        keep: (mark, state, trust, spent) => keep({ mark, state, ...trust, spent: { ...spent, sent: budget.sent } }),
        drain: context.drain,
        abort,
      }));
      if (checkpoint.retry !== null) reporter.info('retrying', retryWords(checkpoint, start.resumed));
      expected = () => expectedOf({ checkpoint, running, sink }, job.limits.limit);
      reporter.start({ job, checkpoint, resumed: start.resumed, running, counters, sink });
      const end = await running.run();
      reporter.stop();
      if (lost.aborted) throw lost.reason;
      if (end.kind === 'stopped') {
        reporter.stopped(buildReport(latest, job.output.uri, ownRpm(job, latest)));
        throw end.error;
      }
      const finished = await sink.finish();
      await refuseChangedInput(checkpoint, finished.tally, job.limits.limit);
      // Calls may just have been claimed: what follows writes the checkpoint, too.
      await writing;
      await ledger.keep();
      latest = await markFinishing(job, paths, { ...latest, ...end.trust, spent: end.spent, totals: totals(), callsAtMost: budget.sent }, finished, lock);
      const report = await putInPlace(job, paths, latest, () => sink.commit(), lock);
      // A part is no result yet: `runShard` says what comes of it.
      if (checkpoint.shard === null) {
        warnOfMissesAlone(report, reporter);
        reporter.finished(report, paths);
      }
      return (latest.exitCode ?? EXIT.ok) as ExitCode;
    } catch (error) {
      // Rows of two versions may be mixed, or damaged: they are written again, from the ledger, once the input is as it was.
      const mixed = error instanceof MillraceError && ['input_changed', 'partial_damaged'].includes(error.code);
      // The first error is the one that counts: where not even this can be written, the checkpoint before stands.
      if (mixed || latest.state === 'running') await keep({ state: 'stopped', ...(mixed ? { mark: firstMark(latest) } : {}) }).catch(() => undefined);
      throw error;
    } finally {
      await sink.close();
    }
  } finally {
    await ledger.close();
  }
}

async function openSink(job: CompiledJob, paths: JobPaths, checkpoint: Checkpoint, isFirst: boolean, fence: Fence): Promise<RowSink> {
  return OutputWriter.open({
    path: paths.output,
    errorsPath: paths.errors,
    fence,
    compression: job.output.compression,
    format: partFormat(rowFormat(job, checkpoint.manifest), checkpoint),
    mark: checkpoint.mark,
    isFirst,
    errorLine: (record, result) => errorLine(checkpoint.manifest, record, result),
  });
}

/** The header is the first shard's. */
function partFormat(format: RowFormat, { shard }: Checkpoint): RowFormat {
  return shard === null || shard.index === 0 ? format : { ...format, header: null };
}
