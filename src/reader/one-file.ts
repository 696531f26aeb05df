/** Files one by one, each with a header of its own, for those who want every column and no key. */
import { InputError } from '../errors.ts';
import { checkHeader } from './columns.ts';
import { discover } from './discover.ts';
import { inspectFile, type InspectOptions } from './inspect.ts';
import { readRecords } from './read-records.ts';
import type { SourceFile } from './source.ts';
import type { InputManifest, InputRecord } from './types.ts';

export interface OneFile {
  /** As the user would name it. */
  readonly uri: string;
  /** Of csv and tsv; empty for jsonl. */
  readonly header: readonly string[];
  readonly batches: AsyncIterable<readonly InputRecord[]>;
}

/**
 * The files that a path, glob, directory or S3 uri means, in order of their names. What `shape` leaves open (null) is found out.
 * `-` is standard input, which the caller has kept (`spool`) in the file `kept`.
 * Throws InputError as `freezeInput` does, but for what it says of keys and of names that an output takes; StorageError when the disk fails.
 */
export async function* openFiles(uri: string, shape: Omit<InspectOptions, 'signal'>, kept: string | null, signal: AbortSignal): AsyncGenerator<OneFile, void, void> {
  const found = kept !== null ? [{ uri, path: kept }] : await findFiles(uri, signal);
  if (found.length === 0) throw missing(`Nothing matches ${uri}.`);
  for (const each of found) {
    const { file, format } = await inspectFile(each, 0, { ...shape, signal });
    checkHeader(file, []);
    const manifest: InputManifest = { format: format ?? 'csv', files: [file], columns: file.header, keyName: { email: null, domain: null, linkedin_url: null } };
    yield { uri: file.uri, header: file.header, batches: readRecords(manifest, null, signal, { withObjects: true }) };
  }
}

async function findFiles(uri: string, signal: AbortSignal): Promise<readonly SourceFile[]> {
  try {
    return await discover(uri, false, { isOwn: () => false, signal });
  } catch (error) {
    // What a run is told to do about it names settings of a job.
    throw error instanceof InputError && error.code === 'input_missing' ? missing(error.message, error) : error;
  }
}

function missing(message: string, cause?: unknown): InputError {
  return new InputError('input_missing', message, { hint: 'Check the path and quote globs; in S3 also the bucket and AWS_ENDPOINT_URL.', cause });
}
