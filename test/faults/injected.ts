/** Makes the nth system call of a kind on the job's own files fail, with strace(1). */
import { readFile } from 'node:fs/promises';
import type { Ended, Folder } from '../support/cli.ts';

export interface Fault {
  readonly call: string;
  readonly error: string;
  /** From 1, counted in each thread. */
  readonly nth: number;
}

export interface Faulted extends Ended {
  /** The number of injected failures: in SQLite on the main thread, and in all other threads. */
  readonly met: { readonly ledger: number; readonly others: number };
}

/** The job's folder, its input, and every file that it writes. */
const FILES = [
  '',
  'in.csv',
  ...[
    '',
    '.partial',
    '.errors.jsonl',
    '.errors.jsonl.partial',
    '.checkpoint.json',
    '.checkpoint.json.tmp',
    '.checkpoint.json.lock',
    '.ledger',
    '.ledger-wal',
    '.ledger-shm',
    '.report.json',
    '.report.json.tmp',
    '.report.html',
  ].map((end) => `out.csv${end}`),
];

export async function runWithFault(folder: Folder, args: readonly string[], { call, error, nth }: Fault): Promise<Faulted> {
  const paths = FILES.flatMap((name) => ['-P', folder.at(name).replace(/\/$/, '')]);
  // With -D the run is a direct child, and its main thread has the child's id.
  const through = [
    'strace',
    '-D',
    '-f',
    '-qq',
    '--seccomp-bpf',
    '-o',
    'trace',
    '-e',
    `trace=${call}`,
    '-e',
    `inject=${call}:error=${error}:when=${nth}`,
    ...paths,
  ];
  // With one worker thread, the nth call is the same call each time.
  const run = folder.start(args, { through, env: { UV_THREADPOOL_SIZE: '1' } });
  const ended = await run.ended;
  const injected = (await readFile(folder.at('trace'), 'utf8')).split('\n').filter((line) => line.endsWith('(INJECTED)'));
  // A lock that cannot be removed at the end counts as a dead run's, and does no harm.
  const threads = injected.filter((line) => !/ rename\(.*\.lock"/.test(line)).map((line) => Number(line.split(' ')[0]));
  const ledger = threads.filter((thread) => thread === run.child.pid).length;
  return { ...ended, met: { ledger, others: threads.length - ledger } };
}
