import { InputError, MillraceError, StorageError, storageHint } from '../util/errors.ts';
import type { SavedQuota } from '../limiter/saved-quota.ts';
import type { Shard } from '../definition/compiled-job.ts';
import type { PreviousRun } from './previous-run.ts';
import type { ProviderStates } from './provider-state.ts';
import type { RunTotals } from './run-totals.ts';
import type { QuarantineState } from '../lookup/miss-quarantine.ts';
import type { InputRange } from '../reader/split-points.ts';
import type { InputManifest } from '../formats/input-record.ts';
import { storageOf } from '../storage/storage-of.ts';
import type { ResumePoint } from '../writer/resume-point.ts';
import type { FinishedFiles } from '../writer/row-files.ts';
import type { Tally } from '../writer/tally.ts';
import type { Fence } from '../storage/fence.ts';
import { seal, unseal } from './seal.ts';
import { parseJson } from '../util/parse-json.ts';

const VERSION = 1;

export type JobState = 'running' | 'stopped' | 'finishing' | 'finished';

/** The number of records of a job. */
export interface ExpectedRecords {
  readonly records: number;
  /** False when the number is estimated from the bytes of the records read. */
  readonly isExact: boolean;
}

/** A finished output, with the files of lines beside it. */
export interface FinishedOutput extends FinishedFiles {
  readonly tally: Tally;
}

/** A retry under way. Until it is finished, the job's result is that of the run before. */
export interface Retry {
  readonly before: Pick<Checkpoint, 'finishedAt' | 'exitCode' | 'mark'> & { readonly result: FinishedOutput };
  /** The ledger's last answer when the retry began. Lookups that had failed by then are repeated. */
  readonly failedUpTo: number;
  /** Lookups of the job that the ledger had lost by then, because it was deleted or purged. */
  readonly forgotten: RunTotals['lookups'];
}

/** The state of a job between runs: one JSON file beside the output. */
export interface Checkpoint extends QuarantineState {
  /** True once the service has answered a lookup, which proves its address. */
  readonly answered: boolean;
  readonly version: typeof VERSION;
  readonly job: string;
  /** Absolute path or uri of the output. */
  readonly output: string;
  readonly fingerprint: Readonly<Record<string, unknown>>;
  /**
   * See `firstGeneration`; increased by each `--fresh`, each retry and each changed input. Part of every Idempotency-Key.
   */
  readonly generation: number;
  /** The id of the run, over all its resumes. */
  readonly run: string;
  readonly manifest: InputManifest;
  readonly limit: number | null;
  /** The records of the job, as far as they are known during the run. Left out until then. */
  readonly expected?: ExpectedRecords | null;
  /** The settled steps of records whose rows are not written yet, in records. Left out for 0. */
  readonly settled?: number;
  readonly state: JobState;
  readonly startedAt: string;
  readonly updatedAt: string;
  readonly finishedAt: string | null;
  readonly exitCode: number | null;
  /** Why a finished run exits with 1, a sentence each. Left out before its end. */
  readonly exitReasons?: readonly string[];
  /** The run before, which the report compares this one with. Null when none was found; left out before the first start. */
  readonly previous?: PreviousRun | null;
  readonly mark: ResumePoint;
  readonly totals: RunTotals;
  /**
   * The quota that the last minute spent, which a resume must not spend again, and the time until which the service asked to wait. Null
   * when nothing was spent.
   */
  readonly spent: SavedQuota | null;
  /** The finished output, from the state `finishing` on. */
  readonly result: FinishedOutput | null;
  /** An upper bound on calls sent before the next checkpoint, see `CallBudget`. It exceeds `totals` after a run was killed. */
  readonly callsAtMost: number;
  /** The same of credits: it exceeds `totals` also where answers never arrived. */
  readonly creditsAtMost: number;
  /** Only for a job that names its providers. */
  readonly providers?: ProviderStates;
  /** `path`: keys in the ledger have the path of a service's address. Left out where no address has one, and by older versions. */
  readonly ledgerKey?: 'path';
  /** Null when no retry is under way. */
  readonly retry: Retry | null;
  /** The shard of a job that several processes share. Null for a whole job. */
  readonly shard: (Shard & InputRange) | null;
}

/** Bytes. A large glob makes a long checkpoint, but a longer file was not written by Millrace. */
const LARGEST_BYTES = 256 * 1024 * 1024;

/** The error code for a checkpoint of Millrace that was damaged, in contrast to a foreign file. */
export const DAMAGED = 'checkpoint_damaged';

/**
 * Null when the file does not exist. @throws InputError when this version cannot read it: `DAMAGED`, `checkpoint_invalid`,
 * `checkpoint_too_new`
 */
export async function readCheckpoint(path: string): Promise<Checkpoint | null> {
  let text: string | null;
  try {
    text = await (await storageOf(path)).readText(path, LARGEST_BYTES);
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw new StorageError('checkpoint_unreadable', `the checkpoint ${path} could not be read: ${(error as Error).message}`, {
      hint: storageHint(error),
      cause: error,
    });
  }
  if (text === null) return null;
  const json = text.length > LARGEST_BYTES ? 'null' : unseal(text);
  const value = json === null ? undefined : parseJson(json);
  if (value === undefined && isOurs(text)) {
    throw new InputError(DAMAGED, `the checkpoint ${path} is damaged: ${json === null ? 'its checksum is wrong' : 'it cannot be read'}`, {
      hint: 'Start over with millrace run --fresh: what was paid for stays in the ledger.',
    });
  }
  if (isNewer(value)) {
    throw new InputError(
      'checkpoint_too_new',
      `the checkpoint ${path} was written by a newer version of Millrace (its format is ${value.version}, this version knows ${VERSION})`,
      { hint: 'Resume the job with that version.' },
    );
  }
  const fault = faultOf(value);
  if (fault !== null) {
    throw new InputError('checkpoint_invalid', `${path} ${fault}`, {
      hint:
        'Name another output or checkpoint. If it belongs to this job, ' +
        'move it away to start over: what was paid for stays in the ledger.',
    });
  }
  return value as Checkpoint;
}

/** Returns null for a damaged checkpoint if the job starts over. @throws any other error */
export function nullIfFresh(error: unknown, fresh: boolean): null {
  if (fresh && error instanceof InputError && error.code === DAMAGED) return null;
  throw error;
}

/** @throws StorageError, or MillraceError 75 when the job was lost */
export async function writeCheckpoint(path: string, checkpoint: Checkpoint, fence: Fence): Promise<void> {
  try {
    await (await storageOf(path)).replaceText(path, `${seal(JSON.stringify(checkpoint))}\n`, fence);
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw new StorageError('checkpoint_failed', `the checkpoint ${path} could not be written: ${(error as Error).message}`, {
      hint: storageHint(error, 'the job resumes from the checkpoint before'),
      cause: error,
    });
  }
}

/** The permitted kinds of value of each key. */
const KINDS: Readonly<Record<keyof Checkpoint, readonly Kind[]>> = {
  version: ['number'],
  job: ['string'],
  output: ['string'],
  fingerprint: ['object'],
  generation: ['number'],
  run: ['string'],
  manifest: ['object'],
  limit: ['number', 'null'],
  expected: ['object', 'null', 'undefined'],
  settled: ['number', 'undefined'],
  state: ['string'],
  startedAt: ['string'],
  updatedAt: ['string'],
  finishedAt: ['string', 'null'],
  exitCode: ['number', 'null'],
  exitReasons: ['object', 'undefined'],
  previous: ['object', 'null', 'undefined'],
  mark: ['object'],
  totals: ['object'],
  trusted: ['boolean'],
  answered: ['boolean'],
  held: ['object', 'undefined'],
  missForms: ['object', 'undefined'],
  spent: ['object', 'null'],
  result: ['object', 'null'],
  callsAtMost: ['number'],
  creditsAtMost: ['number'],
  providers: ['object', 'undefined'],
  ledgerKey: ['string', 'undefined'],
  retry: ['object', 'null'],
  shard: ['object', 'null'],
};
type Kind = 'string' | 'number' | 'boolean' | 'object' | 'null' | 'undefined';

/** The beginning of every checkpoint, and keys that no other file has. */
const BEGINNING = '{"version":';
const OWN_KEYS = /"(?:fingerprint|manifest|callsAtMost)":/;

/** True when a text that is not JSON, or fails its checksum, was a checkpoint: truncated, with flipped bits, or emptied by a power cut. */
function isOurs(text: string): boolean {
  return text.startsWith(BEGINNING) || BEGINNING.startsWith(text) || OWN_KEYS.test(text) || /^\0+$/.test(text);
}

function isNewer(value: unknown): value is { readonly version: number } {
  if (typeof value !== 'object' || value === null || !('run' in value && 'version' in value)) return false;
  return typeof value.version === 'number' && value.version > VERSION;
}

/** The reason why the value is not a checkpoint, or null. */
function faultOf(value: unknown): string | null {
  const none = 'is not a checkpoint of Millrace';
  if (typeof value !== 'object' || value === null) return none;
  const found = value as Partial<Checkpoint>;
  for (const [key, kinds] of Object.entries(KINDS)) {
    const part = found[key as keyof Checkpoint];
    if (!kinds.includes((part === null ? 'null' : typeof part) as Kind)) return `${none}, or of an older version (see its "${key}")`;
  }
  const { version, manifest, mark, totals, held = [], spent } = value as Checkpoint;
  const whole =
    version === VERSION &&
    Array.isArray(manifest.files) &&
    Array.isArray(manifest.columns) &&
    Array.isArray(held) &&
    (spent === null || Array.isArray(spent.minute)) &&
    typeof mark.bytes === 'number' &&
    typeof mark.tally === 'object' &&
    typeof totals.calls === 'object';
  return whole ? null : none;
}
