/** The flags of one execution: fresh, date, scratch, progress, monitor, log level; each with its variable. */
import type { ConfigError, UsageError } from '../../errors.ts';
import type { MonitorAddress, RunOptions } from '../types.ts';
import { RUN_FLAGS, variableOf } from './flags.ts';
import type { FlagValue } from './layers.ts';
import { repeated, valueless } from './layers.ts';
import { nameOf, refusal, show } from './origin.ts';
import type { Origin } from './origin.ts';
import { dateNamedBy } from './run-date.ts';

export const PROGRESS = ['auto', 'bar', 'log', 'none'] as const;
/** Pino's levels. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

const LARGEST_PORT = 65_535;

/** What each run flag takes, for messages and docs. */
export const RUN_FLAG_NOTES: Readonly<Record<string, { expected: string; default: string; description: string }>> = {
  fresh: { expected: 'true or false', default: 'false', description: 'Start over instead of resuming; the ledger is kept, so nothing is paid twice.' },
  date: { expected: "a day written YYYY-MM-DD, or the name of a Kubernetes Job that ends in its day or its CronJob's minute", default: 'today (UTC)', description: 'What {date} stands for.' },
  scratch: { expected: 'a folder', default: 'beside the ledger, else the temporary directory', description: 'Where state that grows with the input is kept.' },
  progress: { expected: PROGRESS.join(', '), default: 'auto', description: 'auto: a bar on a terminal, log lines otherwise.' },
  monitor: { expected: 'a port, or HOST:PORT', default: '-', description: 'Serve /healthz, /readyz, /metrics and a live page there. A port alone: on 127.0.0.1, in a pod of Kubernetes on every address; 0: any free one.' },
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
  const watched = given.get('monitor');
  const monitor = watched === undefined ? null : monitorAddress(watched.value, env);
  if (watched !== undefined && monitor === null) throw bad('monitor', watched);
  return {
    options: {
      fresh: oneOf('fresh', ['true', 'false'], 'false') === 'true',
      scratch: given.get('scratch')?.value ?? null,
      progress: oneOf('progress', PROGRESS, 'auto'),
      logLevel: oneOf('log-level', LOG_LEVELS, 'info'),
      monitor,
    },
    date,
  };
}

/** Null: it is none. In a pod the kubelet and Prometheus come from outside; anywhere else nobody should who was not asked. */
function monitorAddress(text: string, env: NodeJS.ProcessEnv): MonitorAddress | null {
  const [, bracketed, plain, digits = ''] = /^(?:(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9.-]{1,253})):)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === '' || port > LARGEST_PORT) return null;
  const usual = (env['KUBERNETES_SERVICE_HOST'] ?? '') === '' ? '127.0.0.1' : null;
  return { host: bracketed ?? plain ?? usual, port };
}

function bad(flag: string, entry: { value: string; origin: Origin }): UsageError | ConfigError {
  const notes = RUN_FLAG_NOTES[flag];
  const several = flag === 'progress' || flag === 'log-level' ? 'one of ' : '';
  return refusal(entry.origin, flag === 'date' ? 'bad_date' : 'bad_value', `${nameOf(entry.origin)} must be ${several}${notes?.expected}, got ${show(entry.value)}`, notes?.description);
}
