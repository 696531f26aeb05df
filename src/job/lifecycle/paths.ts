/** The files a job owns, all named after its output. */
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { temporaryOf } from '../../storage/fence.ts';
import { sideFilePath, splitPath } from '../../definition/output-shape.ts';
import { VERDICTS } from '../../steps/verify.ts';
import { isShared, ledgerLocation, type LedgerLocation } from '../../definition/ledger-location.ts';
import { withoutSecret } from '../../redis/uri.ts';
import { isS3Uri } from '../../s3/uri.ts';
import { partialPath, partOf } from '../../storage/names.ts';
import { ROW_FILES } from '../../writer/row-files.ts';
import type { CompiledJob, RunOptions } from '../../definition/compiled-job.ts';

export interface JobPaths {
  readonly output: string;
  readonly errors: string;
  /** Rows that lack a field because a provider gave no answer. */
  readonly open: string;
  readonly report: string;
  /** The report as a page. */
  readonly reportPage: string;
  readonly checkpoint: string;
  /** With `output.split`: the file of each verdict. */
  readonly splits: readonly string[];
  /** The completion marker; null when the job wants none. */
  readonly marker: string | null;
  readonly lock: string;
  /** The shard plan, while the job runs in shards. */
  readonly shards: string;
  /** The ledger's file; for a shared ledger, the working file on this machine. */
  readonly ledger: string;
  /** The uri of a shared ledger, without its secret; null when the ledger is a file. */
  readonly sharedLedger: string | null;
  /** The copy of standard input, while the job needs it. */
  readonly spool: string;
  /** The copy while it arrives. It takes the spool's name once the run is sure to use it. */
  readonly arriving: string;
}

/** Between the name of a job's output or checkpoint and the number of a shard. */
export const SHARD_MARK = '.shard-';

/** All paths are absolute, or `s3://` uris. For `--output -` only ledger and spool have a meaning. */
export function jobPaths(job: CompiledJob, options: Pick<RunOptions, 'scratch'>): JobPaths {
  const output = absolute(job.output.uri);
  const checkpoint = absolute(job.checkpoint.uri);
  const id = createHash('sha256').update(`${job.name}\n${output}`).digest('hex').slice(0, 12);
  const ledger = ledgerFile(job, options, id);
  const scratch = options.scratch === null ? (job.output.uri === '-' ? tmpdir() : dirname(ledger)) : resolve(options.scratch);
  const spool = join(scratch, `.millrace-stdin-${id}`);
  return {
    output,
    errors: sideFilePath(output, 'errors'),
    open: sideFilePath(output, 'open'),
    report: reportPath(job.output.uri),
    reportPage: `${output}.report.html`,
    checkpoint,
    splits: job.output.split === null ? [] : VERDICTS.map((verdict) => splitPath(output, verdict)),
    marker: job.output.marker === null ? null : absolute(job.output.marker),
    lock: `${checkpoint}.lock`,
    shards: `${checkpoint}.shards`,
    ledger,
    sharedLedger: isShared(job.ledger.uri) ? withoutSecret(job.ledger.uri) : null,
    spool,
    arriving: `${spool}.new`,
  };
}

/** The path of the report about an output. */
export function reportPath(uri: string): string {
  return `${absolute(uri)}.report.json`;
}

/** Where the job's ledger is, and where a run works in it. */
export function jobLedger(job: CompiledJob, paths: JobPaths): LedgerLocation {
  return ledgerLocation(job.ledger.uri, paths.ledger);
}

/** Each job has its own working file of a shared ledger: it is emptied when the ledger was purged. */
function ledgerFile({ ledger: { uri } }: CompiledJob, { scratch }: Pick<RunOptions, 'scratch'>, id: string): string {
  if (!isShared(uri)) return resolve(uri);
  const ofLedger = createHash('sha256').update(withoutSecret(uri)).digest('hex').slice(0, 12);
  return join(scratch === null ? ownTemporaryFolder() : resolve(scratch), `.millrace-ledger-${id}-${ofLedger}`);
}

/** A folder for files that stay between runs and that other users must not read: see `makeOwnFolder`. */
export function ownTemporaryFolder(): string {
  return join(tmpdir(), `millrace-${process.getuid?.() ?? 'user'}`);
}

function absolute(uri: string): string {
  return isS3Uri(uri) ? uri : resolve(uri);
}

/** Files of the job that grow under another name until they are complete. */
export function growingFiles(paths: JobPaths): string[] {
  return [...ROW_FILES.map((which) => paths[which]), ...paths.splits];
}

/** Files of the job that take their names when they are complete. */
export function renamedFiles(paths: JobPaths): string[] {
  const marker = paths.marker === null ? [] : [paths.marker];
  return [
    paths.output,
    ...paths.splits,
    paths.errors,
    paths.open,
    paths.report,
    paths.reportPage,
    ...marker,
    paths.checkpoint,
    paths.spool,
  ];
}

/** Recognises the job's own files, which its input glob must never match. */
export function ownFiles(paths: JobPaths): (absolutePath: string) => boolean {
  const own = new Set([...renamedFiles(paths), paths.lock, paths.ledger]);
  const prefixes = [paths.report, paths.reportPage, paths.checkpoint, paths.lock, paths.ledger, paths.spool].map((path) => `${path}.`);
  if (paths.sharedLedger !== null) prefixes.push(`${paths.sharedLedger.replace(/\/+$/, '')}/`);
  for (const path of growingFiles(paths)) own.add(partialPath(path));
  for (const suffix of ['-wal', '-shm', '-journal']) own.add(`${paths.ledger}${suffix}`);
  return (path) =>
    own.has(path) ||
    own.has(temporaryOf(path) ?? partOf(path)?.finalPath ?? '') ||
    isShard(path, paths.output) ||
    prefixes.some((prefix) => path.startsWith(prefix));
}

/** True for the output of a shard, and for the files beside it. */
function isShard(path: string, output: string): boolean {
  const mark = `${output}${SHARD_MARK}`;
  return path.startsWith(mark) && /^\d+-of-\d+(?:\.|$)/.test(path.slice(mark.length));
}
