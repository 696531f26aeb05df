/** The flags of one execution: fresh, date, shard, scratch, progress, monitor, log level; each with its variable. */
import type { ConfigError, UsageError } from '../util/errors.ts';
import { monitorAddress } from '../telemetry/listen-address.ts';
import type { RunOptions, Shard } from './compiled-job.ts';
import { RUN_FLAGS, variableOf } from './flags.ts';
import type { FlagValue } from './layers.ts';
import { repeated, valueless } from './layers.ts';
import { inHome } from './expand.ts';
import { didYouMean, nearest } from '../util/nearest.ts';
import { originName, refusal, show } from './origin.ts';
import type { Origin } from './origin.ts';
import { dateNamedBy, nearestDate } from './run-date.ts';

const PROGRESS = ['auto', 'bar', 'log', 'none'] as const;
/** Pino's levels. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
const LOG_FORMATS = ['plain', 'json'] as const;

/** The values of each run flag, for messages and docs. */
export const RUN_FLAG_NOTES: Readonly<Record<string, { expected: string; default: string; description: string }>> = {
  fresh: {
    expected: 'true or false',
    default: 'false',
    description:
      'Start over instead of resuming. Answers in the ledger are used again; failed lookups and unknown verdicts are asked again.',
  },
  date: {
    expected: "a day written YYYY-MM-DD, or the name of a Kubernetes Job that ends in its day or its CronJob's minute",
    default: 'today (UTC)',
    description: 'What {date} stands for.',
  },
  shard: {
    expected: 'I/N, counted from 0, such as 0/4',
    default: 'none; in an Indexed Job of Kubernetes `JOB_COMPLETION_INDEX` of `MILLRACE_SHARD_COUNT`',
    description: 'Which part of the job this process does, of how many: docs/shards.md.',
  },
  scratch: {
    expected: 'a folder',
    default: 'beside the ledger, else the temporary directory',
    description: 'Where state that grows with the input is kept.',
  },
  progress: {
    expected: PROGRESS.join(', '),
    default: 'auto',
    description: 'auto: a bar on a terminal, log lines otherwise. none: warnings and errors alone.',
  },
  monitor: {
    expected: 'a port, or HOST:PORT',
    default: '-',
    description:
      'Serve /healthz, /readyz, /metrics and a live page there. A port alone: ' +
      'on 127.0.0.1, in a pod of Kubernetes on every address; 0: any free one.',
  },
  'log-level': { expected: LOG_LEVELS.join(', '), default: 'info', description: 'The least severe log line to write.' },
  'log-format': { expected: LOG_FORMATS.join(', '), default: 'plain', description: 'plain: lines for people. json: one object a line.' },
};

/**
 * Run options and date; flags win over the environment. @param flags the run's flags only @param takes the flags that the command accepts,
 * whose variables are read too
 * @throws UsageError (64) for flags, ConfigError (78) for variables
 */
export function compileRunOptions(
  env: NodeJS.ProcessEnv,
  flags: ReadonlyMap<string, FlagValue>,
  takes: readonly string[] = RUN_FLAGS,
): { options: RunOptions; date: string | null } {
  const given = new Map<string, Given>();
  for (const flag of RUN_FLAGS.filter((flag) => takes.includes(flag))) {
    const variable = variableOf(flag);
    const text = env[variable];
    if (text !== undefined && text !== '') given.set(flag, { value: text, origin: { layer: 'env', variable } });
    const value = flags.get(flag);
    if (value === undefined) continue;
    if (Array.isArray(value)) throw repeated(flag);
    if (value === '' || (typeof value === 'boolean' && flag !== 'fresh')) throw valueless(flag, RUN_FLAG_NOTES[flag]?.expected ?? 'text');
    given.set(flag, { value: String(value), origin: { layer: 'flag', flag } });
  }
  const oneOf = <T extends string>(flag: string, allowed: readonly T[], fallback: T): T => {
    const entry = given.get(flag);
    if (entry === undefined) return fallback;
    const found = allowed.find((value) => value === entry.value);
    if (found === undefined) throw bad(flag, entry);
    return found;
  };
  const named = given.get('date');
  const date = named === undefined ? null : dateNamedBy(named.value);
  if (named !== undefined && date === null) throw bad('date', named);
  const scratch = given.get('scratch');
  const watched = given.get('monitor');
  const monitor = watched === undefined ? null : monitorAddress(watched.value, env);
  if (watched !== undefined && monitor === null) throw bad('monitor', watched);
  return {
    options: {
      shard: takes.includes('shard') ? shardOf(given.get('shard'), env) : null,
      fresh: oneOf('fresh', ['true', 'false'], 'false') === 'true',
      scratch: scratch === undefined ? null : inHome(scratch.value, scratch.origin, { env }),
      progress: oneOf('progress', PROGRESS, 'auto'),
      logLevel: oneOf('log-level', LOG_LEVELS, 'info'),
      logFormat: oneOf('log-format', LOG_FORMATS, 'plain'),
      monitor,
    },
    date,
  };
}

interface Given {
  readonly value: string;
  readonly origin: Origin;
}

/** More shards would take longer to join than to run. */
const MOST_SHARDS = 1_000;

/** The shard by flag or variable, else by the environment of an Indexed Job. One shard of one is the whole job: null. */
function shardOf(given: Given | undefined, env: NodeJS.ProcessEnv): Shard | null {
  const entry = given ?? indexed(env);
  if (entry === null) return null;
  const [, index, of] = /^(\d{1,4})\/(\d{1,4})$/.exec(entry.value)?.map(Number) ?? [];
  if (index === undefined || of === undefined || index >= of) throw bad('shard', entry);
  if (of > MOST_SHARDS)
    throw refusal(
      entry.origin,
      'bad_value',
      `${originName(entry.origin)}: ${of} shards are more than the ${MOST_SHARDS} that there may be`,
    );
  return of === 1 ? null : { index, of };
}

/** https://kubernetes.io/docs/concepts/workloads/controllers/job/#completion-mode: the index counts from 0. */
function indexed(env: NodeJS.ProcessEnv): Given | null {
  const [index = '', of = ''] = [env['JOB_COMPLETION_INDEX'], env[COUNT]];
  const origin: Origin = { layer: 'env', variable: COUNT };
  if (of === '') return null;
  if (index === '')
    throw refusal(
      origin,
      'no_shard',
      `${COUNT} says that there are ${show(of)} shards, and nothing says which of them this is`,
      'An Indexed Job of Kubernetes sets JOB_COMPLETION_INDEX; elsewhere say --shard I/N.',
    );
  return { value: `${index}/${of}`, origin };
}

const COUNT = 'MILLRACE_SHARD_COUNT';

/** The values of flags that take few. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  progress: PROGRESS,
  'log-level': LOG_LEVELS,
  'log-format': LOG_FORMATS,
  fresh: ['true', 'false'],
};

function bad(flag: string, entry: Given): UsageError | ConfigError {
  const notes = RUN_FLAG_NOTES[flag];
  const words = WORDS[flag] ?? [];
  const meant = flag === 'date' ? nearestDate(entry.value, new Date().toISOString().slice(0, 10)) : nearest(entry.value, words);
  const several = words.length > 2 ? 'one of ' : '';
  return refusal(
    entry.origin,
    flag === 'date' ? 'bad_date' : 'bad_value',
    `${originName(entry.origin)} must be ${several}${notes?.expected}, got ${show(entry.value)}${didYouMean(meant)}`,
    notes?.description,
  );
}
