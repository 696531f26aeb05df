import { MillraceError } from '../../../src/errors.ts';
import { compileJob } from '../../../src/job/definition/compile-job.ts';
import type { JobSources } from '../../../src/job/definition/compile-job.ts';
import type { FlagValue } from '../../../src/job/definition/layers.ts';
import type { CompiledJob } from '../../../src/job/types.ts';

export const TODAY = '2026-03-01';
export type Flags = Readonly<Record<string, FlagValue>>;

/** The least that is a job. */
export const LEAST: Flags = { input: 'leads.csv', output: 'out/leads.jsonl.gz', embedded: true };

export function sources(given: { file?: unknown; env?: NodeJS.ProcessEnv; flags?: Flags; date?: string; lines?: ReadonlyMap<string, number> }): JobSources {
  return {
    file: given.file === undefined ? null : { path: 'jobs/nightly.yaml', name: 'nightly', value: given.file, lines: given.lines ?? new Map() },
    env: given.env ?? {},
    flags: new Map(Object.entries(given.flags ?? {})),
    date: given.date ?? null,
    today: TODAY,
  };
}

export function compiled(given: Parameters<typeof sources>[0]): CompiledJob {
  return compileJob(sources(given)).job;
}

/** The refusal that `work` ends in. */
export function refusalOf(work: () => unknown): MillraceError {
  try {
    work();
  } catch (error) {
    if (error instanceof MillraceError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}
