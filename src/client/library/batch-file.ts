/** Where the bytes of a batch come from. */
import { bytesOf } from './read-bytes.ts';

/** A path (where the platform has files), a Blob or File, or a stream of bytes. */
export type BatchFile = string | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** Whether its name ends in `.csv`: that of a path, of a `File`, or of a stream that a file system has opened. */
export function isCsvFile(file: BatchFile): boolean {
  const { name, path } = typeof file === 'string' ? { name: file } : (file as { readonly name?: unknown; readonly path?: unknown });
  return [name, path].some((text) => typeof text === 'string' && text.toLowerCase().endsWith('.csv'));
}

/** @throws TypeError for a path where the platform has no files */
export function blocksOf(file: BatchFile): AsyncIterable<Uint8Array> {
  if (typeof file === 'string') return openPath(file);
  return bytesOf(file instanceof Blob ? file.stream() : file);
}

function openPath(path: string): AsyncIterable<Uint8Array> {
  const { process } = globalThis as { readonly process?: NodeJS.Process };
  // No import: bundlers for browsers would ask for the module.
  const files = process?.getBuiltinModule?.('node:fs');
  if (files === undefined) throw new TypeError('batches.create: no path can be opened here; pass a Blob or a stream of bytes as `file`');
  return files.createReadStream(path);
}
