import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { writeCheckpoint, type Checkpoint } from '../checkpoint/checkpoint-file.ts';
import { JobLock } from '../checkpoint/job-lock.ts';
import { EXIT, InputError, type ExitCode } from '../errors.ts';
import { Ledger } from '../ledger/ledger.ts';
import { describeChange } from '../reader/freeze.ts';
import { OutputWriter } from '../writer/output-writer.ts';
import { PartialFile, partialPath, replaceInode } from '../writer/partial-file.ts';
import { rowFormat } from '../writer/row-format.ts';
import type { Tally } from '../writer/tally.ts';
import { Counters } from './counters.ts';
import { errorLine } from './error-line.ts';
import { jobPaths, type JobPaths } from './paths.ts';
import { openReporter, type Reporter } from './reporter.ts';
import { buildReport, writeReport } from './report.ts';
import { RunningJob, type RowSink } from './run-job.ts';
import { decideStart, reopenOutput, type Start } from './start.ts';
import { runToStandardOutput } from './run-to-stdout.ts';
import type { CompiledJob, RunOptions } from './types.ts';

export interface RunContext {
  readonly baseUrl: string;
  readonly apiKey: string | null;
  /** What ledger entries are filed under: the service's address, or `embedded`. */
  readonly serviceOrigin: string;
  /** The first signal: stop intake, finish what is in flight. */
  readonly drain: AbortSignal;
  /** The second: cancel it. */
  readonly abort: AbortSignal;
}

/**
 * Runs a job, or resumes it where it stopped.
 * @throws MillraceError whatever ended the run; the job's state is on disk by then
 */
export async function runCommand(job: CompiledJob, options: RunOptions, context: RunContext): Promise<ExitCode> {
  const reporter = await openReporter(job, options);
  try {
    if (job.output.uri === '-') return await runToStandardOutput(job, options, context, reporter);
    return await runLocked(job, options, context, reporter);
  } finally {
    await reporter.close();
  }
}

async function runLocked(job: CompiledJob, options: RunOptions, context: RunContext, reporter: Reporter): Promise<ExitCode> {
  const paths = jobPaths(job, options);
  const lost = new AbortController();
  const lock = await JobLock.acquire({
    path: paths.lock,
    now: Date.now,
    signal: context.drain,
    onWait: (holder) => reporter.warn('job_held', `another run holds this job (process ${holder.pid} on ${holder.host}, since ${holder.since}): waiting one lease`),
    onLost: (error) => lost.abort(error),
  });
  try {
    if (lock.tookOverFromUnknown) for (const path of [paths.output, paths.errors]) await replaceInode(path);
    const start = await decideStart(job, paths, { fresh: options.fresh, now: () => new Date(), signal: AbortSignal.any([context.drain, lost.signal]) });
    switch (start.kind) {
      case 'done': {
        reporter.done(buildReport(start.checkpoint, job.output.uri, job.service.rpm), paths);
        return (start.checkpoint.exitCode ?? EXIT.ok) as ExitCode;
      }
      case 'finish':
        return await putInPlace(job, paths, start.checkpoint, await reopened(start.checkpoint, paths), lock, reporter);
      case 'go':
        return await execute(job, paths, start, context, lock, lost.signal, reporter);
      default:
        return start satisfies never;
    }
  } finally {
    await lock.release();
  }
}

async function execute(job: CompiledJob, paths: JobPaths, start: Start & { kind: 'go' }, context: RunContext, lock: JobLock, lost: AbortSignal, reporter: Reporter): Promise<ExitCode> {
  const { checkpoint } = start;
  if (start.reopen) await reopenOutput(paths);
  // The checkpoint comes first: from here on, the partial files are this job's.
  await writeCheckpoint(paths.checkpoint, checkpoint);
  const ledger = Ledger.open({ path: paths.ledger, job: job.name, run: checkpoint.run, maxAgeDays: job.ledger.maxAgeDays, now: Date.now });
  const counters = new Counters(checkpoint.totals, () => performance.now());
  let latest = checkpoint;
  try {
    const sink = await openSink(job, paths, checkpoint);
    try {
      const running = new RunningJob({
        job,
        checkpoint,
        ledger,
        sink,
        counters,
        service: { baseUrl: context.baseUrl, origin: context.serviceOrigin, apiKey: context.apiKey },
        keep: async (mark, state, trusted) => {
          if (lost.aborted) throw lost.reason;
          latest = { ...latest, mark, state, trusted, updatedAt: new Date().toISOString(), totals: counters.totals(ledger.totals()) };
          await writeCheckpoint(paths.checkpoint, latest);
        },
        drain: context.drain,
        abort: AbortSignal.any([context.abort, lost]),
      });
      reporter.start({ checkpoint, resumed: start.resumed, running, counters, sink });
      const end = await running.run();
      reporter.stop();
      if (lost.aborted) throw lost.reason;
      if (end.kind === 'stopped') {
        reporter.stopped(buildReport(latest, job.output.uri, job.service.rpm));
        throw end.error;
      }
      const finished = await sink.finish();
      ledger.flush();
      latest = await finishing(job, paths, { ...latest, trusted: end.trusted, totals: counters.totals(ledger.totals()) }, finished);
      return await putInPlace(job, paths, latest, () => sink.commit(), lock, reporter);
    } finally {
      await sink.close();
    }
  } finally {
    ledger.close();
  }
}

async function openSink(job: CompiledJob, paths: JobPaths, checkpoint: Checkpoint): Promise<RowSink> {
  return OutputWriter.open({
    path: paths.output,
    errorsPath: paths.errors,
    compression: job.output.compression,
    format: rowFormat(job, checkpoint.manifest),
    mark: checkpoint.mark,
    errorLine: (record, result) => errorLine(checkpoint.manifest, record, result),
  });
}

/** All rows are written: says so durably, with what the output is, before anything takes its name. */
async function finishing(job: CompiledJob, paths: JobPaths, latest: Checkpoint, finished: Awaited<ReturnType<RowSink['finish']>>): Promise<Checkpoint> {
  const changed = await describeChange(latest.manifest);
  if (changed !== null) {
    throw new InputError('input_changed', `the input changed while it was read: ${changed}`, { hint: 'The rows written may mix both versions. Run with --fresh: what was paid for is in the ledger.' });
  }
  const { tally } = finished;
  const now = new Date().toISOString();
  const checkpoint: Checkpoint = {
    ...latest,
    state: 'finishing',
    updatedAt: now,
    finishedAt: now,
    exitCode: tooManyFailed(job, tally) ? EXIT.tooManyFailed : EXIT.ok,
    mark: finished.mark,
    result: { tally, bytes: finished.bytes, errorBytes: finished.errorBytes, sha256: await sha256(partialPath(paths.output)) },
  };
  await writeCheckpoint(paths.checkpoint, checkpoint);
  return checkpoint;
}

async function putInPlace(job: CompiledJob, paths: JobPaths, checkpoint: Checkpoint, commit: () => Promise<void>, lock: JobLock, reporter: Reporter): Promise<ExitCode> {
  await lock.check();
  await commit();
  const report = buildReport(checkpoint, job.output.uri, job.service.rpm);
  await writeReport(paths.report, report);
  await writeCheckpoint(paths.checkpoint, { ...checkpoint, state: 'finished' });
  await rm(paths.spool, { force: true });
  reporter.finished(report, paths);
  return (checkpoint.exitCode ?? EXIT.ok) as ExitCode;
}

/** After a crash between the last checkpoint and the renames: does those that are missing. */
async function reopened(checkpoint: Checkpoint, paths: JobPaths): Promise<() => Promise<void>> {
  const { result } = checkpoint;
  const files = [
    { path: paths.output, bytes: result?.bytes ?? 0, wanted: true },
    { path: paths.errors, bytes: result?.errorBytes ?? 0, wanted: (result?.errorBytes ?? 0) > 0 },
  ];
  return async () => {
    for (const { path, bytes, wanted } of files) {
      const partial = await stat(partialPath(path)).catch(() => null);
      if (partial === null) continue;
      if (wanted) await (await PartialFile.open(path, bytes)).commit();
      else await rm(partialPath(path), { force: true });
      if (!wanted) await rm(path, { force: true });
    }
  };
}

function tooManyFailed(job: CompiledJob, tally: Tally): boolean {
  const { maxErrors } = job.limits;
  return 'count' in maxErrors ? tally.outcomes.failed > maxErrors.count : tally.outcomes.failed > maxErrors.share * tally.total;
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), hash);
  return hash.digest('hex');
}
