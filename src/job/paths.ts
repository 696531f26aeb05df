/** The files a job owns, all named after its output. */
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { temporaryOf } from '../checkpoint/fence.ts';
import { isS3Uri } from '../s3/uri.ts';
import { partialPath, partOf } from '../storage/names.ts';
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

/** Everything absolute, or an `s3://` uri. For `--output -` only ledger and spool mean anything. */
export function jobPaths(job: CompiledJob, options: Pick<RunOptions, 'scratch'>): JobPaths {
  const output = absolute(job.output.uri);
  const checkpoint = absolute(job.checkpoint.uri);
  const id = createHash('sha256').update(`${job.name}\n${output}`).digest('hex').slice(0, 12);
  const ledger = ledgerPath(job, options, id);
  const scratch = options.scratch === null ? (job.output.uri === '-' ? tmpdir() : dirname(ledger)) : resolve(options.scratch);
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

/** A ledger beside an output in S3 would lie there, too, and is kept on this machine instead. */
function ledgerPath(job: CompiledJob, { scratch }: Pick<RunOptions, 'scratch'>, id: string): string {
  return isS3Uri(job.ledger.uri) ? resolve(scratch ?? tmpdir(), `millrace-${id}.ledger`) : resolve(job.ledger.uri);
}

function absolute(uri: string): string {
  return isS3Uri(uri) ? uri : resolve(uri);
}

/** Files of the job that take their names when they are whole. */
export function namedFiles(paths: JobPaths): string[] {
  return [paths.output, paths.errors, paths.report, paths.checkpoint, paths.spool];
}

/** Tells the job's own files, which its input glob must never match. */
export function ownFiles(paths: JobPaths): (absolutePath: string) => boolean {
  const own = new Set([paths.output, paths.errors, paths.report, paths.checkpoint, paths.lock, paths.ledger, paths.spool]);
  const prefixes = [paths.report, paths.checkpoint, paths.lock, paths.ledger, paths.spool].map((path) => `${path}.`);
  for (const path of [paths.output, paths.errors]) own.add(partialPath(path));
  for (const suffix of ['-wal', '-shm', '-journal']) own.add(`${paths.ledger}${suffix}`);
  for (const suffix of ['', '.tmp']) own.add(`${paths.output}.report.html${suffix}`);
  return (path) => own.has(path) || own.has(temporaryOf(path) ?? partOf(path)?.finalPath ?? '') || prefixes.some((prefix) => path.startsWith(prefix));
}
