/** `--output -`: rows to standard output, without checkpoint, lock or resume. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { CompiledJob, RunOptions } from '../../definition/compiled-job.ts';
import { isShared, ledgerLocation } from '../../definition/ledger-location.ts';
import type { InputManifest } from '../../formats/input-record.ts';
import { openRunLedger } from '../../ledger/open-run-ledger.ts';
import { MillraceError, withoutResume, type ExitCode } from '../../util/errors.ts';
import { runScope } from '../../util/run-scope.ts';
import { START_MARK } from '../../writer/resume-point.ts';
import { rowFormat } from '../../writer/row-format.ts';
import { EMPTY_TALLY, Tallying } from '../../writer/tally.ts';
import { adoptSpool } from '../lifecycle/frozen-input.ts';
import { jobPaths } from '../lifecycle/paths.ts';
import { scratchFolder } from '../lifecycle/scratch.ts';
import { freshStart } from '../lifecycle/start.ts';
import { warnOfIdleVerify } from '../progress/notices.ts';
import type { Reporter } from '../progress/reporter.ts';
import { buildReport } from '../report/report.ts';
import type { RunDestination, RowWriter } from './destination.ts';
import { runPipeline, type RunContext } from './pipeline.ts';
import { StdoutSink } from './stdout-sink.ts';

/** @throws MillraceError whatever ended the run, without the hint that it can be resumed */
export async function runToStandardOutput(
  job: CompiledJob,
  options: Pick<RunOptions, 'scratch'>,
  context: RunContext,
  reporter: Reporter,
): Promise<ExitCode> {
  // Files that grow (the spool, and a ledger without a name) lie in a folder that is removed with the run.
  const folder = await scratchFolder(options.scratch);
  try {
    const paths = { ...jobPaths(job, options), spool: join(folder, 'stdin'), arriving: join(folder, 'arriving') };
    const { checkpoint } = await freshStart(job, paths, { now: () => new Date(), signal: context.signals.drain });
    await adoptSpool(paths, null);
    const own = join(folder, 'ledger');
    const ledger = isShared(job.ledger.uri)
      ? ledgerLocation(job.ledger.uri, own)
      : ledgerLocation('', job.ledger.maxAgeDays > 0 ? paths.ledger : own);
    const destination: RunDestination = {
      openLedger: (rights) => openRunLedger(ledger, rights),
      openWriter: async () => stdoutRows(job, checkpoint.manifest),
      saveCheckpoint: null,
      finish: (writer) => writer.finish(),
      commit: async (finishing) => {
        const report = buildReport({ ...finishing, state: 'finished' }, job);
        warnOfIdleVerify(report, job, reporter);
        reporter.finished(report, null);
      },
      reportStop: async () => undefined,
    };
    return await runPipeline({
      ...context,
      job,
      checkpoint,
      isResumed: false,
      wasKilled: false,
      retry: null,
      destination,
      reporter,
      waits: runScope().waits,
      isTrustedElsewhere: null,
    });
  } catch (error) {
    throw error instanceof MillraceError ? withoutResume(error, 'it starts over; a file as --output can be resumed') : error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function stdoutRows(job: CompiledJob, manifest: InputManifest): RowWriter {
  const format = rowFormat(job, manifest);
  const tallying = new Tallying(EMPTY_TALLY);
  const sink = new StdoutSink('Whoever read it stopped reading; run again with a file as --output to be able to resume.');
  if (format.header !== null) sink.write(format.header);
  return {
    get tally() {
      return tallying.snapshot();
    },
    write: (record, result) => {
      sink.write(format.row(record, result));
      tallying.add(result);
    },
    room: () => sink.room(),
    sync: async () => {
      sink.check();
      return START_MARK;
    },
    settled: async () => undefined,
    finish: async () => {
      await sink.drained();
      return { mark: START_MARK, bytes: 0, errorBytes: 0, sha256: '', errorsSha256: '', tally: tallying.snapshot() };
    },
    commit: async () => undefined,
    close: async () => undefined,
  };
}
