import type { InputRecord } from '../reader/types.ts';
import type { JobParts } from './job-parts.ts';
import { printable } from './words.ts';

type Row = Pick<InputRecord, 'file' | 'line'>;

/** What a run warns of once, at the first row of its kind. A retry says nothing, because its run has. */
export interface FirstRowNotices {
  /** More fields than the header: mostly quotes are missing around a delimiter, and something of the row gets lost. */
  readonly surplus: (row: Row) => void;
  /** A row over 4 MiB: what is beyond is lost. */
  readonly tooLong: (row: Row) => void;
  /** The row's address was cleaned: its cell holds more than the address that is asked for. */
  readonly cleaned: (row: Row) => void;
}

export function firstRowNotices({ reporter, checkpoint, retry }: Pick<JobParts, 'reporter' | 'checkpoint' | 'retry'>): FirstRowNotices {
  const once = (code: string, what: string, counted = ' (millrace plan counts such rows)'): ((row: Row) => void) => {
    let told = retry !== null;
    return ({ file, line }) => {
      if (told) return;
      told = true;
      reporter.warn(code, `${printable(checkpoint.manifest.files[file]?.uri ?? '')}, line ${line}, ${what}${counted}`);
    };
  };
  return {
    surplus: once('surplus_fields', 'has more fields than the header: what is beyond is not in the output'),
    tooLong: once('long_row', 'is longer than 4 MiB: it is invalid (bad_row) and keeps the cells that fit; the others are empty in the output', ''),
    cleaned: once('cleaned_address', 'has more than an address in its e-mail cell: the address in it is asked for, and verify.did_you_mean of such a row names it'),
  };
}
