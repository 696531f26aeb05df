import type { InputRecord } from '../reader/types.ts';
import type { JobParts } from './job-parts.ts';
import { printable } from './words.ts';

/**
 * Tells of the first row that has more fields than the header, and of no other: mostly quotes are missing around a delimiter, and something
 * of the row gets lost. A retry says nothing, because its run has.
 */
export function surplusNotice({ reporter, checkpoint, retry }: Pick<JobParts, 'reporter' | 'checkpoint' | 'retry'>): (record: Pick<InputRecord, 'file' | 'line'>) => void {
  let told = retry !== null;
  return ({ file, line }) => {
    if (told) return;
    told = true;
    const uri = printable(checkpoint.manifest.files[file]?.uri ?? '');
    reporter.warn('surplus_fields', `${uri}, line ${line}, has more fields than the header: what is beyond is not in the output (millrace plan counts such rows)`);
  };
}
