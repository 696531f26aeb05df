import type { InputRecord } from '../../formats/input-record.ts';
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import type { RetrySource } from '../lifecycle/retried-records.ts';
import { printable } from '../../util/display.ts';

type Row = Pick<InputRecord, 'file' | 'line'>;

/** Warnings that a run gives once, at the first row of each kind. A retry gives none, because its run has. */
export interface FirstRowNotices {
  /** More fields than the header, mostly because quotes are missing around a delimiter: a part of the row is lost. */
  readonly surplus: (row: Row) => void;
  /** A row over 4 MiB: the rest of it is lost. */
  readonly tooLong: (row: Row) => void;
  /** A quote is still open after 1 MiB: what looks like rows behind it may be the text of one cell. */
  readonly unclosed: (row: Row) => void;
  /** The row's address was cleaned, because its cell holds more than an address. */
  readonly cleaned: (row: Row) => void;
}

export function firstRowNotices({
  reporter,
  checkpoint,
  retry,
}: {
  readonly reporter: { warn(event: string, text: string): void };
  readonly checkpoint: Checkpoint;
  readonly retry: RetrySource | null;
}): FirstRowNotices {
  const once = (code: string, what: string, counted = ' (millrace plan counts such rows)'): ((row: Row) => void) => {
    let isDone = retry !== null;
    return ({ file, line }) => {
      if (isDone) return;
      isDone = true;
      reporter.warn(code, `${printable(checkpoint.manifest.files[file]?.uri ?? '')}, line ${line}, ${what}${counted}`);
    };
  };
  return {
    surplus: once('surplus_fields', 'has more fields than the header: what is beyond is not in the output'),
    tooLong: once(
      'long_row',
      'is longer than 4 MiB: it is invalid (bad_row) and keeps the cells that fit; the others are empty in the output',
      '',
    ),
    unclosed: once(
      'open_quote',
      'has a quote that is not closed within 1 MiB: it is invalid (bad_row), and each line after it is read and asked for as a row',
      '',
    ),
    cleaned: once(
      'cleaned_address',
      'has more than an address in its e-mail cell: the address in it is asked for, and verify.did_you_mean of such a row names it',
    ),
  };
}
