/** The files a job owns, all named after its output. */
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { temporaryOf } from '../checkpoint/fence.ts';
import { partialPath } from '../writer/partial-file.ts';
import type { CompiledJob, RunOptions } from './types.ts';

export interface JobPaths {
  readonly output: string;
  readonly errors: string;
  readonly report: string;
  readonly checkpoint: string;
  readonly lock: string;
  readonly ledger: string;
  /** Where standard input is kept while the job needs it. */
  readonly spool: string;
  /** Where it arrives: it takes the spool's name only once the run is sure to go on with it. */
  readonly arriving: string;
}

/** Everything absolute. For `--output -` only ledger and spool mean anything. */
export function jobPaths(job: CompiledJob, options: Pick<RunOptions, 'scratch'>): JobPaths {
  const output = resolve(job.output.uri);
  const ledger = resolve(job.ledger.uri);
  const checkpoint = resolve(job.checkpoint.uri);
  const scratch = options.scratch === null ? (job.output.uri === '-' ? tmpdir() : dirname(ledger)) : resolve(options.scratch);
  const id = createHash('sha256').update(`${job.name}\n${output}`).digest('hex').slice(0, 12);
  const spool = join(scratch, `.millrace-stdin-${id}`);
  return {
    output,
    errors: `${output}.errors.jsonl`,
    report: `${output}.report.json`,
    checkpoint,
    lock: `${checkpoint}.lock`,
    ledger,
    spool,
    arriving: `${spool}.new`,
  };
}

/** Files of the job that take their names by a rename, or have a temporary file beside them for another reason. */
export function renamedFiles(paths: JobPaths): string[] {
  return [paths.output, partialPath(paths.output), paths.errors, partialPath(paths.errors), paths.report, paths.checkpoint, paths.spool];
}

/** Tells the job's own files, which its input glob must never match. */
export function ownFiles(paths: JobPaths): (absolutePath: string) => boolean {
  const own = new Set([paths.output, paths.errors, paths.report, paths.checkpoint, paths.lock, paths.ledger, paths.spool]);
  const prefixes = [paths.report, paths.checkpoint, paths.lock, paths.ledger, paths.spool].map((path) => `${path}.`);
  for (const path of [paths.output, paths.errors]) own.add(partialPath(path));
  for (const suffix of ['-wal', '-shm', '-journal']) own.add(`${paths.ledger}${suffix}`);
  for (const suffix of ['', '.tmp']) own.add(`${paths.output}.report.html${suffix}`);
  return (path) => own.has(path) || own.has(temporaryOf(path) ?? '') || prefixes.some((prefix) => path.startsWith(prefix));
}
