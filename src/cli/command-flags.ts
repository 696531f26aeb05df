/**
 * The flags of the commands that take no job: the one list from which yargs, the checks of each command and the test of the help read.
 * Flags of a job are in `src/definition/flags.ts`. Pure.
 */
export interface CommandFlags {
  /** Flags with a value. */
  readonly values: readonly string[];
  /** Flags without a value: `--json`, `--no-json`. */
  readonly switches: readonly string[];
}

/** How `serve` and `verify --local` verify mail from this machine. */
export const MAIL_FLAGS = ['dns-server', 'smtp-port', 'ehlo-name', 'mail-from'] as const;

export const COMMAND_FLAGS = {
  serve: {
    values: [
      'host',
      'port',
      'store',
      'region',
      'monitor',
      'log-level',
      'latency-ms',
      'latency-jitter-ms',
      'error-rate',
      'throttle-rate',
      'drop-rate',
      'hang-rate',
      'fault-seed',
      ...MAIL_FLAGS,
    ],
    switches: ['sample', 'development', 'take-over', 'smtp'],
  },
  init: { values: ['to'], switches: [] },
  jobs: { values: [], switches: ['json'] },
  completion: { values: [], switches: [] },
  import: {
    values: [
      'store',
      'companies',
      'contacts',
      'signals',
      'deliveries',
      'as-of',
      'rejected',
      'input.format',
      'input.delimiter',
      'input.encoding',
    ],
    switches: [],
  },
  export: { values: ['store', 'companies', 'contacts', 'signals', 'backup'], switches: ['sources', 'escape-formulas'] },
  suppress: { values: ['store'], switches: [] },
  check: { values: ['store', 'restore'], switches: ['rebuild', 'json'] },
  'keys create': { values: ['store', 'plan', 'region', 'credits', 'label'], switches: [] },
  'keys list': { values: ['store'], switches: ['json'] },
  'keys update': { values: ['store', 'plan', 'add-credits', 'label'], switches: [] },
  'keys rotate': { values: ['store', 'overlap'], switches: [] },
  'keys revoke': { values: ['store'], switches: [] },
  'provider check': { values: ['answers', 'operation', 'base-url'], switches: ['call', 'json'] },
  'provider new': { values: ['output', 'name', 'path'], switches: [] },
  'verify --local': { values: ['concurrency', 'verify.patienceMs', 'mode', ...MAIL_FLAGS], switches: ['local', 'json'] },
} as const satisfies Readonly<Record<string, CommandFlags>>;

export type CommandName = keyof typeof COMMAND_FLAGS;

/** All flags of one command. */
export function flagsOf(command: CommandName): readonly string[] {
  const { values, switches }: CommandFlags = COMMAND_FLAGS[command];
  return [...values, ...switches];
}
