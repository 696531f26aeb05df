/**
 * One run of a job, from its parts to its end: `millrace run`, `millrace retry`, a run to standard output and each shard are this function.
 * `RecordLoop` moves the records through the parts; `RunState` names the states.
 */
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { readRecords } from '../../formats/read-records.ts';
import { loadKeys } from '../../processor/load-keys.ts';
import { MissQuarantine } from '../../processor/miss-quarantine.ts';
import { openSteps, type Steps } from '../../processor/open-steps.ts';
import { RecordProcessor } from '../../processor/process-record.ts';
import { RetryProcessor } from '../../processor/retry-record.ts';
import { lookupScopes } from '../../processor/scopes.ts';
import { EXIT, type ExitCode } from '../../util/errors.ts';
import type { StopSignals } from '../../util/stop-signals.ts';
import type { Waits } from '../../util/waits.ts';
import { idempotencyKey, keySeed } from '../lifecycle/idempotency-keys.ts';
import { ledgerRights } from '../lifecycle/ledger-rights.ts';
import type { RetrySource } from '../lifecycle/retried-records.ts';
import { serviceOrigin } from '../lifecycle/service-origin.ts';
import { firstRowNotices } from '../progress/first-row-notices.ts';
import { Notices } from '../progress/notices.ts';
import type { Reporter } from '../progress/reporter.ts';
import { expectedOf } from '../progress/snapshot.ts';
import { ownRpm, ownWindows, shareOfPlan } from '../shards/shard-job.ts';
import type { RunDestination } from './destination.ts';
import { RecordLoop } from './loop.ts';
import { openCalls, type ServiceAccess } from './open-calls.ts';
import { openCounters } from './open-counters.ts';
import { requestPace } from './request-pace.ts';
import { RunCheckpoints } from './run-checkpoints.ts';
import { RunState } from './run-state.ts';
import { ServiceDoubt } from './service-doubt.ts';
import { openRunQuota } from './shared-quota.ts';
import { spentBefore } from './spent-before.ts';
import { watchRun } from './wait-sources.ts';

/** A command's service and signals, for each of its runs. */
export interface RunContext {
  readonly service: ServiceAccess;
  /** Include the loss of the job lock, where the run has one. */
  readonly signals: StopSignals;
  /** The command line, without secrets, for the report. */
  readonly command: string;
}

export interface PipelineOptions extends RunContext {
  readonly job: CompiledJob;
  /** Where the run begins. */
  readonly checkpoint: Checkpoint;
  /** An earlier run has written rows, and they stay in the output. */
  readonly isResumed: boolean;
  /** The last run was killed before it could write its last checkpoint. */
  readonly wasKilled: boolean;
  /** The rows of a finished run that are asked for again; null: a run, which reads the input itself. */
  readonly retry: RetrySource | null;
  readonly destination: RunDestination;
  readonly reporter: Reporter;
  /** Collects what the parts wait for, for the progress line and the log. */
  readonly waits: Waits;
  /** Whether another shard of the job trusts the service; null when the job has no other shard. */
  readonly isTrustedElsewhere: (() => Promise<boolean>) | null;
}

/** A retry sends its waiting addresses after each 8,192 rows of the output. The loop's window holds more rows than that. */
const RETRY_GROUP_ROWS = 8_192;

/**
 * Opens source, ledger, limiter, pool, steps, writer and checkpoint in this order, moves every record through them, and closes them in the
 * reverse order, also when opening fails half-way.
 * @throws MillraceError the first reason to stop: a signal (75), a lost lock (75), or the failure; the checkpoint is written by then
 */
export async function runPipeline(options: PipelineOptions): Promise<ExitCode> {
  const { job, checkpoint, retry, service, destination, signals, reporter, waits } = options;
  const state = new RunState(signals);
  const stopFor = (error: unknown): void => state.stopFor(error);
  const opened = new AsyncDisposableStack();
  let checkpoints: RunCheckpoints | null = null;
  try {
    opened.defer(() => state.close());

    // Source
    const { mark, manifest } = checkpoint;
    const records = retry?.records(mark.position, state.stopping) ?? readRecords(manifest, mark.position, state.stopping);
    const keysOf = await loadKeys(job, manifest);

    // Ledger
    const ledger = opened.adopt(await destination.openLedger({ ...ledgerRights(job, checkpoint), tell: reporter, ...signals }), (part) =>
      part.close(),
    );

    // Limiter and pool
    const { counters, budget } = openCounters(options, () => saved.saveTotals());
    // Null unless runs share a quota over Redis.
    const quota = opened.adopt(await openRunQuota(job, service.apiKey, reporter, checkpoint), (part) => part?.close());
    const notices = new Notices(reporter, job.limits.maxOutageMs, () => performance.now());
    const calls = opened.adopt(
      openCalls({
        settings: job,
        service,
        counters,
        budget,
        notices,
        ownRpm: ownRpm(job, checkpoint),
        windows: ownWindows(job, checkpoint),
        quota,
        share: shareOfPlan(checkpoint),
        spent: spentBefore(job, checkpoint, options.wasKilled),
        // A shared ledger forbids new calls while it cannot be reached.
        mayCall: () => ledger.mayCall(),
        // Faults of a service that has answered this job before are outages, not a wrong address.
        hasAnswered: checkpoint.answered,
        isRetry: retry !== null,
        abort: signals.abort,
        onFatal: stopFor,
      }),
      (part) => part.close(),
    );
    const { client, limiter, pool } = calls;

    // Steps. Misses of a service that has not yet shown that it knows anybody are held in quarantine.
    const doubt = new ServiceDoubt({
      state,
      isTrustedElsewhere: options.isTrustedElsewhere,
      quarantine: () => quarantine,
      onTrusted: () => loop.flushIfIdle(),
    });
    const quarantine = new MissQuarantine({
      held: checkpoint.held,
      trusted: checkpoint.trusted || job.limits.trustMisses,
      onDistrust: (answers, kind) => void doubt.raise(answers, kind),
    });
    const ownSeed = keySeed(checkpoint);
    const steps = openSteps(
      job,
      {
        client,
        pool,
        ledger,
        quarantine: quarantine,
        idempotencyKey: (body, seed = null) => idempotencyKey(seed ?? ownSeed, body),
        onSettled: () => loop.flushIfIdle(),
        onFatal: stopFor,
        onPending: (addresses, waitMs) => notices.pending(addresses, waitMs),
      },
      lookupScopes((step, scope) => ledger.scope(serviceOrigin(job), step, scope), job.service.domainField, job),
      requestPace({
        timeoutMs: job.service.timeoutMs,
        counters,
        notices,
        keepAnswers: () => ledger.keep(),
        keepTotals: () => saved.saveTotals(),
        onFatal: stopFor,
      }),
    );
    const processor = openProcessor(options, steps, keysOf);

    // Writer
    const writer = opened.adopt(await destination.openWriter(), (part) => part.close());
    const loop = new RecordLoop({
      state,
      records,
      // A retry reads a record for each row of the output, whatever the limit is now.
      limit: retry !== null || job.limits.limit === null ? Infinity : job.limits.limit - mark.tally.total,
      processor,
      steps,
      ledger,
      pool,
      quarantine,
      isServiceInDoubt: () => doubt.isOpen,
      writer,
      counters,
      notices: firstRowNotices(options),
    });

    // Checkpoint
    const saved = new RunCheckpoints({
      job,
      first: checkpoint,
      command: options.command,
      save: destination.saveCheckpoint,
      writer,
      ledger,
      budget,
      // A service whose misses were rejected counts as one that never answered: its address may still be corrected.
      service: () => ({ ...quarantine.trust, answered: pool.hasAnswered && !quarantine.isServiceRejected }),
      spent: () => limiter.save(),
      // A shard counts its own lookups: the others write to the same ledger.
      totals: () =>
        checkpoint.shard === null
          ? counters.totals(ledger.totals(), checkpoint.retry?.forgotten)
          : counters.totals(ledger.added(), checkpoint.totals.lookups),
      expected: () => expectedOf({ checkpoint, loop, writer }, job.limits.limit),
      onFailure: stopFor,
    });
    checkpoints = saved;
    ledger.listen({ moved: () => loop.flushIfIdle(), failed: stopFor });

    state.enter('running');
    reporter.start({ job, checkpoint, resumed: options.isResumed, loop, limiter, pool, checkpoints: saved, counters, writer });
    const unwatch = watchRun(waits, {
      limiter,
      pool,
      joining: () => ledger.joining,
      claimed: () => ledger.waiting,
      pending: () => steps.verify?.addressesPending ?? null,
      reader: () => loop.waitsFor,
      now: () => performance.now(),
    });
    opened.defer(unwatch);
    try {
      await saved.start();
      await loop.run();
    } catch (error) {
      stopFor(error);
    }

    state.enter('draining');
    steps.verify?.stop();
    await calls.drain();
    await saved.stop();
    if (state.isStopping) {
      // If the disk itself failed, the next run starts from the previous checkpoint.
      await saved.saveRows('stopped', state.reason).catch(() => undefined);
    } else state.enter('finishing');
    // Frees this run's part of a shared quota while the output is finished.
    await calls.close();
    unwatch();
    reporter.stop();
    if (state.isStopping) {
      await destination.reportStop(saved.latest);
      throw state.reason;
    }
    const rows = await destination.finish(writer);
    await ledger.keep();
    const finishing = await saved.saveFinishing(rows);
    await destination.commit(finishing, writer);
    state.enter('finished');
    return (finishing.exitCode ?? EXIT.ok) as ExitCode;
  } catch (error) {
    state.enter('stopped');
    await (checkpoints === null ? saveUnopened(options) : checkpoints.saveFailure(error));
    throw error;
  } finally {
    await opened.disposeAsync();
  }
}

/**
 * Marks the job as stopped when a part could not be opened. The checkpoint of a killed run stays as it is, so that the next run still knows
 * of the kill. Never throws.
 */
async function saveUnopened({ checkpoint, wasKilled, destination }: PipelineOptions): Promise<void> {
  if (!wasKilled) await destination.saveCheckpoint?.({ ...checkpoint, state: 'stopped' }).catch(() => undefined);
}

function openProcessor(
  { job, checkpoint, retry }: PipelineOptions,
  steps: Steps,
  keysOf: Awaited<ReturnType<typeof loadKeys>>,
): Pick<RecordProcessor, 'process'> {
  if (retry === null) return new RecordProcessor(job, steps, keysOf);
  const groups = { rows: RETRY_GROUP_ROWS, before: checkpoint.mark.position?.finished?.rows ?? 0 };
  return new RetryProcessor(new RecordProcessor(job, steps, keysOf, groups), job.steps, retry.rowOf);
}
