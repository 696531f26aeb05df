import { EXIT, type ExitCode } from '../errors.ts';
import type { Tally } from '../writer/tally.ts';
import type { CompiledJob } from './types.ts';

/** How a finished run exits: 1 when more records failed than `limits.maxErrors` allows, else 0. Pure. */
export function finishedExitCode({ limits: { maxErrors } }: Pick<CompiledJob, 'limits'>, tally: Tally): ExitCode {
  const allowed = 'count' in maxErrors ? maxErrors.count : maxErrors.share * tally.total;
  return tally.outcomes.failed > allowed ? EXIT.tooManyFailed : EXIT.ok;
}
