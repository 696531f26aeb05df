/** The origin of a value, so that every refusal can name it and has the right exit code. */
import { ConfigError, UsageError } from '../util/errors.ts';

export { show } from '../util/show.ts';

export type Origin =
  | { readonly layer: 'file'; readonly path: string; readonly key: string; readonly line: number | null }
  | { readonly layer: 'env'; readonly variable: string }
  | { readonly layer: 'flag'; readonly flag: string };

/** The name of the thing to change, as its author wrote it: a dotted key, a variable or a flag. */
export function originName(origin: Origin): string {
  switch (origin.layer) {
    case 'file':
      return origin.key;
    case 'env':
      return origin.variable;
    case 'flag':
      return `--${origin.flag}`;
    default:
      return origin satisfies never;
  }
}

/** ` (jobs/nightly.yaml, line 12)` for a job file; empty for flags and variables, whose name is enough. */
export function placeOf(origin: Origin): string {
  if (origin.layer !== 'file') return '';
  return ` (${origin.path}${origin.line === null ? '' : `, line ${origin.line}`})`;
}

/** The error for a bad value or name: 64 for a flag, 78 for the job file and the environment. */
export function refusal(origin: Origin, code: string, message: string, hint?: string): UsageError | ConfigError {
  const options = hint === undefined ? {} : { hint };
  const text = `${message}${placeOf(origin)}`;
  return origin.layer === 'flag' ? new UsageError(code, text, options) : new ConfigError(code, text, options);
}
