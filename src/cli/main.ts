/** yargs: which command, which flags. Each command's module is loaded when it runs, and not for its help. */
import { readFile } from 'node:fs/promises';
import yargs from 'yargs';
import type { Argv, Options } from 'yargs';
import { UsageError } from '../util/errors.ts';
import type { ExitCode } from '../util/errors.ts';
import { LETTERS, RETRY_FLAGS, RUN_FLAGS, SHORT_FLAGS, SWITCHES } from '../definition/flags.ts';
import { didYouMean, nearest } from '../util/nearest.ts';
import { COMMAND_FLAGS, type CommandFlags, type CommandName } from './command-flags.ts';
import { fail, tolerateClosedPipes, watchForBugs } from './failure.ts';
import { HELP } from './help.ts';
import { checkArguments, toInvocation } from './invocation.ts';
import type { CompletedCommand } from './completion.ts';
import type { Invocation } from './invocation.ts';

type Run = (invocation: Invocation) => Promise<ExitCode>;

const value: Options = { type: 'string', nargs: 1 };
const flag: Options = { type: 'boolean' };
const JOB_OPTIONS = Object.fromEntries([
  ...Object.values(SHORT_FLAGS).map((name) => [name, LETTERS[name] === undefined ? value : { ...value, alias: LETTERS[name] }] as const),
  ...SWITCHES.map((name) => [name, flag] as const),
]);
const runOptions = (names: readonly string[]): Record<string, Options> => ({
  ...JOB_OPTIONS,
  ...Object.fromEntries(names.map((name) => [name, name === 'fresh' ? flag : value])),
});
const REPORT_OPTIONS = { ...JOB_OPTIONS, date: value, json: flag };
/** The flags of run that choose the service and its limits. */
const SERVICE_OPTIONS = Object.fromEntries(
  Object.entries(SHORT_FLAGS)
    .filter(([path]) => path.startsWith('service.') || path === 'limits.maxCalls')
    .map(([, name]) => [name, name === 'embedded' ? flag : value]),
);
/** yargs' options for the flags of these commands. */
const optionsOf = (...commands: CommandName[]): Record<string, Options> =>
  Object.fromEntries(
    commands.flatMap((command) => {
      const { values, switches }: CommandFlags = COMMAND_FLAGS[command];
      return [...values.map((name) => [name, value] as const), ...switches.map((name) => [name, flag] as const)];
    }),
  );

interface Command {
  readonly usage: string;
  /** Takes any number of keys to look up. They are not positionals of yargs, which would swallow a `-`. */
  readonly keys?: true;
  readonly options: Record<string, Options>;
  readonly load: () => Promise<Run>;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  run: { usage: 'run [JOB]', options: runOptions(RUN_FLAGS), load: async () => (await import('./commands/run.ts')).run },
  retry: { usage: 'retry [JOB]', options: runOptions(RETRY_FLAGS), load: async () => (await import('./commands/retry.ts')).retry },
  plan: { usage: 'plan [JOB]', options: { ...REPORT_OPTIONS, shard: value }, load: async () => (await import('./commands/plan.ts')).plan },
  status: {
    usage: 'status [JOB]',
    options: { ...REPORT_OPTIONS, watch: flag },
    load: async () => (await import('./commands/status.ts')).status,
  },
  init: { usage: 'init', keys: true, options: optionsOf('init'), load: async () => (await import('./commands/init.ts')).init },
  jobs: { usage: 'jobs', keys: true, options: optionsOf('jobs'), load: async () => (await import('./commands/jobs.ts')).jobs },
  completion: {
    usage: 'completion',
    keys: true,
    options: optionsOf('completion'),
    load: async () => {
      const [{ completion }, { KEYS }] = await Promise.all([import('./commands/completion.ts'), import('../definition/keys.ts')]);
      const keys = KEYS.map((key) => key.flag);
      return async (invocation) => completion(invocation, completedCommands(keys));
    },
  },
  ledger: {
    usage: 'ledger [ACTION] [JOB]',
    options: { ...REPORT_OPTIONS, email: value, 'older-than': value },
    load: async () => (await import('./commands/ledger.ts')).ledger,
  },
  serve: {
    usage: 'serve',
    options: optionsOf('serve'),
    load: async () => (await import('./commands/serve.ts')).serveFromFlags,
  },
  enrich: {
    usage: 'enrich',
    keys: true,
    options: { ...SERVICE_OPTIONS, json: flag },
    load: async () => (await import('./commands/enrich.ts')).enrich,
  },
  import: {
    usage: 'import',
    keys: true,
    options: optionsOf('import'),
    load: async () => (await import('./commands/import.ts')).importFilesCommand,
  },
  export: {
    usage: 'export',
    options: optionsOf('export'),
    load: async () => (await import('./commands/export.ts')).exportStore,
  },
  suppress: {
    usage: 'suppress',
    keys: true,
    options: optionsOf('suppress'),
    load: async () => (await import('./commands/suppress.ts')).suppressPeople,
  },
  check: {
    usage: 'check',
    options: optionsOf('check'),
    load: async () => (await import('./commands/check.ts')).check,
  },
  provider: {
    usage: 'provider',
    keys: true,
    options: optionsOf('provider check', 'provider new'),
    load: async () => (await import('./commands/provider.ts')).provider,
  },
  keys: {
    usage: 'keys [ACTION] [JOB]',
    options: optionsOf('keys create', 'keys list', 'keys update', 'keys rotate', 'keys revoke'),
    load: async () => (await import('./commands/keys.ts')).keys,
  },
  verify: {
    usage: 'verify',
    keys: true,
    options: { ...SERVICE_OPTIONS, ...optionsOf('verify --local') },
    load: async () => (await import('./commands/verify.ts')).verify,
  },
};

/** Commands that take every key of a job as a flag. */
const JOB_COMMANDS: ReadonlySet<string> = new Set(['run', 'plan', 'status', 'retry']);
/** Words that follow a command. */
const ACTIONS: Readonly<Record<string, readonly string[]>> = {
  ledger: ['stats', 'purge'],
  keys: ['create', 'list', 'update', 'rotate', 'revoke'],
  provider: ['check', 'new'],
  completion: ['bash', 'zsh', 'fish'],
};

/** The commands as a shell completes them. @param keys the flags of all keys of a job */
function completedCommands(keys: readonly string[]): CompletedCommand[] {
  return Object.entries(COMMANDS).map(([name, { options }]) => ({
    name,
    flags: [...new Set([...Object.keys(options), ...(JOB_COMMANDS.has(name) ? keys : []), 'help'])],
    actions: ACTIONS[name] ?? [],
  }));
}

/** Runs the command line (without node and the script); sets the exit code and returns when all is closed. */
export async function main(argv: readonly string[]): Promise<void> {
  watchForBugs();
  tolerateClosedPipes();
  try {
    checkArguments(argv);
    await parser(argv).parseAsync();
  } catch (error) {
    fail(asUsageError(error));
  }
}

function parser(argv: readonly string[]): Argv {
  const program = yargs([...argv])
    .scriptName('millrace')
    .parserConfiguration({
      // --input X --input.columns.email Y are two flags, not a flag and its member.
      'dot-notation': false,
      'camel-case-expansion': false,
      'parse-numbers': false,
      'parse-positional-numbers': false,
    })
    .locale('en')
    .help(false)
    .version(false)
    .option('help', { alias: 'h', type: 'boolean' })
    .exitProcess(false)
    .fail(false);
  for (const [name, command] of Object.entries(COMMANDS)) {
    program.command(
      command.usage,
      name,
      (options) => options.options(command.options),
      async (parsed) => {
        if (parsed['help'] === true) return print(HELP[name] ?? '');
        const run = await command.load();
        process.exitCode = await run(toInvocation(parsed, process.env, command.keys === true));
      },
    );
  }
  return program.command('$0', 'help', (options) => options, withoutCommand);
}

/** `millrace` alone, `--help`, `--version`, and unknown commands. */
async function withoutCommand(parsed: Readonly<Record<string, unknown>>): Promise<void> {
  const word = (parsed['_'] as readonly unknown[])[0];
  if (typeof word === 'string' && word !== 'help') throw unknownCommand(word);
  if (parsed['version'] === true) return print(await version());
  const stray = Object.keys(parsed).find((name) => !['_', '$0', 'help', 'h'].includes(name));
  if (stray !== undefined) {
    throw new UsageError('unknown_command', `--${stray} needs a command before it`, {
      hint: 'Such as: millrace run --input leads.csv --output enriched.csv --embedded',
    });
  }
  return print(HELP[''] ?? '');
}

function unknownCommand(word: string): UsageError {
  const shown = JSON.stringify(word.slice(0, 80));
  return new UsageError('unknown_command', `There is no command ${shown}${didYouMean(nearest(word, Object.keys(COMMANDS)))}`, {
    hint: `To run a job of that name: millrace run ${word.slice(0, 80)}`,
  });
}

/** An error of yargs, which is about a flag without a value, as a UsageError. */
function asUsageError(error: unknown): unknown {
  if (!(error instanceof Error) || error.name !== 'YError') return error;
  const name = /^Not enough arguments following: (.+)$/.exec(error.message)?.[1];
  if (name === undefined) return new UsageError('bad_usage', error.message);
  return new UsageError('missing_value', `--${name} needs a value`, {
    hint: `Write --${name} VALUE, or --${name}=VALUE where it begins with a dash.`,
  });
}

async function version(): Promise<string> {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
