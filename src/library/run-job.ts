/** `runJob`: a job from a program. It is the command `millrace run` without a terminal, with the same files and guarantees. */
import type { JobFile } from '../definition/layers.ts';
import type { JobDefinition } from '../definition/schema.ts';
import type { Report } from '../job/report/report.ts';
import { ConfigError, EXIT, MillraceError, type ExitCode } from '../util/errors.ts';
import type { JobEvent } from './job-events.ts';
import { present } from '../util/assert.ts';

export interface RunJobOptions {
  /**
   * The variables that the command would read, such as `MILLRACE_API_KEY`; keys of a job in them win over the definition. Default:
   * `process.env`.
   */
  readonly env?: NodeJS.ProcessEnv;
  /** The API key, in place of the one in the variables. */
  readonly apiKey?: string;
  /** The day that `{date}` stands for, `YYYY-MM-DD`. Default: today in UTC. */
  readonly date?: string;
  /** Start over instead of resuming. Default false. */
  readonly fresh?: boolean;
  /** Stops the run: calls under way finish within 25 s, the state is saved, and the promise rejects. A new call resumes the job. */
  readonly signal?: AbortSignal;
  /** Is called with each event, one after the other. An exception of it stops the run as `signal` does. */
  readonly onEvent?: (event: JobEvent) => void;
}

export interface JobResult {
  /** 0, or 1 when the job finished and its own limits call it a failure: `report.exitReasons` says why. */
  readonly exitCode: ExitCode;
  /** The content of `report.json`. */
  readonly report: Report;
}

/**
 * Runs a job to its end, or resumes it where it stopped. Several jobs may run at once; one job runs once, as its lock makes sure.
 *
 * @param job the path or name of a job file, or its content; relative paths start at the working directory
 * @throws MillraceError whatever ended the run early. `exitCode`, `code` and `hint` are those of the command (`docs/exit-codes.md`)
 */
export async function runJob(job: string | JobDefinition, options: RunJobOptions = {}): Promise<JobResult> {
  const { signal, onEvent = () => undefined } = options;
  const drain = new AbortController();
  const stop = (): void =>
    drain.abort(
      new MillraceError(EXIT.stopped, 'aborted', 'stopped by its signal', {
        hint: 'Run the job again: it resumes where it stopped.',
        cause: signal?.reason,
      }),
    );
  let report: Report | null = null;
  const emit = (event: JobEvent): void => {
    if ('report' in event) report = event.report;
    try {
      onEvent(event);
    } catch (cause) {
      drain.abort(new MillraceError(EXIT.stopped, 'handler_failed', `onEvent threw: ${(cause as Error)?.message}`, { cause }));
    }
  };
  if (signal?.aborted === true) stop();
  drain.signal.throwIfAborted();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const exitCode = await start(job, options, drain.signal, emit);
    // An exception of onEvent after the last row stops nothing, and is not lost.
    if (drain.signal.aborted && signal?.aborted !== true) throw drain.signal.reason;
    return { exitCode, report: present<Report>(report, 'a run has a report') };
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

async function start(
  job: string | JobDefinition,
  { env: given = process.env, apiKey: ownKey, date: day, fresh = false }: RunJobOptions,
  drain: AbortSignal,
  emit: (event: JobEvent) => void,
): Promise<ExitCode> {
  const env = ownKey === undefined ? given : { ...given, MILLRACE_API_KEY: ownKey, MILLRACE_API_KEY_FILE: '' };
  const { compileJob, loadJobFile } = await import('../definition/compile-job.ts');
  const { loadDefinitions } = await import('../definition/load-definitions.ts');
  const { compileRunOptions } = await import('../definition/run-options.ts');
  const flags = new Map<string, string | boolean>();
  if (day !== undefined) flags.set('date', day);
  if (fresh) flags.set('fresh', true);
  const { options, date } = compileRunOptions(env, flags, ['date', 'fresh', 'scratch', 'monitor']);
  const file: JobFile = typeof job === 'string' ? await loadJobFile(job) : fileOf(job);
  const { job: compiled, warnings } = compileJob({
    file,
    env,
    flags: new Map(),
    date,
    now: new Date(),
    definitions: await loadDefinitions({ file, env, flags: new Map() }),
  });
  if (compiled.output.uri === '-' || compiled.input.uris.includes('-'))
    throw new ConfigError('stream_in_library', 'a job that a program runs cannot use standard input or output', { hint: 'Name a file.' });
  const warn = (message: string): void => emit({ type: 'warning', code: 'definition', message });
  for (const warning of warnings) warn(warning);
  const { openAccess, readKeys } = await import('./provider-access.ts');
  const keys = await readKeys(compiled, env, warn);
  const { readWebhookSecret } = await import('../job/notify/webhook-secret.ts');
  const webhookSecret = await readWebhookSecret(compiled, env);
  const [{ runCommand }, { eventReporter }] = await Promise.all([import('../job/commands/run-command.ts'), import('./event-reporter.ts')]);
  const { access, close } = await openAccess(compiled, keys);
  try {
    const signals = { drain, abort: new AbortController().signal };
    const reporter = eventReporter(emit);
    return await runCommand(compiled, options, { access, signals, command: 'runJob', webhookSecret, env, reporter });
  } finally {
    await close();
  }
}

/** A definition as if it was read from a file. A key that is `undefined` counts as left out. */
function fileOf(job: JobDefinition): JobFile {
  return { path: 'the job', name: null, value: JSON.parse(JSON.stringify(job)) as unknown };
}
