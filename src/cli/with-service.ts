/** Shared by commands that call the service: reads job and key, listens to signals, and starts an embedded service. */
import type { ExitCode } from '../util/errors.ts';
import { openAccess, readKeys } from '../library/provider-access.ts';
import type { CommandContext } from '../job/commands/run-command.ts';
import type { CompiledJob, RunOptions } from '../definition/compiled-job.ts';
import type { Invocation } from './invocation.ts';
import { readWebhookSecret } from '../job/notify/webhook-secret.ts';
import { commandLine } from './command-line.ts';
import { readJob } from './read-job.ts';
import { withStopSignals } from './signals.ts';

type Work = (job: CompiledJob, options: RunOptions, context: CommandContext) => Promise<ExitCode>;

/** Does the command's work with its job and a service; resolves with the exit code. `load` is called once the key is known. */
export async function withService(command: 'run' | 'retry', invocation: Invocation, load: () => Promise<Work>): Promise<ExitCode> {
  return withStopSignals(async (signals) => {
    const { job, options } = await readJob(command, invocation);
    // The keys first: without them there is no reason to load the rest.
    const isDetailed = options.logLevel === 'debug' || options.logLevel === 'trace';
    const keys = await readKeys(job, invocation.env, warn, isDetailed ? warn : undefined);
    const webhookSecret = await readWebhookSecret(job, invocation.env);
    const work = await load();
    const { access, close } = await openAccess(job, keys);
    try {
      return await work(job, options, {
        access,
        signals,
        command: commandLine(command, invocation),
        webhookSecret,
        env: invocation.env,
      });
    } finally {
      await close();
    }
  });
}

/** Writes a warning to standard error. */
export function warn(text: string): void {
  process.stderr.write(`millrace: ${text}\n`);
}
