/** Reads files one by one, each with a header of its own, for callers that want every column and no key. */
import { InputError } from '../util/errors.ts';
import { checkHeader } from './csv/header.ts';
import { discover } from '../sources/discover.ts';
import { inspectFile, type InspectOptions } from './inspect.ts';
import { parseObject, type ParseLine } from './jsonl/jsonl-records.ts';
import { readRecords } from './read-records.ts';
import type { SourceFile } from '../sources/source.ts';
import type { InputManifest, InputRecord } from './input-record.ts';

interface OneFile {
  /** The name that the user knows. */
  readonly uri: string;
  /** Columns of CSV and TSV; empty for JSONL. */
  readonly header: readonly string[];
  /** The offset of its last record's end; null when it is unknown, as in an archive. */
  readonly end: number | null;
  /** The records from the first on. A second loop reads the file anew. */
  readonly batches: AsyncIterable<readonly InputRecord[]>;
}

/**
 * The files of a path, glob, directory or S3 URI, in order of their names. Settings of `shape` that are null are detected. `-` is standard
 * input, which the caller has spooled to the file `spooled`.
 * @param parse makes an object of a line of JSON
 * @throws InputError as `freezeInput` does, except for keys and reserved names; StorageError when the disk fails
 */
export async function* openFiles(
  uri: string,
  shape: Omit<InspectOptions, 'signal'>,
  spooled: string | null,
  signal: AbortSignal,
  parse: ParseLine = parseObject,
): AsyncGenerator<OneFile, void, void> {
  const found = spooled !== null ? [{ uri, path: spooled }] : await findFiles(uri, signal);
  if (found.length === 0) throw missing(`Nothing matches ${uri}.`);
  for (const each of found) {
    const { file, format } = await inspectFile(each, 0, { ...shape, signal });
    checkHeader(file, []);
    const manifest: InputManifest = {
      format: format ?? 'csv',
      files: [file],
      columns: file.header,
      keyName: { email: null, domain: null, linkedin_url: null },
    };
    const batches = { [Symbol.asyncIterator]: () => readRecords(manifest, null, signal, { parse })[Symbol.asyncIterator]() };
    yield { uri: file.uri, header: file.header, end: file.rows ?? (file.compression === 'none' ? file.size : null), batches };
  }
}

async function findFiles(uri: string, signal: AbortSignal): Promise<readonly SourceFile[]> {
  try {
    return await discover(uri, false, { isOwn: () => false, signal });
  } catch (error) {
    // The run's hint names settings of a job, which do not exist here.
    throw error instanceof InputError && error.code === 'input_missing' ? missing(error.message, error) : error;
  }
}

function missing(message: string, cause?: unknown): InputError {
  return new InputError('input_missing', message, {
    hint: 'Check the path and quote globs; in S3 also the bucket and AWS_ENDPOINT_URL.',
    cause,
  });
}
