import { InputError, MillraceError, StorageError, storageHint } from '../errors.ts';
import type { Spent } from '../limiter/quota-model.ts';
import type { ExpectedRecords } from '../job/expected-records.ts';
import type { KeptSlots } from '../job/call-slots.ts';
import type { Shard } from '../job/types.ts';
import type { WaitTotals } from '../job/wait-log.ts';
import type { KeptSize } from '../processor/request-size.ts';
import type { Trust } from '../processor/trust-gate.ts';
import type { InputRange } from '../reader/cuts.ts';
import type { InputManifest } from '../reader/types.ts';
import { storageOf } from '../storage/storages.ts';
import type { KeptFiles, Mark } from '../writer/mark.ts';
import type { Tally } from '../writer/tally.ts';
import type { Fence } from './fence.ts';
import { seal, unseal } from './seal.ts';

const VERSION = 1;

export type JobState = 'running' | 'stopped' | 'finishing' | 'finished';

/** Totals that are not rows: kept over all resumes. Times in milliseconds. */
export interface RunTotals {
  readonly calls: Readonly<Record<string, number>>;
  readonly lookups: { readonly unique: number; readonly fromLedger: number };
  readonly retries: number;
  readonly throttled: { readonly events: number; readonly waitedMs: number };
  /** What was waited for while nothing was sent. */
  readonly waits: WaitTotals;
  /** Requests that the service offered beyond the plan's rate, because its quota was whole when a run began. */
  readonly beyondPlan: number;
  readonly credits: number;
  /** How large verify requests are, and how many were too large for the service; left out: none was answered yet. */
  readonly verifyRequests?: KeptSize & { readonly tooLarge: number };
  /** Answers by latency bucket, see `LatencyHistogram`. */
  readonly latency: Readonly<Record<string, number>>;
  /** Time spent running, over all resumes. */
  readonly activeMs: number;
  /** When the calls were sent. Left out by versions of before. */
  readonly series?: KeptSlots;
}

/** What a finished output is. */
export interface FinishedOutput {
  readonly tally: Tally;
  readonly bytes: number;
  readonly errorBytes: number;
  /** Hex, of the output and of the errors file. */
  readonly sha256: string;
  readonly errorsSha256: string;
  /** What the two are made of until they have their names: nothing of files on a disk. */
  readonly kept?: KeptFiles;
  /** Once they have: what tells the objects there from any others, in S3. */
  readonly versions?: { readonly output?: string | undefined; readonly errors?: string | undefined };
}

/** A retry that is under way: until it is finished, the job is what it was before. */
export interface Retry {
  readonly before: Pick<Checkpoint, 'finishedAt' | 'exitCode' | 'mark'> & { readonly result: FinishedOutput };
  /** The ledger's last answer when the retry began: what had failed by then is asked again. */
  readonly failedUpTo: number;
  /** Lookups of the job that the ledger did not know of by then: it was deleted, or purged. */
  readonly forgotten: RunTotals['lookups'];
}

/** The job's memory between runs: one JSON file beside the output. */
export interface Checkpoint extends Trust {
  /** Whether the service has answered a lookup: then its address is known to be right. */
  readonly answered: boolean;
  readonly version: typeof VERSION;
  readonly job: string;
  /** Absolute path or uri of the output that it belongs to. */
  readonly output: string;
  readonly fingerprint: Readonly<Record<string, unknown>>;
  /** 1, and one more for each `--fresh` and each retry; after a damaged checkpoint, see `generationAfterDamage`. Part of every Idempotency-Key. */
  readonly generation: number;
  /** Names the run over all its resumes. */
  readonly run: string;
  readonly manifest: InputManifest;
  readonly limit: number | null;
  /** The records of the job, as far as they are known while it runs; left out: not yet. */
  readonly expected?: ExpectedRecords | null;
  readonly state: JobState;
  readonly startedAt: string;
  readonly updatedAt: string;
  readonly finishedAt: string | null;
  readonly exitCode: number | null;
  readonly mark: Mark;
  readonly totals: RunTotals;
  /** What the last minute has spent of the quota, so that a resume does not spend it again, and until when the service asked to wait; null: nothing. */
  readonly spent: Spent | null;
  /** From `finishing` on: what the output is when it is whole. */
  readonly result: FinishedOutput | null;
  /** Calls that may have been sent by the time of the next checkpoint: see `CallBudget`. More than `totals` when a run was killed. */
  readonly callsAtMost: number;
  /** Null: none is under way. */
  readonly retry: Retry | null;
  /** Which part of the job this is, of a job that several processes share; null: the whole. */
  readonly shard: (Shard & InputRange) | null;
}

/** A checkpoint of a large glob names many files; more than this is no checkpoint of ours. */
const LARGEST_BYTES = 256 * 1024 * 1024;

/** What a checkpoint that cannot be read is, as an error's code: one of ours that was damaged, or another file. */
export const DAMAGED = 'checkpoint_damaged';

/**
 * Null when there is none.
 * @throws InputError when this version cannot read the file: `DAMAGED`, `checkpoint_invalid`, `checkpoint_too_new`
 */
export async function readCheckpoint(path: string): Promise<Checkpoint | null> {
  let text: string | null;
  try {
    text = await (await storageOf(path)).readText(path, LARGEST_BYTES);
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw new StorageError('checkpoint_unreadable', `the checkpoint ${path} could not be read: ${(error as Error).message}`, { hint: storageHint(error), cause: error });
  }
  if (text === null) return null;
  const json = text.length > LARGEST_BYTES ? 'null' : unseal(text);
  const value = json === null ? undefined : parse(json);
  if (value === undefined && isOurs(text)) {
    throw new InputError(DAMAGED, `the checkpoint ${path} is damaged: ${json === null ? 'its checksum is wrong' : 'it cannot be read'}`, {
      hint: 'Start over with millrace run --fresh: what was paid for stays in the ledger.',
    });
  }
  if (isNewer(value)) {
    throw new InputError('checkpoint_too_new', `the checkpoint ${path} was written by a newer version of Millrace (its format is ${value.version}, this version knows ${VERSION})`, { hint: 'Resume the job with that version.' });
  }
  const fault = faultOf(value);
  if (fault !== null) {
    throw new InputError('checkpoint_invalid', `${path} ${fault}`, {
      hint: 'Name another output or checkpoint. If it belongs to this job, move it away to start over: what was paid for stays in the ledger.',
    });
  }
  return value as Checkpoint;
}

/** A job that starts over needs nothing of a checkpoint that is damaged. @throws any other error */
export function nullIfFresh(error: unknown, fresh: boolean): null {
  if (fresh && error instanceof InputError && error.code === DAMAGED) return null;
  throw error;
}

/**
 * The generation of a job that starts over from a damaged checkpoint. What the checkpoint says of its own may be wrong by a
 * bit, so the clock gives one: milliseconds since 1970 are far above any count of retries. `before`: what is known of others; 0: nothing.
 */
export function generationAfterDamage(before: number, now: Date): number {
  return Math.max(before + 1, now.getTime());
}

/** @throws StorageError, or 75 when the job was lost */
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

/** What each key holds in a checkpoint of ours, by kind. */
const KINDS: Readonly<Record<keyof Checkpoint, readonly Kind[]>> = {
  version: ['number'], job: ['string'], output: ['string'], fingerprint: ['object'], generation: ['number'], run: ['string'], manifest: ['object'], limit: ['number', 'null'], expected: ['object', 'null', 'undefined'], state: ['string'],
  startedAt: ['string'], updatedAt: ['string'], finishedAt: ['string', 'null'], exitCode: ['number', 'null'], mark: ['object'], totals: ['object'], trusted: ['boolean'], answered: ['boolean'], held: ['object', 'undefined'], spent: ['object', 'null'], result: ['object', 'null'], callsAtMost: ['number'], retry: ['object', 'null'], shard: ['object', 'null'],
};
type Kind = 'string' | 'number' | 'boolean' | 'object' | 'null' | 'undefined';

/** How every checkpoint begins, and keys that no other file has. */
const BEGINNING = '{"version":';
const OWN_KEYS = /"(?:fingerprint|manifest|callsAtMost)":/;

/** Whether a text that is no JSON, or does not fit its checksum, was a checkpoint once: cut off, with bits that flipped, or emptied by a power cut. */
function isOurs(text: string): boolean {
  return text.startsWith(BEGINNING) || BEGINNING.startsWith(text) || OWN_KEYS.test(text) || /^\0+$/.test(text);
}

/** Undefined when it is no JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isNewer(value: unknown): value is { readonly version: number } {
  if (typeof value !== 'object' || value === null || !('run' in value && 'version' in value)) return false;
  return typeof value.version === 'number' && value.version > VERSION;
}

/** Why it is no checkpoint, or null. */
function faultOf(value: unknown): string | null {
  const none = 'is not a checkpoint of Millrace';
  if (typeof value !== 'object' || value === null) return none;
  const found = value as Partial<Checkpoint>;
  for (const [key, kinds] of Object.entries(KINDS)) {
    const part = found[key as keyof Checkpoint];
    if (!kinds.includes((part === null ? 'null' : typeof part) as Kind)) return `${none}, or of an older version (see its "${key}")`;
  }
  const { version, manifest, mark, totals, held = [] } = value as Checkpoint;
  const whole = version === VERSION && Array.isArray(manifest.files) && Array.isArray(manifest.columns) && Array.isArray(held) && typeof mark.bytes === 'number' && typeof mark.tally === 'object' && typeof totals.calls === 'object';
  return whole ? null : none;
}
