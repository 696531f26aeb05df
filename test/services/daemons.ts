/** Server processes of the tests: in one folder, on free ports, ended by their process ids. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { openSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);
/** Milliseconds. Ceph's tools take a second on an idle machine. */
const COMMAND_MS = 180_000;

/** A server that tests share. */
export interface Service {
  /** The facts that a test needs to use the server. */
  readonly facts: Readonly<Record<string, string>>;
  end(): Promise<void>;
}

export class Daemons {
  readonly folder: string;
  readonly #running = new Map<string, ChildProcess>();

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async make(name: string): Promise<Daemons> {
    return new Daemons(await mkdtemp(join(tmpdir(), `millrace-${name}-`)));
  }

  at(name: string): string {
    return join(this.folder, name);
  }

  /** Runs a command to its end. @returns its standard output */
  async run(command: string, args: readonly string[]): Promise<string> {
    return (await execute(command, args, { cwd: this.folder, timeout: COMMAND_MS })).stdout;
  }

  /** Starts a server in the foreground; its output goes to `<name>.out`. It dies with this process. */
  start(name: string, command: string, args: readonly string[]): void {
    const out = openSync(this.at(`${name}.out`), 'a');
    this.#running.set(name, spawn('setpriv', ['--pdeathsig', 'KILL', command, ...args], { cwd: this.folder, stdio: ['ignore', out, out] }));
  }

  /** Resolves when the server accepts connections on its port. @throws with the server's output when it ends before */
  async listens(name: string, port: number): Promise<void> {
    for (;;) {
      if (await accepts(port)) return;
      const child = this.#running.get(name);
      if (child === undefined || child.exitCode !== null || child.signalCode !== null)
        throw new Error(`${name} ended: ${await readFile(this.at(`${name}.out`), 'utf8')}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async kill(name: string, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#running.get(name);
    this.#running.delete(name);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  /** Sends a signal to a server, which stays under control here. */
  signal(name: string, signal: NodeJS.Signals): void {
    this.#running.get(name)?.kill(signal);
  }

  /** Ends all servers and removes the folder. */
  async end(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((name) => this.kill(name)));
    await rm(this.folder, { recursive: true, force: true });
  }
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
