import { MillraceError } from '../../src/util/errors.ts';
import { compileJob } from '../../src/definition/compile-job.ts';
import type { JobSources } from '../../src/definition/compile-job.ts';
import type { FlagValue } from '../../src/definition/layers.ts';
import type { CompiledJob } from '../../src/definition/compiled-job.ts';

export const TODAY = '2026-03-01';
export type Flags = Readonly<Record<string, FlagValue>>;

/** The smallest valid job. */
export const LEAST: Flags = { input: 'leads.csv', output: 'out/leads.jsonl.gz', embedded: true };

export function sources(given: {
  file?: unknown;
  env?: NodeJS.ProcessEnv;
  flags?: Flags;
  date?: string;
  lines?: ReadonlyMap<string, number>;
}): JobSources {
  return {
    file:
      given.file === undefined ? null : { path: 'jobs/nightly.yaml', name: 'nightly', value: given.file, lines: given.lines ?? new Map() },
    env: given.env ?? {},
    flags: new Map(Object.entries(given.flags ?? {})),
    date: given.date ?? null,
    now: new Date(`${TODAY}T23:30:00Z`),
  };
}

export function compiled(given: Parameters<typeof sources>[0]): CompiledJob {
  return compileJob(sources(given)).job;
}

/** The refusal that `work` throws. */
export function refusalOf(work: () => unknown): MillraceError {
  try {
    work();
  } catch (error) {
    if (error instanceof MillraceError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

/** The parts of a job that say how fast its one service is asked. @param rpm requests a minute; null is unlimited */
export function paced(rpm: number | null): Pick<CompiledJob, 'namesProviders' | 'providers'> {
  const { namesProviders, providers } = compiled({ flags: rpm === null ? LEAST : { ...LEAST, rpm: String(rpm) } });
  return { namesProviders, providers };
}
