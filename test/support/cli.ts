/** The real command as a process, in a folder of its own. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandHere } from './command-here.ts';
import { API_KEY } from './scripted-service.ts';

/** The build: `npm test` makes it first. */
export const CLI = fileURLToPath(new URL('../../dist/cli/millrace.js', import.meta.url));

/** The same in few files, which start sooner (test/services/bundle.ts): what is started here. Tests of the build itself start `CLI`. */
export const BUNDLE = fileURLToPath(new URL('../../node_modules/.cache/millrace/millrace.js', import.meta.url));

/** With the size given, a run does not start Node again to give it (src/cli/heap.ts): that is a start more for each of a thousand. `NODE_OPTIONS: ''` leaves the restart to the run. */
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
  /** What it has printed so far. */
  stdout(): string;
  /** What it has said on standard error so far. */
  stderr(): string;
  /** Resolves when standard error or output holds the text; rejects when the process ends without. */
  says(text: string | RegExp): Promise<void>;
}

export interface RunOptions {
  /** The working directory; default: the folder itself. */
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  /** What is piped in; nothing is given when left out. */
  readonly stdin?: string | Buffer;
  /** Standard input stays open: the test ends it. */
  readonly keepStdin?: boolean;
  /** What is started instead of the command. */
  readonly program?: readonly string[];
  /** The command that runs it, such as `strace -f`. */
  readonly through?: readonly string[];
}

/** A folder of its own, and what runs in it. */
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

  /** Ends what still runs; from then on nothing changes in the folder. */
  async end(): Promise<void> {
    for (const { child } of this.#started) child.kill('SIGKILL');
    // A signal is not waited for by whoever sends it, and a file that is written meanwhile would keep the folder.
    await Promise.allSettled(this.#started.map(({ ended }) => ended));
  }

  /** Ends what still runs, and removes the folder. */
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

  /** Names of all files below, sorted. */
  async files(): Promise<string[]> {
    const found = await readdir(this.path, { recursive: true, withFileTypes: true });
    return found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name).slice(this.path.length + 1)).sort();
  }

  start(args: readonly string[], { env = {}, stdin, keepStdin = false, program: started = [process.execPath, BUNDLE], through = [], cwd = this.path }: RunOptions = {}): Started {
    const [program = '', ...words] = [...through, ...started, ...args];
    const child = spawn(program, words, { cwd, env: { ...cleanEnv(), MILLRACE_API_KEY: API_KEY, ...env }, stdio: [stdin === undefined && !keepStdin ? 'ignore' : 'pipe', 'pipe', 'pipe'] });
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
          // One that has exited may have words on their way.
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

  /**
   * The command to its end: in this process, where nothing asks for one of its own. Where a process is what is tested, or two are to
   * run at once: `start(...).ended`.
   */
  async run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
    const { env = {}, stdin = '', cwd = this.path } = options;
    if (needsProcess(args, options)) return this.start(args, options).ended;
    const { stdout, stderr, code } = await commandHere(args, { cwd, stdin, env: { ...cleanEnv(), MILLRACE_API_KEY: API_KEY, ...env } });
    this.#outputs.push(stdout, stderr);
    return { code, signal: null, stdout, stderr };
  }

  /** Files and outputs that hold the API key. */
  async secrets(): Promise<string[]> {
    const key = Buffer.from(API_KEY);
    const found = this.#outputs.filter((text) => text.includes(API_KEY));
    for (const name of await this.files()) if ((await readFile(this.at(name))).includes(key)) found.push(name);
    return found;
  }
}

/** Whether it is given what only a process has: another program, a variable that may be read once alone, S3's one client, a log that is written past the streams. */
function needsProcess(args: readonly string[], { env = {}, program, through, keepStdin = false }: RunOptions): boolean {
  const logs = ['run', 'retry', 'serve'].includes(args[0] ?? '') && !['none', 'bar'].includes(args[args.indexOf('--progress') + 1] ?? '');
  return program !== undefined || through !== undefined || keepStdin || logs || Object.keys(env).some((name) => !name.startsWith('MILLRACE_')) || args.some((arg) => arg.includes('s3://'));
}

/** Nothing of the machine's own settings. */
function cleanEnv(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(MILLRACE_|HTTPS?_PROXY$|ALL_PROXY$|NODE_OPTIONS$)/i.test(name));
  return { ...Object.fromEntries(kept), NODE_OPTIONS: SEMI_SPACES };
}
