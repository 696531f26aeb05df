/** Failures of an output as MillraceErrors. */
import { InputError, MillraceError, StorageError, storageHint } from '../util/errors.ts';

/** A flaw of an unfinished file; it follows the file's name. */
export const MISSING = 'is missing';
export const CHANGED = 'was damaged or changed from outside';
export const LACKS_PARTS = 'lacks parts, or some were replaced from outside';
export function shorter(bytes: number, expected: number): string {
  return `was cut from outside: it has ${bytes} bytes, and the checkpoint says ${expected}`;
}

export function tooShort(path: string, what: string, size: number): StorageError {
  return new StorageError('partial_too_short', `${path} ${what}, the checkpoint says ${size} bytes: it was cut or replaced from outside`, {
    hint: 'Run the same command: the rows are written again, from the ledger. If it says so again, start over with --fresh.',
  });
}

/** The unfinished file differs from the bytes that were written. */
export function damaged(path: string, what: string): StorageError {
  return new StorageError('partial_damaged', `${path} ${what}: it was damaged or changed from outside, and is not put in place`, {
    hint:
      'Run the same command: the rows are written again, from the ledger. If it says ' +
      'so again, start over with --fresh: what was paid for is still in the ledger.',
  });
}

/** @param path the file that two jobs with the same output would both create first */
export function begunByAnother(path: string): InputError {
  return new InputError('output_not_ours', `another job has begun to write ${path} just now`, {
    hint: 'Name another output for one of the two.',
  });
}

export function storageFailure(path: string, what: string, error: unknown): MillraceError {
  if (error instanceof MillraceError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new StorageError('output_failed', `${path} could not be ${what}: ${message}`, { hint: storageHint(error), cause: error });
}
