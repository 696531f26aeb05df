/**
 * The short flags and the names of the command line that the help shows. Plain data, without zod, so that
 * `millrace --help` need not load the schema; a test holds it against the schema.
 */

/** Keys of a job file whose flag is short. A listed flag replaces its dotted form. */
export const SHORT_FLAGS: Readonly<Record<string, string>> = {
  'input.uri': 'input',
  'output.uri': 'output',
  steps: 'steps',
  'service.baseUrl': 'base-url',
  'service.region': 'region',
  'service.embedded': 'embedded',
  'service.plan': 'plan',
  'service.rpm': 'rpm',
  'service.concurrency': 'concurrency',
  'service.timeoutMs': 'timeout-ms',
  'checkpoint.uri': 'checkpoint',
  'ledger.uri': 'ledger',
  'limits.maxCalls': 'max-calls',
  'limits.maxErrors': 'max-errors',
  'limits.limit': 'limit',
};

/** Flags that need no value: `--embedded` alone is true, `--no-embedded` and `--embedded=false` are false. */
export const SWITCHES: readonly string[] = ['embedded', 'output.escapeFormulas', 'limits.trustMisses'];

/** Flags of one execution: they are no part of the job, so a job file does not know them. */
export const RUN_FLAGS: readonly string[] = ['fresh', 'date', 'shard', 'scratch', 'progress', 'monitor', 'log-level'];

/** Those of a retry, which has nothing to start over, and no shards: what these have written is one output by then. */
export const RETRY_FLAGS: readonly string[] = RUN_FLAGS.filter((flag) => flag !== 'fresh' && flag !== 'shard');

/** `checkpoint.everyMs` and `timeout-ms` as environment variables: `MILLRACE_CHECKPOINT_EVERY_MS`, `MILLRACE_TIMEOUT_MS`. */
export function variableOf(flag: string): string {
  const snake = flag.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').replaceAll(/[^A-Za-z0-9]+/g, '_');
  return `MILLRACE_${snake.toUpperCase()}`;
}
