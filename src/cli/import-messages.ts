/** What the two threads of an import say to each other: plain values, as they are all that passes. */
import { MillraceError, type ExitCode } from '../errors.ts';
import type { openFiles } from '../reader/one-file.ts';
import type { ImportKind } from '../service/import/names.ts';
import type { PackedBatch } from '../service/import/packed-batch.ts';

/** How many messages may still be said before one of them is taken: the one thread takes them off, the other puts them back. */
export const ROOM = 0;
/** 1 while most rows are of records that are new. */
export const EXPECTS_NEWS = 1;

export interface ThreadTask {
  readonly kind: ImportKind;
  readonly uri: string;
  readonly shape: Parameters<typeof openFiles>[1];
  /** The file in which standard input was kept; null: `uri` is read. */
  readonly kept: string | null;
  /** Named by hand, by target. */
  readonly columns: ReadonlyMap<string, string>;
  /** Epoch milliseconds, both. Null: not said. */
  readonly asOfMs: number | null;
  readonly nowMs: number;
  /** Numbers that both threads see, at these places. */
  readonly shared: Int32Array<SharedArrayBuffer>;
}

/** Of each file its name and header, then its rows. */
export type FromThread =
  | { readonly type: 'file'; readonly name: string; readonly header: readonly string[] }
  | { readonly type: 'batch'; readonly batch: PackedBatch }
  | { readonly type: 'end' }
  | { readonly type: 'failed'; readonly failure: Failure };

/** An error as plain values: its class and what is its own would be lost on the way. */
export interface Failure {
  readonly message: string;
  readonly stack: string | undefined;
  readonly code: string | undefined;
  readonly hint: string | undefined;
  /** Null: it is none of Millrace's own. */
  readonly exitCode: ExitCode | null;
}

export function toFailure(error: unknown): Failure {
  if (error instanceof MillraceError) return { message: error.message, stack: error.stack, code: error.code, hint: error.hint, exitCode: error.exitCode };
  if (!(error instanceof Error)) return { message: String(error), stack: undefined, code: undefined, hint: undefined, exitCode: null };
  return { message: error.message, stack: error.stack, code: (error as NodeJS.ErrnoException).code, hint: undefined, exitCode: null };
}

export function fromFailure({ message, stack, code, hint, exitCode }: Failure): Error {
  const error = exitCode === null ? Object.assign(new Error(message), { code }) : new MillraceError(exitCode, code ?? '', message, hint === undefined ? {} : { hint });
  if (stack !== undefined) error.stack = stack;
  return error;
}
