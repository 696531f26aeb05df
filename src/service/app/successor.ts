/**
 * The process that takes the place of this one: the same command, as it is installed now, with the socket that this one listens on. Both
 * ends of their talk are here. It says `ready` once it is loaded and waits for the store, and `serving` once it answers.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { ConfigError } from '../../util/errors.ts';
import type { ServiceLog } from '../monitoring/log.ts';

/** The descriptor of the inherited socket, in the environment of a successor. */
const SOCKET_VARIABLE = 'MILLRACE_SOCKET_FD';
const INHERITED_FD = 3;

type Word = 'ready' | 'serving';

/** A successor that was started. Each promise resolves with false when the process ends without reporting that step. */
interface Started {
  readonly child: ChildProcess;
  readonly ready: Promise<boolean>;
  readonly serving: Promise<boolean>;
}

interface SuccessionOptions {
  /** Descriptor of the socket that this process listens on; null when the system has none to hand over. */
  readonly socket: number | null;
  /** The arguments of the command, without Node and the script. */
  readonly args: readonly string[];
  readonly log: ServiceLog;
}

/** At most one successor at a time. */
export class Succession {
  readonly #options: SuccessionOptions;
  readonly #ready = Promise.withResolvers<void>();
  #started: Started | null = null;
  #isReady = false;

  constructor(options: SuccessionOptions) {
    this.#options = options;
  }

  /** Starts a successor, unless one runs. A successor that ends before it is ready changes nothing. */
  begin(): void {
    const { socket, args, log } = this.#options;
    if (this.#started !== null) return;
    if (socket === null) {
      log.write('error', { event: 'successor_failed', error: 'the socket cannot be handed over on this system' });
      return;
    }
    const started = start(socket, args);
    this.#started = started;
    log.write('info', { event: 'successor_started', pid: started.child.pid ?? null });
    void started.ready.then((isReady) => {
      if (isReady) {
        this.#isReady = true;
        this.#ready.resolve();
      } else {
        this.#started = null;
        log.write('error', { event: 'successor_failed', error: 'it ended before it was ready; this process goes on' });
      }
    });
  }

  /** Resolves when a successor is loaded and waits for the store. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Once the store was let go of: whether the successor serves, or has ended without. */
  async serves(): Promise<boolean> {
    const { child, serving } = this.#started as Started;
    const isServing = await serving;
    if (child.connected) child.disconnect();
    child.unref();
    if (!isServing)
      this.#options.log.write('error', {
        event: 'successor_failed',
        error: 'it ended before it served; this process takes the store again',
      });
    return isServing;
  }

  /** Ends a successor that is not to take over after all. */
  stop(): void {
    this.#started?.child.kill('SIGTERM');
    this.#started?.child.unref();
    if (this.#started?.child.connected === true) this.#started.child.disconnect();
  }
}

function start(socket: number, args: readonly string[]): Started {
  const [program = process.execPath, script = ''] = process.argv;
  const child = spawn(program, [...process.execArgv, script, ...args], {
    stdio: ['inherit', 'inherit', 'inherit', socket, 'ipc'],
    env: { ...process.env, [SOCKET_VARIABLE]: String(INHERITED_FD) },
  });
  // Rejects when it cannot be started at all.
  const ended = once(child, 'exit').then(
    () => false,
    () => false,
  );
  const says = (word: Word): Promise<boolean> => {
    const said = Promise.withResolvers<boolean>();
    child.on('message', (message) => {
      if (message === word) said.resolve(true);
    });
    return Promise.race([said.promise, ended]);
  };
  return { child, ready: says('ready'), serving: says('serving') };
}

/** The way a process was started. */
export interface Inheritance {
  /** The descriptor of a socket that listens already, or null. */
  readonly socket: number | null;
  /** Systemd keeps the socket, and starts the next process on it. */
  readonly isKept: boolean;
  /** Tells the process whose place this one takes, if there is one. */
  readonly tell: (word: Word) => void;
  /** There is such a process. */
  readonly hasPredecessor: boolean;
}

export const NO_INHERITANCE: Inheritance = { socket: null, isKept: false, tell: () => undefined, hasPredecessor: false };

/**
 * Reads what the process was started with: by the one whose place it takes, or by systemd (sd_listen_fds(3)). Takes the variables away,
 * which are not for processes started from here.
 * @throws ConfigError when there are several sockets
 */
export function inherited(env: NodeJS.ProcessEnv): Inheritance {
  const own = env[SOCKET_VARIABLE];
  const activated = env['LISTEN_PID'] === String(process.pid) ? Number(env['LISTEN_FDS'] ?? 0) : 0;
  for (const name of [SOCKET_VARIABLE, 'LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES']) delete env[name];
  if (activated > 1)
    throw new ConfigError('several_sockets', `systemd passes ${activated} sockets, and the service listens on one`, {
      hint: 'Leave one ListenStream= in the .socket unit.',
    });
  if (own === undefined) return activated === 1 ? { ...NO_INHERITANCE, socket: INHERITED_FD, isKept: true } : NO_INHERITANCE;
  return { socket: Number(own), isKept: false, tell: tellPredecessor, hasPredecessor: true };
}

function tellPredecessor(word: Word): void {
  if (process.send === undefined || !process.connected) return;
  process.send(word, undefined, undefined, () => {
    // Nothing more is said.
    if (word === 'serving' && process.connected) process.disconnect();
  });
}
