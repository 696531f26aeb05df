/** Values of the flags of commands that take no job. */
import { resolve } from 'node:path';
import { UsageError } from '../util/errors.ts';
import { didYouMean, nearest } from '../util/nearest.ts';
import { isS3Uri } from '../s3/uri.ts';
import { flagsOf, type CommandName } from './command-flags.ts';
import type { Invocation } from './invocation.ts';

/** @throws UsageError for a flag that the command does not have; flags that begin with `prefix` are left to the command. */
export function checkFlags(command: CommandName, { flags }: Invocation, prefix?: string): void {
  const known = flagsOf(command);
  for (const flag of flags.keys()) {
    if (known.includes(flag) || (prefix !== undefined && flag.startsWith(prefix))) continue;
    const near = nearest(flag, known);
    throw new UsageError(
      'unknown_flag',
      `\`millrace ${command}\` has no flag --${flag.slice(0, 80)}${didYouMean(near === null ? null : `--${near}`)}`,
    );
  }
}

/** The value of a flag; null when it is not given. @throws UsageError when it is given twice, or without a value */
export function textOf({ flags }: Invocation, flag: string): string | null {
  const value = flags.get(flag);
  if (value === undefined) return null;
  if (typeof value === 'string' && value !== '') return value;
  if (typeof value === 'object') throw new UsageError('repeated_flag', `--${flag} is given more than once`);
  throw new UsageError('missing_value', `--${flag} needs a value`);
}

/** Whether a flag without a value is given. */
export function switchOf({ flags }: Invocation, flag: string): boolean {
  return flags.get(flag) === true;
}

/** The store's file. @throws UsageError when none is named. */
export function storeOf(command: string, invocation: Invocation): string {
  const store = textOf(invocation, 'store');
  if (store !== null) return store;
  throw new UsageError('no_store', `millrace ${command} needs to know which store`, { hint: 'Name its file: --store service.sqlite.' });
}

/** Files beside a store lie on this machine. @throws UsageError for an S3 uri */
export function requireLocalFile(flag: string, path: string): void {
  if (isS3Uri(path))
    throw new UsageError('bad_value', `--${flag} must be a file of this machine, got ${JSON.stringify(path.slice(0, 80))}`, {
      hint: 'Write it here, and copy it to S3 then.',
    });
}

/** Refuses two flags that name one file, because one file would replace the other. @throws UsageError naming both */
export function checkApart(files: readonly { readonly flag: string; readonly path: string }[], hint: string): void {
  files.forEach(({ flag, path }, index) => {
    const taken = files.slice(0, index).find((other) => resolve(other.path) === resolve(path));
    if (taken !== undefined) throw new UsageError('same_file', `--${flag} and --${taken.flag} name the same file: ${path}`, { hint });
  });
}

/** A whole number from 0. @throws UsageError */
export function wholeOf(invocation: Invocation, flag: string, max: number): number | null {
  const text = textOf(invocation, flag);
  if (text === null) return null;
  if (/^\d{1,15}$/.test(text) && Number(text) <= max) return Number(text);
  throw new UsageError('bad_value', `--${flag} must be a whole number from 0 to ${max}, got ${JSON.stringify(text.slice(0, 80))}`);
}

/** The value of a flag with a fixed set of words. @throws UsageError naming them */
export function wordOf<T extends string>(invocation: Invocation, flag: string, words: readonly T[]): T | null {
  const text = textOf(invocation, flag);
  if (text === null) return null;
  const word = words.find((known) => known === text);
  if (word !== undefined) return word;
  throw new UsageError(
    'bad_value',
    `--${flag} must be ${words.join(', ')}, got ${JSON.stringify(text.slice(0, 80))}${didYouMean(nearest(text, words))}`,
  );
}
