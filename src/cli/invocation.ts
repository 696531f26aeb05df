/** The parsed command line, and the checks that yargs leaves out. */
import { UsageError } from '../util/errors.ts';
import { LETTERS, SWITCHES } from '../definition/flags.ts';
import { COMMAND_FLAGS, type CommandFlags } from './command-flags.ts';
import type { FlagValue } from '../definition/layers.ts';

export interface Invocation {
  /** The word after the command, for commands that do several things. */
  readonly action: string | null;
  /** A path or a name (of `keys`: an id), or null. */
  readonly job: string | null;
  /** The keys that a command looks up. */
  readonly keys: readonly string[];
  /** By name as typed, without the leading `--`. */
  readonly flags: ReadonlyMap<string, FlagValue>;
  readonly env: NodeJS.ProcessEnv;
}

/** The switches that are no keys of a job. */
const OTHER_SWITCHES = ['fresh', 'json', 'watch', ...Object.values(COMMAND_FLAGS).flatMap(({ switches }: CommandFlags) => switches)];

/**
 * Refuses arguments that yargs misreads: a switch with a value other than true and false, which yargs takes for false, and names that every
 * JavaScript object has.
 * @throws UsageError
 */
export function checkArguments(argv: readonly string[]): void {
  for (const argument of argv) {
    if (argument === '--') return;
    const [, name = '', value] = /^--?([^=]+)(?:=(.*))?$/s.exec(argument) ?? [];
    if (name in Object.prototype) throw new UsageError('unknown_flag', `There is no flag --${name}`);
    if (value !== undefined && value !== 'true' && value !== 'false' && [...SWITCHES, ...OTHER_SWITCHES].includes(name)) {
      throw new UsageError('bad_value', `--${name} must be true or false, got ${JSON.stringify(value.slice(0, 80))}`, {
        hint: `--${name} alone is true, --no-${name} is false.`,
      });
    }
  }
}

/**
 * yargs' result as an invocation. Throws UsageError for arguments beyond the one that the command takes; with `takesKeys` it takes any
 * number.
 */
export function toInvocation(parsed: Readonly<Record<string, unknown>>, env: NodeJS.ProcessEnv, takesKeys: boolean): Invocation {
  const [, ...keys] = (parsed['_'] as readonly unknown[]).map(String);
  const [extra] = keys;
  if (extra !== undefined && !takesKeys) {
    throw new UsageError('extra_argument', `There is one argument too many: ${JSON.stringify(extra.slice(0, 80))}`, {
      hint: 'Files of data are given with --input, once for each. Quote names with spaces, and globs too: Millrace expands them itself.',
    });
  }
  const flags = new Map<string, FlagValue>();
  for (const [name, value] of Object.entries(parsed)) {
    if (['_', '$0', 'ACTION', 'JOB', 'help', 'h', ...Object.values(LETTERS)].includes(name)) continue;
    if (typeof value === 'string' || typeof value === 'boolean') flags.set(name, value);
    if (Array.isArray(value)) flags.set(name, value.map(String));
  }
  const word = (name: string): string | null => (typeof parsed[name] === 'string' ? parsed[name] : null);
  return { action: word('ACTION'), job: word('JOB'), keys, flags, env };
}
