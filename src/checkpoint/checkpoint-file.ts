import { readFile } from 'node:fs/promises';
import { InputError, StorageError } from '../errors.ts';
import type { Spent } from '../limiter/quota-model.ts';
import type { InputManifest } from '../reader/types.ts';
import type { Mark } from '../writer/mark.ts';
import type { Tally } from '../writer/tally.ts';
import { replaceFile } from './durable.ts';

export type JobState = 'running' | 'stopped' | 'finishing' | 'finished';

/** Totals that are not rows: kept over all resumes. Times in milliseconds. */
export interface RunTotals {
  readonly calls: Readonly<Record<string, number>>;
  readonly lookups: { readonly unique: number; readonly fromLedger: number };
  readonly retries: number;
  readonly throttled: { readonly events: number; readonly waitedMs: number };
  readonly credits: number;
  /** Answers by latency bucket, see `LatencyHistogram`. */
  readonly latency: Readonly<Record<string, number>>;
  /** Time spent running, over all resumes. */
  readonly activeMs: number;
}

/** The job's memory between runs: one JSON file beside the output. */
export interface Checkpoint {
  readonly version: 1;
  readonly job: string;
  /** Absolute path of the output that it belongs to. */
  readonly output: string;
  readonly fingerprint: Readonly<Record<string, unknown>>;
  /** 1, and one more for each `--fresh`: part of every Idempotency-Key. */
  readonly generation: number;
  /** Names the run over all its resumes. */
  readonly run: string;
  readonly manifest: InputManifest;
  readonly limit: number | null;
  readonly state: JobState;
  readonly startedAt: string;
  readonly updatedAt: string;
  readonly finishedAt: string | null;
  readonly exitCode: number | null;
  readonly mark: Mark;
  readonly totals: RunTotals;
  /** The service has answered something other than one kind of 4xx. */
  readonly trusted: boolean;
  /** What the last minute has spent of the quota, so that a resume does not spend it again. Absent: written by an older version. */
  readonly spent?: Spent;
  /** From `finishing` on: what the output is when it is whole. */
  readonly result: { readonly tally: Tally; readonly bytes: number; readonly errorBytes: number; readonly sha256: string } | null;
}

/** A checkpoint of a large glob names many files; more than this is no checkpoint of ours. */
const LARGEST_BYTES = 256 * 1024 * 1024;

/** Null when there is none. @throws InputError when the file is not a checkpoint this version can read */
export async function readCheckpoint(path: string): Promise<Checkpoint | null> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new StorageError('checkpoint_unreadable', `the checkpoint ${path} could not be read: ${(error as Error).message}`, { cause: error });
  }
  const parsed = text.length > LARGEST_BYTES ? null : parse(text);
  if (parsed === null) {
    throw new InputError('checkpoint_invalid', `${path} is not a checkpoint of Millrace, or of another version`, { hint: 'Move it away to start the job anew; what was paid for is still in the ledger.' });
  }
  return parsed;
}

/** @throws StorageError */
export async function writeCheckpoint(path: string, checkpoint: Checkpoint): Promise<void> {
  try {
    await replaceFile(path, `${JSON.stringify(checkpoint)}\n`);
  } catch (error) {
    throw new StorageError('checkpoint_failed', `the checkpoint ${path} could not be written: ${(error as Error).message}`, {
      hint: 'Free the disk or mend the folder, then run the same command: the job resumes from the checkpoint before.',
      cause: error,
    });
  }
}

function parse(text: string): Checkpoint | null {
  try {
    const value = JSON.parse(text) as Partial<Checkpoint> | null;
    const whole =
      typeof value === 'object' && value !== null && value.version === 1 && typeof value.job === 'string' && typeof value.output === 'string' && typeof value.run === 'string' &&
      typeof value.manifest === 'object' && Array.isArray(value.manifest.files) && typeof value.mark === 'object' && typeof value.mark.bytes === 'number' && typeof value.totals === 'object';
    return whole ? (value as Checkpoint) : null;
  } catch {
    return null;
  }
}
