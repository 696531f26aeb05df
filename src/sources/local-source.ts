/** Files on this machine as a source: size, digest, and a byte range as a stream of buffers. */
import { createHash } from 'node:crypto';
import { open, opendir, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { didYouMean, nearest } from '../util/nearest.ts';
import { InputError, StorageError, type MillraceError } from '../util/errors.ts';
import type { ByteRange, Identity, RangeOptions, SourceFile } from './source.ts';

/** Bytes hashed at each end of a file to notice a change. */
const DIGEST_BYTES = 64 * 1024;

interface FileFacts {
  readonly size: number;
  readonly kind: 'file' | 'directory' | 'other';
}

/**
 * Turns an error of the operating system into a MillraceError.
 * @param name the file as the user calls it
 * @param meant a file that is there, and that the user perhaps means
 */
export function sourceError(error: unknown, name: string, meant: string | null = null): MillraceError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return new InputError('input_missing', `There is no input ${name}${meant === null ? '.' : didYouMean(meant)}`, {
        hint: 'Check --input, or set input.ifMissing to succeed.',
        cause: error,
      });
    case 'EACCES':
    case 'EPERM':
      return new InputError('input_unreadable', `The input ${name} may not be read (${code}).`, {
        hint: 'Check the permissions of the file and of its folders.',
        cause: error,
      });
    case 'EISDIR':
      return new InputError('input_unreadable', `The input ${name} is a directory.`, { cause: error });
    case 'EIO':
    case 'EMFILE':
    case 'ENFILE':
    case 'ESTALE':
      return new StorageError('input_read_failed', `Reading ${name} failed (${code}).`, {
        hint: 'Run the same command again once the disk answers: it resumes.',
        cause: error,
      });
    default:
      return new InputError(
        'input_unreadable',
        `The input ${name} cannot be read: ${error instanceof Error ? error.message : String(error)}.`,
        { cause: error },
      );
  }
}

/** Size and kind of a path. @throws InputError `input_missing`, `input_unreadable` */
export async function statSource(path: string, name: string): Promise<FileFacts> {
  try {
    const found = await stat(path);
    return { size: found.size, kind: found.isFile() ? 'file' : found.isDirectory() ? 'directory' : 'other' };
  } catch (error) {
    throw sourceError(error, name, await meantBy(path, name));
  }
}

/** Entries of a folder that are compared with a misspelt name. */
const MOST_ENTRIES = 10_000;

/** A file of the same folder with a similar name, spelt as the user spells paths; null when the folder has none. */
async function meantBy(path: string, name: string): Promise<string | null> {
  const found: string[] = [];
  try {
    for await (const entry of await opendir(dirname(path))) {
      if (entry.isFile()) found.push(entry.name);
      if (found.length >= MOST_ENTRIES) break;
    }
  } catch {
    return null;
  }
  const meant = nearest(basename(path), found);
  return meant === null || meant === basename(path) ? null : name.slice(0, name.lastIndexOf('/') + 1) + meant;
}

/** Size in bytes, and SHA-256 (hex) over the first and last 64 KiB, which overlap in a smaller file. */
export async function identifyFile(file: SourceFile): Promise<Identity> {
  const { size } = await statSource(file.path, file.uri);
  const hash = createHash('sha256');
  const tail = Math.max(0, size - DIGEST_BYTES);
  for (const range of [
    { start: 0, end: Math.min(size, DIGEST_BYTES) },
    { start: tail, end: size },
  ]) {
    for await (const chunk of readFileRange(file, range, { chunkBytes: DIGEST_BYTES })) hash.update(chunk);
  }
  return { size, digest: hash.digest('hex') };
}

/**
 * The bytes of a range in chunks. One chunk is read ahead of the consumer.
 * @throws InputError `input_changed` when the file ends before the range does
 */
export async function* readFileRange(
  { path, uri }: SourceFile,
  range: ByteRange,
  options: RangeOptions,
): AsyncGenerator<Buffer, void, void> {
  if (range.start >= range.end) return;
  let handle: FileHandle;
  try {
    handle = await open(path, 'r');
  } catch (error) {
    throw sourceError(error, uri);
  }
  let ahead: Promise<Buffer> | null = null;
  try {
    let at = range.start;
    const next = (): Promise<Buffer> => {
      const read = readChunk(handle, at, Math.min(options.chunkBytes, range.end - at));
      // The consumer sees a failure when it awaits the chunk. Until then the rejection must not count as unhandled.
      read.catch(() => undefined);
      return read;
    };
    ahead = next();
    while (at < range.end) {
      options.signal?.throwIfAborted();
      let chunk: Buffer;
      try {
        chunk = await ahead;
      } catch (error) {
        throw sourceError(error, uri);
      }
      if (chunk.length === 0) {
        throw new InputError(
          'input_changed',
          `The input ${uri} became shorter while it was read: it ends at byte ${at}, and had ${range.end} bytes at the start.`,
          {
            hint: 'Put the file back as it was and run again, or start over with --fresh.',
          },
        );
      }
      at += chunk.length;
      ahead = at < range.end ? next() : null;
      yield chunk;
      if (ahead === null) break;
    }
  } finally {
    // A pending read must end before its file is closed.
    await ahead?.catch(() => undefined);
    await handle.close();
  }
}

async function readChunk(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(length);
  const { bytesRead } = await handle.read(buffer, 0, length, position);
  return bytesRead === length ? buffer : buffer.subarray(0, bytesRead);
}
