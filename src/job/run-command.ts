import { dirname } from 'node:path';
import { writeCheckpoint, type Checkpoint, type RunTotals } from '../checkpoint/checkpoint-file.ts';
import type { Fence } from '../checkpoint/fence.ts';
import { JobLock } from '../checkpoint/job-lock.ts';
import { EXIT, InputError, UsageError, type ExitCode } from '../errors.ts';
import { openRunLedger } from '../ledger/open-run-ledger.ts';
import { isShared } from '../ledger/place.ts';
import { storageOf } from '../storage/storages.ts';
import { OutputWriter } from '../writer/output-writer.ts';
import { rowFormat } from '../writer/row-format.ts';
import { CallBudget } from './call-budget.ts';
import { Counters } from './counters.ts';
import { errorLine } from './error-line.ts';
import { commitAgain, dropRemains, markFinishing, putInPlace } from './finish.ts';
import { adoptSpool, dropArriving } from './frozen-input.ts';
import { ledgerRights } from './ledger-rights.ts';
import { jobLedger, jobPaths, namedFiles, type JobPaths } from './paths.ts';
import { openReporter, type Reporter } from './reporter.ts';
import { buildReport } from './report.ts';
import { retryParts, retryWords } from './retry-parts.ts';
import { decideRetry, firstMark } from './retry-start.ts';
import { RunningJob, type RowSink } from './run-job.ts';
import { runToStandardOutput } from './run-to-stdout.ts';
import { makeOwnFolder } from './scratch.ts';
import { serviceOrigin } from './service-origin.ts';
import { sharedQuotaOf } from './shared-quota.ts';
import { exists } from './start-checks.ts';
import { decideStart, refuseForeignOutput, reopenOutput, type Start, type StartOptions } from './start.ts';
import type { CompiledJob, MonitorAddress, RunOptions } from './types.ts';

export interface RunContext {
  readonly baseUrl: string;
  readonly apiKey: string | null;
  /** The first signal: stop intake, finish what is in flight. Its reason is the error that the run ends with. */
  readonly drain: AbortSignal;
  /** The second: cancel it. */
  readonly abort: AbortSignal;
}

/**
 * Runs a job, or resumes it where it stopped.
 * @throws MillraceError whatever ended the run; the job's state is on disk by then
 */
export async function runCommand(job: CompiledJob, options: RunOptions, context: RunContext): Promise<ExitCode> {
  return reported(job, options, (reporter) => (job.output.uri === '-' ? runToStandardOutput(job, options, context, reporter) : runLocked(job, options, context, reporter, 'run')));
}

/**
 * Asks again for what failed in a finished job, and puts the results in their places: a new output replaces the old
 * one when it is whole.
 * @throws MillraceError as `runCommand`, and 65 when there is nothing finished to retry
 */
export async function retryCommand(job: CompiledJob, options: RunOptions, context: RunContext): Promise<ExitCode> {
  if (job.output.uri === '-') throw new UsageError('no_checkpoint', 'a run to standard output keeps no checkpoint, so there is nothing to retry', { hint: 'Name a file as --output.' });
  return reported(job, options, (reporter) => runLocked(job, options, context, reporter, 'retry'));
}

async function reported(job: CompiledJob, options: RunOptions, work: (reporter: Reporter) => Promise<ExitCode>): Promise<ExitCode> {
  const reporter = await openReporter(job, options);
  try {
    return options.monitor === null ? await work(reporter) : await monitored(job, options.monitor, reporter, work);
  } finally {
    await reporter.close();
  }
}

async function monitored(job: CompiledJob, address: MonitorAddress, reporter: Reporter, work: (reporter: Reporter) => Promise<ExitCode>): Promise<ExitCode> {
  const { openMonitor } = await import('../monitor/open-monitor.ts');
  const monitor = await openMonitor(job, address);
  try {
    reporter.info('monitor', `the run shows itself at ${monitor.url}`);
    return await work(monitor.watching(reporter));
  } finally {
    await monitor.close();
  }
}

async function runLocked(job: CompiledJob, options: RunOptions, context: RunContext, reporter: Reporter, command: Command): Promise<ExitCode> {
  const named = jobPaths(job, options);
  const lost = new AbortController();
  const lock = await JobLock.acquire({
    path: named.lock,
    now: Date.now,
    monotonicNow: () => performance.now(),
    signal: context.drain,
    onWait: (holder) => reporter.warn('job_held', `another run holds this job (process ${holder.pid} on ${holder.host}, since ${holder.since}): waiting one lease`),
    onLost: (error) => lost.abort(error),
    onWeak: (message) => reporter.warn('weak_lock', message),
  });
  const paths = { ...named, arriving: lock.temporary(named.spool) };
  try {
    // Not a file is touched before it is known not to be another job's.
    if (command === 'run' && !(await exists(paths.checkpoint))) await refuseForeignOutput(paths);
    await takePossession(paths, lock);
    if (isShared(job.ledger.uri)) await makeOwnFolder(dirname(paths.ledger));
    const start = await settleStart(job, paths, lock, command, { fresh: options.fresh, now: () => new Date(), signal: AbortSignal.any([context.drain, lost.signal]) });
    if (start.kind === 'go') return await execute(job, paths, start, context, lock, lost.signal, reporter);
    // A crash just before the end may have left it.
    await dropRemains(paths, start.checkpoint, lock);
    reporter.done(buildReport(start.checkpoint, job.output.uri, job.service.rpm), paths, start.because);
    return (start.checkpoint.exitCode ?? EXIT.ok) as ExitCode;
  } catch (error) {
    // Files that another run has put in place or taken away are no fault of the disk.
    throw (await lock.loss()) ?? error;
  } finally {
    await dropArriving(paths);
    await lock.release();
  }
}

/** Nothing that another run still has in hand gets into the job's files from here on. @throws StorageError, or 75 when the job was lost */
async function takePossession(paths: JobPaths, lock: JobLock): Promise<void> {
  for (const path of namedFiles(paths)) await (await storageOf(path)).sweep(path, lock);
  if (!lock.tookOverFromUnknown) return;
  for (const path of [paths.output, paths.errors]) await (await storageOf(path)).shutOutOfFile(path, lock);
  await (await storageOf(paths.checkpoint)).shutOutOfText(paths.checkpoint, lock);
  await lock.filesReplaced();
}

/** What a crash left to be put in place is put there first; then the job is like any other that is finished. */
async function settleStart(job: CompiledJob, paths: JobPaths, lock: JobLock, command: Command, options: StartOptions): Promise<Exclude<Start, { kind: 'finish' }>> {
  const start = await (command === 'run' ? decideStart : decideRetry)(job, paths, options);
  if (start.kind !== 'finish') return start;
  await putInPlace(job, paths, start.checkpoint, () => commitAgain(paths, start.checkpoint, lock), lock);
  // A retry that only had to be put in place is this one; what failed again is the next one's.
  if (command === 'retry' && start.checkpoint.retry !== null) return { kind: 'done', checkpoint: start.checkpoint, because: 'the retry that was under way only had to be put in place, and is now: nothing was called' };
  return settleStart(job, paths, lock, command, options);
}

type Command = 'run' | 'retry';

async function execute(job: CompiledJob, paths: JobPaths, start: Start & { kind: 'go' }, context: RunContext, lock: JobLock, lost: AbortSignal, reporter: Reporter): Promise<ExitCode> {
  if (start.notice !== null) reporter.warn('written_again', start.notice);
  const mark = start.reopen ? await reopenOutput(paths, start.checkpoint.mark, lock) : start.checkpoint.mark;
  const checkpoint: Checkpoint = { ...start.checkpoint, mark, state: 'running' };
  await adoptSpool(paths, lock);
  // The checkpoint comes first: from here on, the partial files are this job's.
  await writeCheckpoint(paths.checkpoint, checkpoint, lock);
  const abort = AbortSignal.any([context.abort, lost]);
  const ledger = await openRunLedger(jobLedger(job, paths), { ...ledgerRights(job, checkpoint), mayWrite: lock.checkNow, tell: reporter, drain: context.drain, abort });
  const counters = new Counters(checkpoint.totals, () => performance.now());
  const budget = new CallBudget({ maxCalls: job.limits.maxCalls, counters, uncounted: Math.max(0, checkpoint.callsAtMost - counters.allCalls), record: () => keep({}) });
  const totals = (): RunTotals => counters.totals(ledger.totals(), checkpoint.retry?.forgotten);
  let latest = checkpoint;
  let writing: Promise<void> = Promise.resolve();
  const write = async (change: Partial<Checkpoint>): Promise<void> => {
    if (lost.aborted) throw lost.reason;
    const { state = latest.state } = change;
    latest = { ...latest, ...change, updatedAt: new Date().toISOString(), totals: totals(), callsAtMost: state === 'running' ? budget.claim() : budget.sent };
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
      const running = new RunningJob({
        job,
        checkpoint,
        wasKilled: start.checkpoint.state === 'running',
        ledger,
        sink,
        counters,
        budget,
        reporter,
        quota: await sharedQuotaOf(job, context, reporter),
        retry: checkpoint.retry === null ? null : retryParts(job, paths, checkpoint.manifest, checkpoint.retry),
        service: { baseUrl: context.baseUrl, origin: serviceOrigin(job), apiKey: context.apiKey },
        keep: (mark, state, trusted, spent) => keep({ mark, state, trusted, spent }),
        drain: context.drain,
        abort,
      });
      if (checkpoint.retry !== null) reporter.info('retrying', retryWords(checkpoint, start.resumed));
      reporter.start({ checkpoint, resumed: start.resumed, running, counters, sink });
      const end = await running.run();
      reporter.stop();
      if (lost.aborted) throw lost.reason;
      if (end.kind === 'stopped') {
        reporter.stopped(buildReport(latest, job.output.uri, job.service.rpm));
        throw end.error;
      }
      const finished = await sink.finish();
      // Calls may just have been claimed: what follows writes the checkpoint, too.
      await writing;
      await ledger.keep();
      latest = await markFinishing(job, paths, { ...latest, trusted: end.trusted, spent: end.spent, totals: totals(), callsAtMost: budget.sent }, finished, lock);
      reporter.finished(await putInPlace(job, paths, latest, () => sink.commit(), lock), paths);
      return (latest.exitCode ?? EXIT.ok) as ExitCode;
    } catch (error) {
      // Rows of two versions may be mixed: once the input is as it was, they are written again, from the ledger.
      const mixed = error instanceof InputError && error.code === 'input_changed';
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
    format: rowFormat(job, checkpoint.manifest),
    mark: checkpoint.mark,
    isFirst,
    errorLine: (record, result) => errorLine(checkpoint.manifest, record, result),
  });
}
