/** The context of a job's compilation, for the parts of it. */
import type { CompiledProvider } from '../providers/compiled-provider.ts';
import { ConfigError, UsageError } from '../util/errors.ts';
import type { FlagValue, JobFile } from './layers.ts';
import type { Origin } from './origin.ts';

export interface JobSources {
  readonly file: JobFile | null;
  readonly env: NodeJS.ProcessEnv;
  /** By flag name as typed, without the leading `--`. The flags of one execution (`fresh`, `date`, ...) are left out. */
  readonly flags: ReadonlyMap<string, FlagValue>;
  /** `--date`, YYYY-MM-DD, or null. */
  readonly date: string | null;
  readonly now: Date;
  /** The definitions that `definitionsNamed` returns the names of. Absent for a job without providers. */
  readonly definitions?: ReadonlyMap<string, CompiledProvider>;
}

/** The context of the relation checks: the origin of each value, and the date and variables for its placeholders. */
export interface CompileContext {
  readonly sources: JobSources;
  readonly warnings: string[];
  readonly originOf: (path: string) => Origin | null;
  /** Paths of all keys that a layer sets. */
  readonly paths: readonly string[];
  /** `daysAgo`: what {date} stood for then; 0 when left out. */
  readonly expand: (uri: string, path: string, daysAgo?: number) => string;
}

/** The refusal of a job without a key that it needs. @param flag with an example of its value */
export function missing(code: string, key: string, flag: string, context: CompileContext): Error {
  const { file } = context.sources;
  const hint = `Say ${flag}, or set ${key} in a job file.`;
  if (file === null)
    return new UsageError(code, `There is no job file, and ${flag} is not given`, {
      hint: `${hint} \`millrace run sample\` runs the sample job.`,
    });
  return new ConfigError(code, `${key} is missing (${file.path})`, { hint });
}
