/** `output.marker`: a file that says that a run has finished with exit code 0. */
import { dirname } from 'node:path';
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { isS3Uri } from '../../s3/uri.ts';
import { storageFailure } from '../../storage/failure.ts';
import type { Fence } from '../../storage/fence.ts';
import { storageOf } from '../../storage/storage-of.ts';
import { EXIT, InputError } from '../../util/errors.ts';
import { makeFolders } from '../../util/files/make-folders.ts';
import type { JobPaths } from './paths.ts';
import { isObject } from '../../util/is-object.ts';
import { parseJson } from '../../util/parse-json.ts';

/** A marker has far fewer. */
const MOST_BYTES = 64 * 1024;

/** The JSON of a marker. */
interface Marker {
  readonly job: string;
  readonly run: string;
  readonly finishedAt: string | null;
  readonly output: string;
  readonly rows: number | undefined;
  readonly bytes: number | undefined;
  readonly sha256: string | undefined;
}

/**
 * Removes the marker of the run before, and makes the folder of the next one, before anything is called.
 * @throws InputError for a file that is no marker, StorageError, or 75 when the job was lost
 */
export async function removeMarker({ marker: path }: Pick<JobPaths, 'marker'>, fence: Fence): Promise<void> {
  if (path === null) return;
  const storage = await storageOf(path);
  try {
    if (!isS3Uri(path)) makeFolders(dirname(path));
    const text = await storage.readText(path, MOST_BYTES);
    if (text !== null && !isMarker(text))
      throw new InputError('output_not_ours', `${path} exists, and is no completion marker of Millrace`, {
        hint: 'Move it away, or give output.marker another name.',
      });
    await storage.remove(path, fence);
  } catch (error) {
    throw storageFailure(path, 'removed', error);
  }
}

/**
 * Writes the marker of a run that finished with 0, once everything else of the output is in place. A crash before the last checkpoint
 * writes it again.
 * @param output as the job names it @throws StorageError, or 75 when the job was lost
 */
export async function writeMarker(
  { marker: path }: Pick<JobPaths, 'marker'>,
  { job, run, exitCode, finishedAt, result }: Pick<Checkpoint, 'job' | 'run' | 'exitCode' | 'finishedAt' | 'result'>,
  output: string,
  fence: Fence,
): Promise<void> {
  if (path === null || exitCode !== EXIT.ok) return;
  const { tally, bytes, sha256 } = result ?? {};
  const marker: Marker = { job, run, finishedAt, output, rows: tally?.total, bytes, sha256 };
  try {
    await (await storageOf(path)).replaceText(path, `${JSON.stringify(marker)}\n`, fence);
  } catch (error) {
    throw storageFailure(path, 'written', error);
  }
}

function isMarker(text: string): boolean {
  const marker = parseJson(text);
  return isObject(marker) && ['job', 'run', 'output'].every((name) => typeof marker[name] === 'string');
}
