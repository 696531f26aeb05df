/** Compiles the job and the run options of an invocation. Warnings go to standard error. */
import { compileJob, loadJobFile } from '../definition/compile-job.ts';
import { loadDefinitions } from '../definition/load-definitions.ts';
import { RETRY_FLAGS, RUN_FLAGS } from '../definition/flags.ts';
import { KEY_BY_FLAG } from '../definition/keys.ts';
import { unknownFlag } from '../definition/layers.ts';
import { compileRunOptions } from '../definition/run-options.ts';
import { ConfigError, UsageError } from '../util/errors.ts';
import type { CompiledJob, RunOptions } from '../definition/compiled-job.ts';
import type { FlagValue } from '../definition/layers.ts';
import type { Invocation } from './invocation.ts';

/** Flags that belong to a command and not to the job. `plan` and `status` take those of a run: replacing the command is enough. */
const OWN_FLAGS = {
  run: RUN_FLAGS,
  retry: RETRY_FLAGS,
  plan: [...RUN_FLAGS, 'json', 'match-rate'],
  status: [...RUN_FLAGS, 'json', 'watch'],
  'ledger stats': ['date', 'json'],
  'ledger purge': ['date', 'json', 'email', 'older-than'],
} as const;

interface ReadJob {
  readonly job: CompiledJob;
  readonly options: RunOptions;
  readonly json: boolean;
  /** `--watch` of `status`. */
  readonly watches: boolean;
  /** `--match-rate` of `plan`, 0 to 1; null without it. */
  readonly matchRate: number | null;
}

/** Throws UsageError (64) and ConfigError (78), as `compileJob` does. */
export async function readJob(command: keyof typeof OWN_FLAGS, invocation: Invocation): Promise<ReadJob> {
  const own: readonly string[] = OWN_FLAGS[command];
  const ownFlags = new Map<string, FlagValue>();
  const jobFlags = new Map<string, FlagValue>();
  for (const [flag, value] of invocation.flags) {
    if (!own.includes(flag) && (RUN_FLAGS.includes(flag) || ['json', 'match-rate', 'watch'].includes(flag))) throw elsewhere(flag, command);
    (own.includes(flag) ? ownFlags : jobFlags).set(flag, value);
  }
  for (const flag of jobFlags.keys()) {
    const known = flag.includes('.') || KEY_BY_FLAG.has(flag);
    if (!known) throw unknownFlag(flag, [...KEY_BY_FLAG.keys(), ...own]);
  }
  // A status is about the whole job: options of one run do not apply.
  const { options, date } = compileRunOptions(invocation.env, ownFlags, command === 'status' ? ['date'] : own);
  const file = invocation.job === null ? null : await loadJobFile(invocation.job);
  const layers = { file, env: invocation.env, flags: jobFlags };
  const { job, warnings } = compileJob({ ...layers, date, now: new Date(), definitions: await loadDefinitions(layers) });
  for (const warning of warnings) process.stderr.write(`millrace: ${warning}\n`);
  if (options.shard !== null) checkShardable(job, options, ownFlags.has('shard') ? UsageError : ConfigError);
  return {
    job,
    options,
    json: ownFlags.get('json') === true,
    watches: ownFlags.get('watch') === true,
    matchRate: matchRateOf(ownFlags.get('match-rate')),
  };
}

/** @throws UsageError */
function matchRateOf(value: FlagValue | undefined): number | null {
  if (value === undefined) return null;
  const percent = /^(100|\d{1,2}(?:\.\d{1,3})?)%$/.exec(String(value))?.[1];
  if (percent === undefined) throw new UsageError('bad_value', `--match-rate must be a share such as 60%, got ${JSON.stringify(value)}`);
  return Number(percent) / 100;
}

/** Refuses a job that several processes cannot share. */
function checkShardable(
  { input, output }: CompiledJob,
  { shard, fresh }: RunOptions,
  Refusal: typeof UsageError | typeof ConfigError,
): void {
  const stream = input.uris.includes('-') ? 'standard input' : output.uri === '-' ? 'standard output' : null;
  if (stream !== null)
    throw new Refusal('not_in_shards', `${stream} cannot be shared by several shards`, {
      hint: 'Name a file that all of them see, or leave --shard out.',
    });
  if (fresh && shard?.index !== 0)
    throw new Refusal('not_in_shards', '--fresh starts the whole job over, which shard 0 does for all', {
      hint: `Run shard 0 with --shard 0/${shard?.of} --fresh, then the others without --fresh.`,
    });
}

function elsewhere(flag: string, command: string): UsageError {
  const owner = flag === 'json' ? '`millrace plan`, `status` and `ledger`' : '`millrace run`';
  return new UsageError('unknown_flag', `--${flag} is a flag of ${owner}, not of \`millrace ${command}\``, { hint: 'Leave it out.' });
}
