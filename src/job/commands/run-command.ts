/** `millrace run` and `millrace retry`: which kind of run, and who watches it. */
import { refuseMissingFolder } from '../lifecycle/output-folder.ts';
import type { CompiledJob, RunOptions } from '../../definition/compiled-job.ts';
import { EXIT, MillraceError, onDay, UsageError, type ExitCode } from '../../util/errors.ts';
import { otelSettings } from '../../telemetry/otel-environment.ts';
import { inRunScope } from '../../util/run-scope.ts';
import { Waits } from '../../util/waits.ts';
import { decideRetry } from '../lifecycle/retry-start.ts';
import { decideStart } from '../lifecycle/start.ts';
import { openReporter } from '../progress/open-reporter.ts';
import type { Reporter } from '../progress/reporter.ts';
import { SilenceWatch } from '../progress/silence.ts';
import type { RunContext } from '../run/pipeline.ts';
import { runToFile } from '../run/run-to-file.ts';
import { runToStandardOutput } from '../run/run-to-stdout.ts';
import { runShard } from '../shards/run-shard.ts';

/** Milliseconds that storage may still take when a run was told to stop at once. */
const LAST_WORDS_MS = 5_000;

/** A command's service, signals and secrets. */
export interface CommandContext extends RunContext {
  /** Signs the messages of `onFinish` and `onTrouble`; left out or null when none is signed. */
  readonly webhookSecret?: Uint8Array | null;
  /** The variables of proxies and OpenTelemetry. */
  readonly env: NodeJS.ProcessEnv;
  /** Shows the run in place of the reporter that the options choose. */
  readonly reporter?: Reporter;
}

/**
 * Runs a job, or resumes it where it stopped.
 * @throws MillraceError whatever ended the run; the job's state is on disk by then
 */
export async function runCommand(job: CompiledJob, options: RunOptions, context: CommandContext): Promise<ExitCode> {
  return watched(job, options, context, (reporter) => {
    if (job.output.uri === '-') return runToStandardOutput(job, options, context, reporter);
    refuseMissingFolder(job);
    if (options.shard === null)
      return runToFile(job, options, context, reporter, { command: 'run', decide: decideStart, isTrustedElsewhere: null });
    return runShard(job, options.shard, options, context.signals, reporter, (part, decide, isTrustedElsewhere) =>
      runToFile(part, options, context, reporter, { command: 'run', decide, isTrustedElsewhere }),
    );
  });
}

/**
 * Asks again for the failed records of a finished job, and puts their results into place. The new output replaces the old one when it is
 * complete.
 * @throws MillraceError as `runCommand`, and 65 when there is nothing finished to retry
 */
export async function retryCommand(job: CompiledJob, options: RunOptions, context: CommandContext): Promise<ExitCode> {
  if (job.output.uri === '-')
    throw new UsageError('no_checkpoint', 'a run to standard output keeps no checkpoint, so there is nothing to retry', {
      hint: 'Name a file as --output.',
    });
  return watched(job, options, context, (reporter) =>
    runToFile(job, options, context, reporter, { command: 'retry', decide: decideRetry, isTrustedElsewhere: null }),
  );
}

/** Does the work with a reporter, a silence watch and, where the job wants one, a monitor. */
async function watched(
  job: CompiledJob,
  { progress, logLevel, logFormat, monitor }: RunOptions,
  context: CommandContext,
  work: (reporter: Reporter) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { signals } = context;
  const shown = context.reporter ?? (await openReporter(job, { progress, logLevel, logFormat }));
  const waits = new Waits();
  const lastWords = new AbortController();
  const silence = new SilenceWatch({ waits, reporter: shown, now: () => performance.now(), wallNow: Date.now });
  const reporter = withSilence(shown, silence);
  const giveUp = (): void => lastWords.abort(new Error('this run was told to stop at once'));
  const onAbort = (): void => void setTimeout(giveUp, LAST_WORDS_MS).unref();
  signals.abort.addEventListener('abort', onAbort, { once: true });
  const doWork = async (shownOn: Reporter): Promise<ExitCode> => {
    if (monitor === null) return ofDay(job, work(shownOn));
    const { openMonitor } = await import('../monitor/open-monitor.ts');
    const opened = await openMonitor(job, monitor, silence);
    try {
      shownOn.info('monitor', `the run shows itself at ${opened.url}`);
      return await ofDay(job, work(opened.watching(shownOn)));
    } finally {
      await opened.close();
    }
  };
  try {
    return await inRunScope({ waits, lastWords: lastWords.signal }, () =>
      pushing(job, context, reporter, (pushed) => notifying(job, context, pushed, doWork)),
    );
  } finally {
    signals.abort.removeEventListener('abort', onAbort);
    silence.close();
    await reporter.close();
  }
}

/** Codes of runs that resume. */
const RESUMABLE: readonly ExitCode[] = [EXIT.unavailable, EXIT.storage, EXIT.stopped, EXIT.refused];

/** Names the day of a dated job in the error of a run that resumes. */
async function ofDay({ day }: CompiledJob, running: Promise<ExitCode>): Promise<ExitCode> {
  try {
    return await running;
  } catch (error) {
    throw day !== null && error instanceof MillraceError && RESUMABLE.includes(error.exitCode) ? onDay(error, day) : error;
  }
}

/** Does the work, and sends its metrics and its trace where the `OTEL_*` variables ask for it. */
async function pushing(
  job: CompiledJob,
  { env, signals }: CommandContext,
  reporter: Reporter,
  work: (reporter: Reporter) => Promise<ExitCode>,
): Promise<ExitCode> {
  const settings = otelSettings(env, 'millrace');
  if (settings === null) return work(reporter);
  const { TelemetryPush } = await import('../monitor/push-telemetry.ts');
  const push = new TelemetryPush(job.name, settings, env, signals.drain);
  const exitCode = await work(push.watching(reporter)).catch(async (error: unknown) => {
    await push.close(error instanceof MillraceError ? error.exitCode : EXIT.bug, error);
    throw error;
  });
  await push.close(exitCode, null);
  return exitCode;
}

/** Does the work, and sends the messages that the job wants about its end. */
async function notifying(
  job: CompiledJob,
  { webhookSecret: secret = null, env, signals }: CommandContext,
  reporter: Reporter,
  work: (reporter: Reporter) => Promise<ExitCode>,
): Promise<ExitCode> {
  if (job.onFinish === null && job.onTrouble === null) return work(reporter);
  const { Notifier } = await import('../notify/notifier.ts');
  const notifier = new Notifier({ job, secret, env, drain: signals.drain });
  const exitCode = await work(notifier.watching(reporter)).catch(async (error: unknown) => {
    await notifier.failed(error);
    throw error;
  });
  await notifier.ended(exitCode);
  return exitCode;
}

/** A reporter that also starts the silence watch, whose waits the report then has from the start of the process on. */
function withSilence(reporter: Reporter, silence: SilenceWatch): Reporter {
  return {
    ...reporter,
    start: (parts) => {
      const { counters } = parts;
      counters.waitsNow = () => silence.totals;
      silence.follow(() => counters.lastSentMs);
      reporter.start({ ...parts, silence });
    },
    stop: () => {
      silence.unfollow();
      reporter.stop();
    },
  };
}
