import type { Checkpoint, Retry } from '../checkpoint/checkpoint-file.ts';
import type { InputManifest } from '../reader/types.ts';
import { rowFormat } from '../writer/row-format.ts';
import type { JobPaths } from './paths.ts';
import { retriedRecords, type FinishedFiles } from './retried-records.ts';
import type { RetryParts } from './job-parts.ts';
import type { CompiledJob } from './types.ts';
import { count } from './words.ts';

/** What a retry of this job does otherwise than a run. */
export function retryParts(job: CompiledJob, paths: JobPaths, manifest: InputManifest, { before: { result } }: Retry): RetryParts {
  const { compression, format } = job.output;
  const files: FinishedFiles = {
    output: { uri: job.output.uri, path: paths.output, size: result.bytes, digest: result.versions?.output ?? result.sha256, compression },
    errors: { uri: paths.errors, path: paths.errors, size: result.errorBytes, digest: result.versions?.errors ?? result.errorsSha256, compression: 'none' },
    delimited: format !== 'jsonl',
  };
  const rows = rowFormat(job, manifest);
  return { records: (from, signal) => retriedRecords(files, manifest, from, signal), rowOf: (record, result) => rows.row(record, result) };
}

export function retryWords({ mark }: Checkpoint, resumed: boolean): string {
  return `${resumed ? 'a retry was under way and goes on' : 'retrying'}: ${count(mark.tally.outcomes.failed)} records failed`;
}
