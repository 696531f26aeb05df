import { EXIT, type ExitCode } from '../../util/errors.ts';
import type { Tally } from '../../writer/tally.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';

/** How a finished run exits: 1 when more records failed than `limits.maxErrors` allows, else 0. Pure. */
export function finishedExitCode({ limits: { maxErrors } }: Pick<CompiledJob, 'limits'>, tally: Tally): ExitCode {
  const {
    total,
    outcomes: { failed },
  } = tally;
  // The share is divided, and not multiplied: 0.29 * 100 is less than 29, and 29 / 100 is 0.29.
  const isOver = 'count' in maxErrors ? failed > maxErrors.count : failed / total > maxErrors.share;
  return isOver ? EXIT.tooManyFailed : EXIT.ok;
}
