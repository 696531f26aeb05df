/**
 * One run of a job, from its parts to its end: `millrace run`, `millrace retry`, a run to standard output and each shard are this function.
 * `RecordLoop` moves the records through the parts; `RunState` names the states.
 */
import type { TrustedElsewhere } from './service-doubt.ts';
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { spentText, withSpent } from '../../checkpoint/spent-totals.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { pollOf } from '../../definition/job-provider.ts';
import { readRecords } from '../../formats/read-records.ts';
import { OpenPromises } from '../../pool/open-promises.ts';
import { stepConditions, type StepConditions } from '../../processor/step-conditions.ts';
import { loadSuppressed } from '../lifecycle/load-suppressed.ts';
import type { SuppressedPeople } from '../../processor/suppressed-people.ts';
import { loadKeys } from '../../processor/load-keys.ts';
import { answersPending, openSteps, stopSteps, type Steps } from '../../processor/open-steps.ts';
import { RecordProcessor } from '../../processor/process-record.ts';
import { RetryProcessor } from '../../processor/retry-record.ts';
import { EXIT, type ExitCode } from '../../util/errors.ts';
import type { StopSignals } from '../../util/stop-signals.ts';
import type { Waits } from '../../util/waits.ts';
import { jobMapping, mappingText } from '../lifecycle/input-mapping.ts';
import { ledgerRights } from '../lifecycle/ledger-rights.ts';
import { lostAnswersOfShared } from '../lifecycle/lost-files.ts';
import type { RetrySource } from '../lifecycle/retried-records.ts';
import { firstRowNotices } from '../progress/first-row-notices.ts';
import { warnOfOldLedgerKeys } from '../progress/old-ledger-key.ts';
import type { Reporter } from '../progress/reporter.ts';
import { expectedOf } from '../progress/snapshot.ts';
import type { RunDestination } from './destination.ts';
import { RecordLoop } from './loop.ts';
import type { ServiceAccess } from './open-calls.ts';
import { openCounters } from './open-counters.ts';
import { providerSetups } from './provider-setup.ts';
import { RunClock } from './run-clock.ts';
import { RunCheckpoints } from './run-checkpoints.ts';
import { RunProviders } from './run-providers.ts';
import { RunState } from './run-state.ts';
import { watchRun } from './wait-sources.ts';

/** A command's providers and signals, for each of its runs. */
export interface RunContext {
  /** By the names of the job's providers. */
  readonly access: ReadonlyMap<string, ServiceAccess>;
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
  readonly isTrustedElsewhere: TrustedElsewhere | null;
}

/** A retry sends its waiting addresses after each 8,192 rows of the output. The loop's window holds more rows than that. */
const RETRY_GROUP_ROWS = 8_192;

/** Says which columns hold the keys, before anything is paid for. */
async function showMapping({ job, checkpoint: { manifest }, reporter }: PipelineOptions, signal: AbortSignal): Promise<void> {
  const { columns, warnings } = await jobMapping(manifest, job, { signal, isShort: true });
  for (const column of columns) reporter.info('column', mappingText(column));
  for (const warning of warnings) reporter.warn('columns', warning);
}

/**
 * Opens source, ledger, limiter, pool, steps, writer and checkpoint in this order, moves every record through them, and closes them in the
 * reverse order, also when opening fails half-way.
 * @throws MillraceError the first reason to stop: a signal (75), a lost lock (75), or the failure; the checkpoint is written by then
 */
export async function runPipeline(options: PipelineOptions): Promise<ExitCode> {
  const { job, retry, destination, signals, reporter, waits } = options;
  const state = new RunState(signals);
  const stopFor = (error: unknown): void => state.stopFor(error);
  const opened = new AsyncDisposableStack();
  let checkpoints: RunCheckpoints | null = null;
  try {
    opened.defer(() => state.close());

    // Source
    const { mark, manifest } = options.checkpoint;
    const records = retry?.records(mark.position, state.stopping) ?? readRecords(manifest, mark.position, state.stopping);
    const suppressed = await loadSuppressed(job.suppress, state.stopping);
    const keysOf = await loadKeys(job, manifest, suppressed);
    const conditions = stepConditions(job.conditions, manifest);

    // Ledger
    const rights = ledgerRights(job, options.checkpoint);
    const ledger = opened.adopt(await destination.openLedger({ ...rights, tell: reporter, ...signals }), (part) => part.close());
    const checkpoint = ledger.spent.reduce(withSpent, options.checkpoint);
    const lost = lostAnswersOfShared(job, checkpoint, ledger.totals().lookups, options.wasKilled);
    if (lost !== null) reporter.warn('answers_lost', lost);
    if (!options.isResumed) warnOfOldLedgerKeys(job, checkpoint, ledger, reporter);

    // Limiters and pools
    const { counters, budget } = openCounters({ job, checkpoint, wasKilled: options.wasKilled, destination }, () => saved.saveTotals());
    const parts = await providerSetups({
      job,
      checkpoint,
      wasKilled: options.wasKilled,
      counters,
      budget,
      reporter,
      access: options.access,
      saveTotals: destination.saveCheckpoint === null ? null : () => saved.saveTotals(),
      closeLater: (quota) => opened.adopt(quota, (part) => part?.close()),
    });
    const providers = opened.adopt(
      new RunProviders(parts, {
        state,
        ledger,
        checkpoint,
        isRetry: retry !== null,
        isTrustedElsewhere: options.isTrustedElsewhere,
        abort: signals.abort,
        promises: new OpenPromises(),
        clock: new RunClock({ ledger, reporter, now: Date.now }),
        onSettled: () => loop.flushIfIdle(),
        saveTotals: () => saved.saveTotals(),
      }),
      (part) => part.close(),
    );
    counters.beyondPlanNow = () => providers.beyondPlan();
    ledger.storeSpent(() => spentText(counters, providers.spending));

    // Steps. Misses of a service that has not yet shown that it knows anybody are held in quarantine.
    const { limiter, pool, quarantine } = providers;
    const steps = openSteps(
      job,
      providers.all.map((provider) => provider.forSteps()),
    );
    providers.watch(steps);
    const processor = openProcessor(options, steps, keysOf, { conditions, suppressed });

    // Writer
    const writer = opened.adopt(await destination.openWriter(), (part) => part.close());
    const loop = new RecordLoop({
      state,
      records,
      // A retry reads a record for each row of the output, whatever the limit is now.
      limit: retry !== null || job.limits.limit === null ? Infinity : job.limits.limit - mark.tally.total,
      processor,
      steps,
      hasLateAnswers: job.providers.some((provider) => job.steps.some((step) => pollOf(provider, step) !== null)),
      ledger,
      pool,
      quarantine,
      isServiceInDoubt: () => providers.isInDoubt,
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
      providers: providers.checkpoints,
      service: () => providers.known,
      spent: () => providers.spent,
      // A shard counts its own lookups: the others write to the same ledger.
      totals: () =>
        checkpoint.shard === null
          ? counters.totals(ledger.totals(), checkpoint.retry?.forgotten)
          : counters.totals(ledger.added(), checkpoint.totals.lookups),
      expected: () => expectedOf({ checkpoint, loop, writer }, job.limits.limit),
      settled: () => loop.onTheWay.settled,
      onFailure: stopFor,
    });
    checkpoints = saved;
    ledger.listen({ moved: () => loop.flushIfIdle(), failed: stopFor });

    state.enter('running');
    reporter.start({
      job,
      checkpoint,
      resumed: options.isResumed,
      loop,
      limiter,
      pool,
      checkpoints: saved,
      counters,
      writer,
      providers: providers.views,
    });
    const unwatch = watchRun(waits, {
      channels: providers.channels,
      joining: () => ledger.joining,
      claimed: () => ledger.waiting,
      pending: () => answersPending(steps),
      unproven: () => quarantine.unproven,
      reader: () => loop.waitsFor,
      now: () => performance.now(),
    });
    opened.defer(unwatch);
    try {
      if (!options.isResumed && retry === null) await showMapping(options, state.stopping);
      await saved.start();
      await loop.run();
    } catch (error) {
      stopFor(error);
    }

    state.enter('draining');
    stopSteps(steps);
    await providers.drain();
    await saved.stop();
    if (state.isStopping) {
      // If the disk itself failed, the next run starts from the previous checkpoint.
      await saved.saveRows('stopped', state.reason).catch(() => undefined);
    } else state.enter('finishing');
    // Frees this run's part of a shared quota while the output is finished.
    await providers.close();
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
  rules: { readonly conditions: StepConditions; readonly suppressed: SuppressedPeople | null },
): Pick<RecordProcessor, 'process'> {
  if (retry === null) return new RecordProcessor(job, steps, keysOf, rules);
  const groups = { rows: RETRY_GROUP_ROWS, before: checkpoint.mark.position?.finished?.rows ?? 0 };
  return new RetryProcessor(new RecordProcessor(job, steps, keysOf, { groups, ...rules }), job.steps, retry.rowOf);
}
