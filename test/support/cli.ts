/** The real command as a process, in a folder of its own. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandHere } from './command-here.ts';
import { API_KEY } from './scripted-service.ts';

/** The build; `npm test` makes it first. */
export const CLI = fileURLToPath(new URL('../../dist/cli/millrace.js', import.meta.url));

/**
 * The build bundled into few files, which start sooner (test/services/bundle.ts). Tests start this one; tests of the build itself start
 * `CLI`.
 */
export const BUNDLE = fileURLToPath(new URL('../../node_modules/.cache/millrace/millrace.js', import.meta.url));

/**
 * With this heap size, a run does not restart Node to set it (src/cli/heap.ts), which saves a start for each of a thousand. `NODE_OPTIONS:
 * ''` keeps the restart.
 */
export const SEMI_SPACES = '--max-semi-space-size=16';

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  kill(signal: NodeJS.Signals): void;
  /** Standard output so far. */
  stdout(): string;
  /** Standard error so far. */
  stderr(): string;
  /** Resolves when standard error or output contains the text; rejects when the process ends without it. */
  says(text: string | RegExp): Promise<void>;
}

export interface RunOptions {
  /** Default: the folder itself. */
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  /** Piped into standard input; empty when left out. */
  readonly stdin?: string | Buffer;
  /** Leaves standard input open until the test ends it. */
  readonly keepStdin?: boolean;
  /** The program to start instead of the command. */
  readonly program?: readonly string[];
  /** A command that runs it, such as `strace -f`. */
  readonly through?: readonly string[];
}

/** A folder of its own, and the processes in it. */
export class Folder {
  readonly path: string;
  readonly #outputs: string[] = [];
  readonly #started: Started[] = [];

  private constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<Folder> {
    return new Folder(await mkdtemp(join(tmpdir(), 'millrace-e2e-')));
  }

  /** Ends all processes. Nothing changes in the folder after that. */
  async end(): Promise<void> {
    for (const { child } of this.#started) child.kill('SIGKILL');
    // A killed process may still write for a moment, and such a file would keep the folder.
    await Promise.allSettled(this.#started.map(({ ended }) => ended));
  }

  /** Ends all processes and removes the folder. */
  async remove(): Promise<void> {
    await this.end();
    await rm(this.path, { recursive: true, force: true });
  }

  at(...names: string[]): string {
    return join(this.path, ...names);
  }

  read(name: string): Promise<string> {
    return readFile(this.at(name), 'utf8');
  }

  async json(name: string): Promise<Record<string, unknown>> {
    return JSON.parse(await this.read(name)) as Record<string, unknown>;
  }

  /** The names of all files below, sorted. */
  async files(): Promise<string[]> {
    const found = await readdir(this.path, { recursive: true, withFileTypes: true });
    return found
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(this.path.length + 1))
      .sort();
  }

  start(
    args: readonly string[],
    { env = {}, stdin, keepStdin = false, program: started = [process.execPath, BUNDLE], through = [], cwd = this.path }: RunOptions = {},
  ): Started {
    const [program = '', ...words] = [...through, ...started, ...args];
    const child = spawn(program, words, {
      cwd,
      env: { ...cleanEnv(), MILLRACE_API_KEY: API_KEY, ...env },
      stdio: [stdin === undefined && !keepStdin ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    let isOver = false;
    const out = { stdout: '', stderr: '' };
    const listeners = new Set<() => void>();
    for (const name of ['stdout', 'stderr'] as const) {
      child[name]?.setEncoding('utf8').on('data', (text: string) => {
        out[name] += text;
        for (const listener of listeners) listener();
      });
    }
    child.stdin?.on('error', () => undefined);
    if (stdin !== undefined) child.stdin?.end(stdin);
    const ended = new Promise<Ended>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => {
        isOver = true;
        this.#outputs.push(out.stdout, out.stderr);
        resolve({ code, signal, ...out });
        for (const listener of listeners) listener();
      });
    });
    const says = (text: string | RegExp): Promise<void> =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = [out.stdout, out.stderr].some((output) => (typeof text === 'string' ? output.includes(text) : text.test(output)));
          // Output of an ended process may still be on its way.
          if (!found && !isOver) return;
          listeners.delete(look);
          if (found) resolve();
          else reject(new Error(`it ended with ${child.exitCode ?? child.signalCode} and never said ${text}\n${out.stderr}`));
        };
        listeners.add(look);
        look();
      });
    const run: Started = { child, ended, kill: (signal) => child.kill(signal), stdout: () => out.stdout, stderr: () => out.stderr, says };
    this.#started.push(run);
    return run;
  }

  /** Runs the command to its end, in this process unless it needs its own. To test a process, or two at once, use `start(...).ended`. */
  async run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
    const { env = {}, stdin = '', cwd = this.path } = options;
    if (needsProcess(args, options)) return this.start(args, options).ended;
    const { stdout, stderr, code } = await commandHere(args, { cwd, stdin, env: { ...cleanEnv(), MILLRACE_API_KEY: API_KEY, ...env } });
    this.#outputs.push(stdout, stderr);
    return { code, signal: null, stdout, stderr };
  }

  /** Files and outputs that contain the API key. */
  async secrets(): Promise<string[]> {
    const key = Buffer.from(API_KEY);
    const found = this.#outputs.filter((text) => text.includes(API_KEY));
    for (const name of await this.files()) if ((await readFile(this.at(name))).includes(key)) found.push(name);
    return found;
  }
}

/**
 * True when the command needs a process of its own: another program, a variable that is read once, the shared S3 client, a log that
 * bypasses the streams.
 */
function needsProcess(args: readonly string[], { env = {}, program, through, keepStdin = false }: RunOptions): boolean {
  const logs = ['run', 'retry', 'serve'].includes(args[0] ?? '') && !['none', 'bar'].includes(args[args.indexOf('--progress') + 1] ?? '');
  return (
    program !== undefined ||
    through !== undefined ||
    keepStdin ||
    logs ||
    Object.keys(env).some((name) => !name.startsWith('MILLRACE_')) ||
    args.some((arg) => arg.includes('s3://'))
  );
}

/** An environment without the machine's settings. */
function cleanEnv(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(MILLRACE_|HTTPS?_PROXY$|ALL_PROXY$|NODE_OPTIONS$)/i.test(name));
  // Tests read the log as objects.
  return { ...Object.fromEntries(kept), NODE_OPTIONS: SEMI_SPACES, MILLRACE_LOG_FORMAT: 'json' };
}
