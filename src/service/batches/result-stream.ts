/** Streams the results of a job, all or one set, and redacts people who were erased meanwhile. */
import { open, type FileHandle } from 'node:fs/promises';
import type { RunSteps, Steps } from '../../util/steps.ts';
import { ServiceError } from '../http/problem.ts';
import type { ResultSet } from './batch-operations.ts';
import type { BatchFile } from './batch-files.ts';
import type { Redact } from './redact-results.ts';
import { FileTruncated } from './batch-folder.ts';
import { parseStoredLine, RESULT_HEADER, serialiseLine, type StoredLine, type Shape } from './result-lines.ts';

const CHUNK_BYTES = 64 * 1024;
const LF = 0x0a;
/** Writing a line takes this many units of work. */
const LINE_UNITS = 3;

/** The stored lines of an open file, chunk by chunk; closes it. @throws errors of the disk */
export async function* storedLines(file: FileHandle, size: number): AsyncGenerator<StoredLine[]> {
  try {
    let rest = Buffer.alloc(0);
    for (let at = 0; at < size;) {
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - at)), 0, undefined, at);
      if (bytesRead === 0) throw new FileTruncated('the file of results is shorter than it was');
      at += bytesRead;
      const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
      const lines: StoredLine[] = [];
      let from = 0;
      for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, from)) {
        lines.push(parseStoredLine(bytes.subarray(from, end)));
        from = end + 1;
      }
      rest = bytes.subarray(from);
      yield lines;
    }
  } finally {
    await file.close();
  }
}

/**
 * Opens the current file. An erasure may have replaced it while earlier files were read, so a missing file is looked up again.
 * @throws ServiceError when the job was deleted
 */
async function openCurrent(
  currentFile: () => BatchFile | undefined,
  pathOf: (file: string) => string,
): Promise<{ readonly handle: FileHandle; readonly bytes: number }> {
  let tried: string | null = null;
  for (;;) {
    const current = currentFile();
    if (current === undefined || current.file === tried) throw new ServiceError('not_found', 'the files of this job are gone');
    try {
      return { handle: await open(pathOf(current.file), 'r'), bytes: current.bytes };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      tried = current.file;
    }
  }
}

/**
 * The results as text, chunk by chunk. An erasure may happen while they are read, so files and redactor are asked for again.
 * @param currentFiles called for each file
 * @param currentRedactor called for each chunk
 * @param run shares the work on a chunk out
 */
export async function* resultStream(
  currentFiles: () => readonly BatchFile[],
  pathOf: (file: string) => string,
  set: ResultSet | null,
  shape: Shape,
  currentRedactor: () => Redact | null,
  run: RunSteps,
): AsyncGenerator<string> {
  if (shape.format === 'csv') yield RESULT_HEADER;
  for (const { n } of currentFiles()) {
    const { handle, bytes } = await openCurrent(() => currentFiles().find((file) => file.n === n), pathOf);
    for await (const lines of storedLines(handle, bytes)) {
      const text = await run(answerText(lines, set, shape, currentRedactor()));
      if (text !== '') yield text;
    }
  }
}

function* answerText(lines: readonly StoredLine[], set: ResultSet | null, shape: Shape, redact: Redact | null): Steps<string> {
  let text = '';
  for (const stored of lines) {
    text += answerLine(stored, set, shape, redact);
    yield LINE_UNITS;
  }
  return text;
}

/** The text of a line in the answer; empty when it belongs to another set. */
function answerLine(stored: StoredLine, set: ResultSet | null, shape: Shape, redact: Redact | null): string {
  const redacted = redact?.(stored) ?? null;
  const line = redacted === null ? stored : parseStoredLine(Buffer.from(redacted.text.slice(0, -1)));
  return set === null || line.isOf(set) ? serialiseLine(line.json, shape) : '';
}
