/** The flags of one execution: fresh, date, scratch, progress, log level; each with its variable. */
import type { ConfigError, UsageError } from '../../errors.ts';
import type { RunOptions } from '../types.ts';
import { RUN_FLAGS, variableOf } from './flags.ts';
import type { FlagValue } from './layers.ts';
import { repeated, valueless } from './layers.ts';
import { nameOf, refusal, show } from './origin.ts';
import type { Origin } from './origin.ts';
import { dateNamedBy } from './run-date.ts';

export const PROGRESS = ['auto', 'bar', 'log', 'none'] as const;
/** Pino's levels. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** What each run flag takes, for messages and docs. */
export const RUN_FLAG_NOTES: Readonly<Record<string, { expected: string; default: string; description: string }>> = {
  fresh: { expected: 'true or false', default: 'false', description: 'Start over instead of resuming; the ledger is kept, so nothing is paid twice.' },
  date: { expected: "a day written YYYY-MM-DD, or the name of a Kubernetes Job that ends in its day or its CronJob's minute", default: 'today (UTC)', description: 'What {date} stands for.' },
  scratch: { expected: 'a folder', default: 'beside the ledger, else the temporary directory', description: 'Where state that grows with the input is kept.' },
  progress: { expected: PROGRESS.join(', '), default: 'auto', description: 'auto: a bar on a terminal, log lines otherwise.' },
  'log-level': { expected: LOG_LEVELS.join(', '), default: 'info', description: 'The least severe log line to write.' },
};

/**
 * Run options and the date, flags before environment. `flags` holds the run's flags only.
 * Throws UsageError (64) for flags and ConfigError (78) for variables.
 */
export function compileRunOptions(env: NodeJS.ProcessEnv, flags: ReadonlyMap<string, FlagValue>): { options: RunOptions; date: string | null } {
  const given = new Map<string, { value: string; origin: Origin }>();
  for (const flag of RUN_FLAGS) {
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
  return {
    options: {
      fresh: oneOf('fresh', ['true', 'false'], 'false') === 'true',
      scratch: given.get('scratch')?.value ?? null,
      progress: oneOf('progress', PROGRESS, 'auto'),
      logLevel: oneOf('log-level', LOG_LEVELS, 'info'),
    },
    date,
  };
}

function bad(flag: string, entry: { value: string; origin: Origin }): UsageError | ConfigError {
  const notes = RUN_FLAG_NOTES[flag];
  const several = flag === 'progress' || flag === 'log-level' ? 'one of ' : '';
  return refusal(entry.origin, flag === 'date' ? 'bad_date' : 'bad_value', `${nameOf(entry.origin)} must be ${several}${notes?.expected}, got ${show(entry.value)}`, notes?.description);
}
