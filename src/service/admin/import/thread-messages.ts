/** Messages between the two threads of an import. They are plain values, because only those can be cloned. */
import { MillraceError, type ExitCode } from '../../../util/errors.ts';
import type { openFiles } from '../../../formats/one-file.ts';
import type { ImportKind } from './column-names.ts';
import type { EncodedBatch } from './encode-batch.ts';

/** Index in `shared`: the number of messages that the worker may still post. The worker takes slots, and the main thread returns them. */
export const FREE_SLOTS = 0;
/** Index in `shared`: 1 while most rows are new records. */
export const EXPECTS_NEW = 1;

export interface ThreadTask {
  readonly kind: ImportKind;
  readonly uri: string;
  readonly shape: Parameters<typeof openFiles>[1];
  /** The file that standard input was spooled to; null when `uri` is read. */
  readonly spooled: string | null;
  /** Columns chosen by the user, by target. */
  readonly columns: ReadonlyMap<string, string>;
  /** Both in epoch milliseconds; `asOfMs` is null when not given. */
  readonly asOfMs: number | null;
  readonly nowMs: number;
  /** Memory of both threads, indexed by `FREE_SLOTS` and `EXPECTS_NEW`. */
  readonly shared: Int32Array<SharedArrayBuffer>;
}

/** For each file: its name and header, then its batches. */
export type FromThread =
  | { readonly type: 'file'; readonly name: string; readonly header: readonly string[] }
  /** `share`: the read part of the file, 0 to 1; null when it is unknown. */
  | { readonly type: 'batch'; readonly batch: EncodedBatch; readonly share: number | null }
  | { readonly type: 'end' }
  | { readonly type: 'failed'; readonly failure: Failure };

/** An error as plain values. Cloning an error object loses its class and members. */
export interface Failure {
  readonly message: string;
  readonly stack: string | undefined;
  readonly code: string | undefined;
  readonly hint: string | undefined;
  /** Null when the error is not a MillraceError. */
  readonly exitCode: ExitCode | null;
}

export function toFailure(error: unknown): Failure {
  if (error instanceof MillraceError)
    return { message: error.message, stack: error.stack, code: error.code, hint: error.hint, exitCode: error.exitCode };
  if (!(error instanceof Error)) return { message: String(error), stack: undefined, code: undefined, hint: undefined, exitCode: null };
  return { message: error.message, stack: error.stack, code: (error as NodeJS.ErrnoException).code, hint: undefined, exitCode: null };
}

export function fromFailure({ message, stack, code, hint, exitCode }: Failure): Error {
  const error =
    exitCode === null
      ? Object.assign(new Error(message), { code })
      : new MillraceError(exitCode, code ?? '', message, hint === undefined ? {} : { hint });
  if (stack !== undefined) error.stack = stack;
  return error;
}
