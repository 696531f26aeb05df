import type { CompiledJob } from '../../definition/compiled-job.ts';

/** The command that resumes a stopped run. After midnight a dated job is that of another day, unless its day is named. */
export function resumesBy({ day }: Pick<CompiledJob, 'day'>): string {
  return `the same command${day === null ? '' : ` with --date ${day}`} resumes`;
}
