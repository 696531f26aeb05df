import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError, withoutResume } from '../errors.ts';
import type { ExitCode } from '../errors.ts';
import { openRunLedger } from '../ledger/open-run-ledger.ts';
import { isShared, ledgerPlace } from '../ledger/place.ts';
import { loadKeys } from '../processor/load-keys.ts';
import { waits } from '../waits.ts';
import { START_MARK, type Mark } from '../writer/mark.ts';
import type { RowFormat } from '../writer/row-format.ts';
import { rowFormat } from '../writer/row-format.ts';
import { EMPTY_TALLY, Tallying, type Tally } from '../writer/tally.ts';
import { CallBudget } from './call-budget.ts';
import { Counters } from './counters.ts';
import { adoptSpool } from './frozen-input.ts';
import { OutPipe } from './out-pipe.ts';
import { jobPaths } from './paths.ts';
import { buildReport } from './report.ts';
import type { Reporter } from './reporter.ts';
import type { RunContext } from './run-command.ts';
import type { RowSink } from './job-parts.ts';
import { RunningJob } from './run-job.ts';
import { ledgerRights } from './ledger-rights.ts';
import { scratchFolder } from './scratch.ts';
import { serviceOrigin } from './service-origin.ts';
import { orClosed, sharedQuotaOf } from './shared-quota.ts';
import { freshStart } from './start.ts';
import type { CompiledJob, RunOptions } from './types.ts';
import { finishedExitCode } from './verdict.ts';

/** `--output -`: rows to standard output, without checkpoint, lock or resume. */
export async function runToStandardOutput(job: CompiledJob, options: RunOptions, context: RunContext, reporter: Reporter): Promise<ExitCode> {
  // What grows (the spool, and a ledger that nobody named) lives in a folder that goes with the run.
  const folder = await scratchFolder(options.scratch);
  try {
    return await runIn(folder, job, options, context, reporter);
  } catch (error) {
    throw error instanceof MillraceError ? withoutResume(error, 'it starts over; a file as --output can be resumed') : error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runIn(folder: string, job: CompiledJob, options: RunOptions, context: RunContext, reporter: Reporter): Promise<ExitCode> {
  const paths = { ...jobPaths(job, options), spool: join(folder, 'stdin'), arriving: join(folder, 'arriving') };
  const { checkpoint } = await freshStart(job, paths, { now: () => new Date(), signal: context.drain });
  await adoptSpool(paths, null);
  const own = join(folder, 'ledger');
  const place = isShared(job.ledger.uri) ? ledgerPlace(job.ledger.uri, own) : ledgerPlace('', job.ledger.maxAgeDays > 0 ? paths.ledger : own);
  const ledger = await openRunLedger(place, { ...ledgerRights(job, checkpoint), tell: reporter, drain: context.drain, abort: context.abort });
  try {
    const counters = new Counters(null, () => performance.now());
    const sink = new StandardOutput(rowFormat(job, checkpoint.manifest));
    const keysOf = await loadKeys(job.steps);
    const quota = await sharedQuotaOf(job, context, reporter, checkpoint);
    const running = await orClosed(quota, () => new RunningJob({
      job, checkpoint,
      wasKilled: false, ledger, sink, counters, reporter, waits, retry: null,
      keysOf,
      quota,
      budget: new CallBudget({ maxCalls: job.limits.maxCalls, counters, uncounted: 0, record: null }),
      service: { baseUrl: context.baseUrl, origin: serviceOrigin(job), apiKey: context.apiKey },
      keep: async () => undefined,
      drain: context.drain,
      abort: context.abort,
    }));
    reporter.start({ job, checkpoint, resumed: false, running, counters, sink });
    const end = await running.run();
    reporter.stop();
    if (end.kind === 'stopped') throw end.error;
    await sink.finish();
    await ledger.keep();
    const { tally } = sink;
    const exitCode = finishedExitCode(job, tally);
    reporter.finished(buildReport({ ...checkpoint, state: 'finished', exitCode, finishedAt: new Date().toISOString(), totals: counters.totals(ledger.totals()), result: { tally, bytes: 0, errorBytes: 0, sha256: '', errorsSha256: '' } }, '-', job.service.rpm), null);
    return exitCode;
  } finally {
    await ledger.close();
  }
}

class StandardOutput implements RowSink {
  readonly #format: RowFormat;
  readonly #tallying = new Tallying(EMPTY_TALLY);
  readonly #pipe = new OutPipe('Whoever read it stopped reading; run again with a file as --output to be able to resume.');

  constructor(format: RowFormat) {
    this.#format = format;
    if (format.header !== null) this.#pipe.write(format.header);
  }

  get tally(): Tally {
    return this.#tallying.snapshot();
  }

  write(...[record, result]: Parameters<RowSink['write']>): void {
    this.#pipe.write(this.#format.row(record, result));
    this.#tallying.add(result);
  }

  room(): Promise<void> | null {
    return this.#pipe.room();
  }

  async sync(): Promise<Mark> {
    this.#pipe.check();
    return START_MARK;
  }

  async settled(): Promise<void> {}

  async finish(): ReturnType<RowSink['finish']> {
    await this.#pipe.drained();
    return { mark: START_MARK, bytes: 0, errorBytes: 0, sha256: '', errorsSha256: '', tally: this.tally };
  }

  async commit(): Promise<void> {}

  async close(): Promise<void> {}
}
