/**
 * Runs the command in the test's own process: its `main` with a folder, an environment and streams of its own.
 * Starting Node and loading the command takes ten times as long as a small job. One command runs at a time, because a process has each of
 * these once.
 */
import { createRequire } from 'node:module';
import { PassThrough, Readable } from 'node:stream';

interface Main {
  readonly main: (argv: readonly string[]) => Promise<void>;
}

export interface CommandContext {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: string | Buffer;
}

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Events whose listeners the command never removes, because they last as long as its process. */
const UNTIL_EXIT = ['exit', 'uncaughtExceptionMonitor'] as const;

const require = createRequire(import.meta.url);
let last: Promise<unknown> = Promise.resolve();

/** Resolves when the command and all earlier ones have ended. */
export function commandHere(args: readonly string[], context: CommandContext): Promise<Outcome> {
  const mine = last.then(() => call(args, context));
  last = mine.catch(() => undefined);
  return mine;
}

async function call(args: readonly string[], { cwd, env, stdin }: CommandContext): Promise<Outcome> {
  // The bundle (test/services/bundle.ts) loads in a third of the time that the sources take.
  const { main } = require('../../node_modules/.cache/millrace/main.js') as Main;
  const [stdout, stderr] = [collected(), collected()];
  const before = {
    folder: process.cwd(),
    env: process.env,
    exitCode: process.exitCode,
    listeners: UNTIL_EXIT.map((name) => process.listeners(name as 'exit')),
  };
  const giveBack = replaced({
    stdin: Readable.from(stdin.length === 0 ? [] : [stdin], { objectMode: false }),
    stdout: stdout.stream,
    stderr: stderr.stream,
  });
  process.chdir(cwd);
  process.env = env;
  process.exitCode = undefined;
  try {
    await main(args);
    return { code: exitCode(), stdout: await stdout.text(), stderr: await stderr.text() };
  } finally {
    process.exitCode = before.exitCode;
    process.env = before.env;
    process.chdir(before.folder);
    giveBack();
    for (const [i, name] of UNTIL_EXIT.entries()) {
      for (const listener of process.listeners(name as 'exit'))
        if (before.listeners[i]?.includes(listener) !== true) process.off(name, listener);
    }
  }
}

function exitCode(): number {
  return Number(process.exitCode ?? 0);
}

function collected(): { readonly stream: PassThrough; text(): Promise<string> } {
  const stream = new PassThrough({ encoding: 'utf8' });
  let all = '';
  stream.on('data', (text: string) => {
    all += text;
  });
  const ended = new Promise<string>((resolve) => void stream.once('end', () => resolve(all)));
  return {
    stream,
    text: () => {
      stream.end();
      return ended;
    },
  };
}

/** Replaces standard streams until the returned function is called. */
function replaced(streams: Readonly<Record<'stdin' | 'stdout' | 'stderr', unknown>>): () => void {
  const before = Object.keys(streams).map((name) => [name, Object.getOwnPropertyDescriptor(process, name) as PropertyDescriptor] as const);
  for (const [name, value] of Object.entries(streams)) Object.defineProperty(process, name, { value, configurable: true });
  return () => {
    for (const [name, descriptor] of before) Object.defineProperty(process, name, descriptor);
  };
}
