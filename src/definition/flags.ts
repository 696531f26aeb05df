/**
 * The short flags and command-line names that the help shows. Plain data without zod, so that `millrace --help` does not load the schema. A
 * test compares it with the schema.
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

/** Flags that one letter stands for: `-i leads.csv -o enriched.csv`. */
export const LETTERS: Readonly<Record<string, string>> = { input: 'i', output: 'o' };

/** Flags without a value: `--embedded` alone is true, `--no-embedded` and `--embedded=false` are false. */
export const SWITCHES: readonly string[] = [
  'embedded',
  'input.header',
  'output.escapeFormulas',
  'output.bom',
  'limits.trustMisses',
  'alerts.sameInput',
];

/** Flags of one execution. They do not belong to the job, so a job file does not know them. */
export const RUN_FLAGS: readonly string[] = ['fresh', 'date', 'shard', 'scratch', 'progress', 'monitor', 'log-level', 'log-format'];

/** Flags of a retry. It has nothing to start over, and the shards' outputs are joined by then. */
export const RETRY_FLAGS: readonly string[] = RUN_FLAGS.filter((flag) => flag !== 'fresh' && flag !== 'shard');

/** `checkpoint.everyMs` and `timeout-ms` as environment variables: `MILLRACE_CHECKPOINT_EVERY_MS`, `MILLRACE_TIMEOUT_MS`. */
export function variableOf(flag: string): string {
  const snake = flag.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').replaceAll(/[^A-Za-z0-9]+/g, '_');
  return `MILLRACE_${snake.toUpperCase()}`;
}
