/** Runs whose nth system call of a kind fails, on the job's own files: strace(1) plays the disk. */
import { readFile } from 'node:fs/promises';
import type { Ended, Folder } from '../support/cli.ts';

export interface Fault {
  readonly call: string;
  readonly error: string;
  /** From 1, counted in each thread. */
  readonly nth: number;
}

export interface Faulted extends Ended {
  /** How often the fault was met: by SQLite, which works on the main thread, and by all else. */
  readonly met: { readonly ledger: number; readonly others: number };
}

/** The job's folder, its input, and everything that it writes. */
const FILES = ['', 'in.csv', ...['', '.partial', '.errors.jsonl', '.errors.jsonl.partial', '.checkpoint.json', '.checkpoint.json.tmp', '.checkpoint.json.lock', '.ledger', '.ledger-wal', '.ledger-shm', '.report.json', '.report.json.tmp', '.report.html'].map((end) => `out.csv${end}`)];

export async function runWithFault(folder: Folder, args: readonly string[], { call, error, nth }: Fault): Promise<Faulted> {
  const paths = FILES.flatMap((name) => ['-P', folder.at(name).replace(/\/$/, '')]);
  // -D: the run is our own child, and its main thread has that number.
  const through = ['strace', '-D', '-f', '-qq', '--seccomp-bpf', '-o', 'trace', '-e', `trace=${call}`, '-e', `inject=${call}:error=${error}:when=${nth}`, ...paths];
  // With one thread beside the main one, the nth call is the same call each time.
  const run = folder.start(args, { through, env: { UV_THREADPOOL_SIZE: '1' } });
  const ended = await run.ended;
  const injected = (await readFile(folder.at('trace'), 'utf8')).split('\n').filter((line) => line.endsWith('(INJECTED)'));
  // A lock that cannot be let go of at the end is a dead run's, and costs nothing.
  const threads = injected.filter((line) => !/ rename\(.*\.lock"/.test(line)).map((line) => Number(line.split(' ')[0]));
  const ledger = threads.filter((thread) => thread === run.child.pid).length;
  return { ...ended, met: { ledger, others: threads.length - ledger } };
}
