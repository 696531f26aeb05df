/** Reads ranges of a file into memory of their own. */
import { InputError, MillraceError } from '../../util/errors.ts';
import { sourceOf } from '../../sources/source-of.ts';
import type { SourceFile } from '../../sources/source.ts';

/** A file with what proves that it has not changed. */
export interface ParquetSource extends SourceFile {
  readonly size: number;
  readonly digest: string;
}

const CHUNK_BYTES = 256 * 1024;

export async function readBytes(
  file: ParquetSource,
  start: number,
  end: number,
  signal: AbortSignal | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(end - start);
  let at = 0;
  for await (const chunk of (await sourceOf(file.path)).readRange(file, { start, end }, { chunkBytes: CHUNK_BYTES, signal })) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

/** The error for a file that is damaged, hostile, or has what this version cannot read. */
export function unreadable(uri: string, why: string, hint = 'Write the file again, for example with DuckDB or pyarrow.'): InputError {
  return new InputError('input_parquet', `${uri} cannot be read as Parquet: ${why}.`, { hint });
}

/** Errors of decoding become errors of the file. Those of the disk stay. */
export function asUnreadable(uri: string, error: unknown, signal?: AbortSignal): unknown {
  if (signal?.aborted === true || error instanceof MillraceError) return error;
  return unreadable(uri, error instanceof Error ? error.message.replace(/[.\s]+$/, '') : 'it is damaged');
}
