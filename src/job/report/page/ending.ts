/** How the job ended, and what to do about it, as docs/exit-codes.md has it. Pure. */
import { sideFilePath } from '../../../definition/output-shape.ts';
import type { Report } from '../report.ts';
import { count } from '../../../util/display.ts';
import { codeElement, linkBeside, named } from './words.ts';

interface Ending {
  /** HTML, as are the sentences of `next`. */
  readonly words: string;
  readonly kind: 'good' | 'warn' | 'bad';
  /** Next actions, in this order. */
  readonly next: readonly string[];
}

export function endingOf({
  exitCode,
  exitReasons = [],
  records,
  output,
  open,
}: Pick<Report, 'exitCode' | 'exitReasons' | 'records' | 'output' | 'open'>): Ending {
  const { failed, invalid } = records;
  const errors = linkBeside(sideFilePath(output.uri, 'errors'));
  const next = [
    ...(failed > 0
      ? [
          `${errors} names each failed record and why it failed. ${codeElement('millrace retry')}, ` +
            'with the same job and flags, asks again for these and for nothing else.',
        ]
      : []),
    ...(open === undefined
      ? []
      : [
          `${linkBeside(sideFilePath(output.uri, 'open'))} names each row that lacks a field because a provider was skipped or failed. ` +
            `${codeElement('millrace retry')} asks the providers that gave no answer, and no other.`,
        ]),
    ...(invalid > 0
      ? [
          `${errors} names each invalid record with its line: there was nothing to look ` +
            'up in it, or it could not be read. Mend these in the input, or leave them out.',
        ]
      : []),
  ];
  if (exitCode === 1 && failed === 0) next.push('Compare the rates with those of the last run, and look at the input.');
  return { ...statement(exitCode, failed, exitReasons), next: next.length === 0 ? ['Nothing.'] : next };
}

function statement(exitCode: number | null, failed: number, reasons: readonly string[]): Pick<Ending, 'words' | 'kind'> {
  const records = `${count(failed)} ${failed === 1 ? 'record' : 'records'}`;
  switch (exitCode) {
    case null:
      return { words: 'Not finished', kind: 'warn' };
    case 0:
      if (failed === 0) return { words: 'Finished (exit code 0)', kind: 'good' };
      return { words: `Finished (exit code 0): ${records} failed, no more than ${codeElement('limits.maxErrors')} permits`, kind: 'warn' };
    case 1:
      return { words: `Finished with exit code 1${reasons.length === 0 ? '' : `: ${reasons.map(named).join('; ')}`}`, kind: 'bad' };
    default:
      return { words: `Ended with exit code ${exitCode}`, kind: 'bad' };
  }
}
