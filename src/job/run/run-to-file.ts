/** A run whose output is a file: under the job lock, with checkpoints, from wherever the job stopped. */
import type { TrustedElsewhere } from './service-doubt.ts';
import { servicePace } from '../../definition/job-provider.ts';
import { dirname } from 'node:path';
import { writeCheckpoint, type Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { isShared } from '../../definition/ledger-location.ts';
import type { CompiledJob, RunOptions } from '../../definition/compiled-job.ts';
import { openRunLedger } from '../../ledger/open-run-ledger.ts';
import { EXIT, StorageError, type ExitCode } from '../../util/errors.ts';
import { runScope } from '../../util/run-scope.ts';
import { OutputWriter } from '../../writer/output-writer.ts';
import { rowFormat, type RowFormat } from '../../writer/row-format.ts';
import { commitAgain, dropRemains, putInPlace, refuseChangedInput } from '../lifecycle/commit.ts';
import { findPreviousRun } from '../lifecycle/find-previous-run.ts';
import { adoptSpool, dropArriving } from '../lifecycle/frozen-input.ts';
import { removeMarker } from '../lifecycle/marker.ts';
import { jobLedger, jobPaths } from '../lifecycle/paths.ts';
import { retrySource } from '../lifecycle/retried-records.ts';
import { makeOwnFolder } from '../lifecycle/scratch.ts';
import { decideStart, refuseOthersFiles, reopenOutput } from '../lifecycle/start.ts';
import { type DecideStart, type Start, type StartOptions } from '../lifecycle/start-decision.ts';
import { unfinishedDays } from '../lifecycle/unfinished-days.ts';
import { withJobLock, type HeldJob } from '../lifecycle/with-job-lock.ts';
import { warnOfIdleVerify, warnOfMissesAlone, warnOfRows } from '../progress/notices.ts';
import type { Reporter } from '../progress/reporter.ts';
import { leftText } from '../progress/summary.ts';
import { errorLine } from '../report/error-line.ts';
import { openLine } from '../report/open-line.ts';
import { buildReport } from '../report/report.ts';
import { mayLeaveOpen } from '../../definition/waterfall.ts';
import { dropDamagedPlan, leaveShards } from '../shards/in-one-piece.ts';
import { ownRpm } from '../shards/shard-job.ts';
import type { RunDestination } from './destination.ts';
import { runPipeline, type RunContext } from './pipeline.ts';

interface FileRun {
  readonly command: 'run' | 'retry';
  readonly decide: DecideStart;
  /** See `PipelineOptions`. */
  readonly isTrustedElsewhere: TrustedElsewhere | null;
}

/**
 * Runs, resumes or retries a job under its lock; or reports that it has finished and nothing is left to do.
 * @throws MillraceError whatever ended the run; the job's state is on disk by then
 */
export async function runToFile(
  job: CompiledJob,
  options: Pick<RunOptions, 'fresh' | 'scratch'>,
  context: RunContext,
  reporter: Reporter,
  run: FileRun,
): Promise<ExitCode> {
  const named = jobPaths(job, options);
  const { fresh } = options;
  const reportDone = ({ checkpoint, because, isNew = false }: Start & { kind: 'done' }): ExitCode => {
    reporter.done(buildReport(checkpoint, job, ownRpm(servicePace(job), checkpoint)), named, because, isNew);
    return exitCodeOf(checkpoint);
  };
  const locking = { signals: context.signals, reporter };
  const before = (): Promise<void> => (run.command === 'run' ? refuseOthersFiles(named) : Promise.resolve());
  return withJobLock(named, { ...locking, before }, async (lock, signals) => {
    const paths = { ...named, arriving: lock.temporary(named.spool) };
    try {
      if (isShared(job.ledger.uri)) await makeOwnFolder(dirname(paths.ledger));
      const generationBefore = await leaveShards(job, paths, fresh, lock, locking);
      const asked = { fresh, generationBefore, now: () => new Date(), signal: signals.drain };
      const start = await decideAfterCrash({ job, paths, lock }, run, asked);
      if (start.kind === 'go') return await runFrom(start, { job, paths, lock }, { ...context, signals }, reporter, { ...run, fresh });
      // A crash just before the end may have left them.
      await dropRemains(paths, start.checkpoint, lock);
      return reportDone(start);
    } finally {
      await dropArriving(paths);
    }
  }).catch(async (error: unknown) => {
    if (run.decide !== decideStart || fresh || !isLockRefused(error)) throw error;
    // A finished job changes nothing, and needs no lock for that.
    const start = await decideStart(job, named, { fresh: false, now: () => new Date(), signal: context.signals.drain }).catch(() => null);
    await dropArriving(named);
    if (start?.kind === 'done') return reportDone(start);
    throw error;
  });
}

/** This process may not write where the job lies. */
function isLockRefused(error: unknown): boolean {
  return (
    error instanceof StorageError &&
    error.code === 'lock_failed' &&
    ['EACCES', 'EPERM', 'EROFS'].includes((error.cause as NodeJS.ErrnoException | undefined)?.code ?? '')
  );
}

/** Decides the start. Files that a crash left without their names get them first: then the job is finished like any other. */
async function decideAfterCrash(
  { job, paths, lock }: HeldJob,
  { command, decide }: FileRun,
  options: StartOptions,
): Promise<Exclude<Start, { kind: 'finish' }>> {
  const start = await decide(job, paths, options);
  if (start.kind !== 'finish') return start;
  await putInPlace(job, paths, start.checkpoint, () => commitAgain(paths, start.checkpoint, lock), lock);
  // This command was that retry. Records that failed again are for the next one.
  if (command === 'retry' && start.checkpoint.retry !== null)
    return {
      kind: 'done',
      checkpoint: start.checkpoint,
      because: 'the retry that was under way only had to be put in place, and is now: nothing was called',
      isNew: true,
    };
  const next = await decideAfterCrash({ job, paths, lock }, { command, decide, isTrustedElsewhere: null }, options);
  return next.kind === 'done' ? { ...next, isNew: true } : next;
}

/** After midnight the same command begins the new day. Says of stopped days how they are resumed. */
async function warnOfUnfinishedDays(job: CompiledJob, reporter: Reporter): Promise<void> {
  const days = await unfinishedDays(job, Date.now());
  if (days.length > 0)
    reporter.warn(
      'days_unfinished',
      `the run of ${days.join(', ')} was not finished: the same command with --date ${days[0]} resumes ` +
        (days.length === 1 ? 'it' : 'the latest'),
    );
}

async function runFrom(
  start: Start & { kind: 'go' },
  held: HeldJob,
  context: RunContext,
  reporter: Reporter,
  { isTrustedElsewhere, fresh }: FileRun & { readonly fresh: boolean },
): Promise<ExitCode> {
  const { job, paths, lock } = held;
  if (start.notice !== null) reporter.warn('written_again', start.notice);
  if (!start.resumed && start.checkpoint.shard === null) await warnOfUnfinishedDays(job, reporter);
  const mark = start.reopen ? await reopenOutput(paths, start.checkpoint.mark, lock) : start.checkpoint.mark;
  const {
    shard,
    startedAt,
    previous = shard === null ? await findPreviousRun(job, startedAt, start.checkpoint.manifest.files) : null,
  } = start.checkpoint;
  if (!start.resumed && previous?.sameInput === true && !job.alerts.sameInput)
    reporter.warn('same_input', `the input is that of the last run, which began at ${previous.startedAt}`);
  const checkpoint: Checkpoint = { ...start.checkpoint, mark, state: 'running', previous };
  await adoptSpool(paths, lock);
  await removeMarker(paths, lock);
  // The checkpoint comes first: from here on, the unfinished files are this job's.
  await writeCheckpoint(paths.checkpoint, checkpoint, lock);
  if (fresh) await dropDamagedPlan(paths, lock);
  if (checkpoint.retry !== null) {
    reporter.info('retrying', `${start.resumed ? 'a retry was under way and goes on' : 'retrying'}: ${leftText(mark.tally)}`);
  }
  return runPipeline({
    ...context,
    job,
    checkpoint,
    isResumed: start.resumed,
    wasKilled: start.checkpoint.state === 'running',
    retry: checkpoint.retry === null ? null : retrySource(job, paths, checkpoint.manifest, checkpoint.retry),
    destination: jobFiles(held, checkpoint, start.isFirst, reporter),
    reporter,
    waits: runScope().waits,
    isTrustedElsewhere,
  });
}

/** The files of a job as the destination of its run: nothing is written that the lock does not cover. */
function jobFiles({ job, paths, lock }: HeldJob, checkpoint: Checkpoint, isFirst: boolean, reporter: Reporter): RunDestination {
  const { manifest, shard } = checkpoint;
  return {
    openLedger: (options) => openRunLedger(jobLedger(job, paths), { ...options, mayWrite: lock.checkNow }),
    openWriter: () =>
      OutputWriter.open({
        path: paths.output,
        side: {
          errors: { path: paths.errors, lineOf: (record, result) => errorLine(manifest, record, result) },
          open: { path: paths.open, lineOf: mayLeaveOpen(job) ? (record, result) => openLine(manifest, record, result) : null },
        },
        fence: lock,
        compression: job.output.compression,
        format: withoutHeader(rowFormat(job, manifest), shard),
        mark: checkpoint.mark,
        isFirst,
      }),
    saveCheckpoint: (latest) => writeCheckpoint(paths.checkpoint, latest, lock),
    finish: async (writer) => {
      const rows = await writer.finish();
      await refuseChangedInput(checkpoint, rows.tally, job.limits.limit);
      return rows;
    },
    commit: async (finishing, writer) => {
      const report = await putInPlace(job, paths, finishing, () => writer.commit(), lock);
      // A shard's part is no result yet: `runShard` reports the whole.
      if (shard !== null) return;
      warnOfMissesAlone(report, reporter);
      warnOfRows(report, job, reporter);
      warnOfIdleVerify(report, job, reporter);
      reporter.finished(report, paths);
    },
    reportStop: async (latest) => {
      if ((await lock.loss()) === null) reporter.stopped(buildReport(latest, job, ownRpm(servicePace(job), latest)));
    },
  };
}

/** The header is the first shard's. */
function withoutHeader(format: RowFormat, shard: Checkpoint['shard']): RowFormat {
  return shard === null || shard.index === 0 ? format : { ...format, header: null };
}

function exitCodeOf({ exitCode }: Checkpoint): ExitCode {
  return (exitCode ?? EXIT.ok) as ExitCode;
}
