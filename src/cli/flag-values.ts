/** Flags of commands that take no job: known or not, given once, with a value. */
import { resolve } from 'node:path';
import { UsageError } from '../errors.ts';
import { didYouMean, nearest } from '../job/definition/nearest.ts';
import { isS3Uri } from '../s3/uri.ts';
import type { Invocation } from './invocation.ts';

/** @throws UsageError for a flag that the command has not; one that begins with `prefix` is the command's own matter. */
export function checkFlags(command: string, { flags }: Invocation, known: readonly string[], prefix?: string): void {
  for (const flag of flags.keys()) {
    if (known.includes(flag) || (prefix !== undefined && flag.startsWith(prefix))) continue;
    const near = nearest(flag, known);
    throw new UsageError('unknown_flag', `\`millrace ${command}\` has no flag --${flag.slice(0, 80)}${didYouMean(near === null ? null : `--${near}`)}`);
  }
}

/** The value of a flag, or null when it is not given. @throws UsageError when it is given twice, or without a value. */
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

/** What is written beside a store lies on this machine. @throws UsageError for what lies in S3 */
export function checkLocal(flag: string, path: string): void {
  if (isS3Uri(path)) throw new UsageError('bad_value', `--${flag} must be a file of this machine, got ${JSON.stringify(path.slice(0, 80))}`, { hint: 'Write it here, and copy it to S3 then.' });
}

/** Two flags that name one file, of which one would take the other's place. @throws UsageError naming both */
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

/** One of a few words. @throws UsageError naming them. */
export function wordOf<T extends string>(invocation: Invocation, flag: string, words: readonly T[]): T | null {
  const text = textOf(invocation, flag);
  if (text === null) return null;
  const word = words.find((known) => known === text);
  if (word !== undefined) return word;
  throw new UsageError('bad_value', `--${flag} must be ${words.join(', ')}, got ${JSON.stringify(text.slice(0, 80))}${didYouMean(nearest(text, words))}`);
}
