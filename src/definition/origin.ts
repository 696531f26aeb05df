/** The origin of a value, so that every refusal can name it and has the right exit code. */
import { ConfigError, UsageError } from '../util/errors.ts';

export type Origin =
  | { readonly layer: 'file'; readonly path: string; readonly key: string; readonly line: number | null }
  | { readonly layer: 'env'; readonly variable: string }
  | { readonly layer: 'flag'; readonly flag: string };

/** Characters after which values are cut in messages. */
const MAX_SHOWN = 80;

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

/** A value for a message: as JSON, cut, and without the credentials of a URL. */
export function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = withoutCredentials(JSON.stringify(value) ?? typeof value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/** Removes user names, passwords and queries of URLs, which may be secrets. */
function withoutCredentials(text: string): string {
  return text.replaceAll(/(:\/\/)[^/\s"]*@/g, '$1***@').replaceAll(/(:\/\/[^\s"?]*\?)[^\s"]*/g, '$1***');
}
