/** Recognises a file of contacts that was given as JOB. The error names the mistake and does not show its rows. Pure. */
import { ConfigError } from '../util/errors.ts';
import { KEYS, SECTIONS } from './keys.ts';
import { nearest } from '../util/nearest.ts';
import { show } from './origin.ts';
import { isObject } from '../util/is-object.ts';

const DATA_FILE = /\.(?:csv|tsv|tab|psv|jsonl|ndjson|xlsx?|parquet|gz|zst|zip)$/i;
const NO_FILE = /^s3:\/\/|^-$|[*?]/i;
const ENDING = /(\.(?:csv|tsv|jsonl|ndjson|parquet))?(\.(?:gz|zst))?$/i;
/** Characters that no shell interprets. */
const PLAIN_WORD = /^[\w@%+=:,./-]+$/;

/** True when the extension alone shows that a file is not a job. */
export function isDataFile(path: string): boolean {
  return DATA_FILE.test(path);
}

/** True for a name that means an input, existing or not: also an object in S3, a glob, or standard input. */
export function isInputByName(ref: string): boolean {
  return isDataFile(ref) || NO_FILE.test(ref);
}

/** True when a parsed file has a key of a job, or a misspelling of one. */
export function hasJobKeys(value: unknown): boolean {
  if (!isObject(value)) return false;
  const names = Object.keys(value);
  const leaves = KEYS.flatMap(({ path, flag }) => [path, flag, path.slice(path.lastIndexOf('.') + 1)]);
  const known = [...(SECTIONS.get('') ?? []), ...leaves];
  return names.length === 0 || names.some((name) => nearest(name, known) !== null);
}

/** @param what completes "contacts.tsv ...", such as `is a folder, and not a job file` */
export function notAJob(ref: string, what: string): ConfigError {
  return new ConfigError('job_is_data', `${show(ref)} ${what}`, { hint: inputHint(ref) });
}

/** The command to type instead. */
export function inputHint(ref: string): string {
  return `JOB is a YAML or JSON file. Data goes to --input: --input ${quoted(ref)} --output ${quoted(outputFor(ref))}`;
}

/**
 * `contacts.enriched.tsv.gz` for `contacts.tsv.gz`. It lies beside the input, or in the working directory for an input that is not on this
 * machine.
 */
function outputFor(ref: string): string {
  if (ref === '-' || /[*?]/.test(ref) || ref.startsWith('s3://')) return 'enriched.csv';
  const stem = ref.replace(/\/+$/, '');
  const [, format, compression] = ENDING.exec(stem) ?? [];
  const bare = stem.slice(0, stem.length - (format?.length ?? 0) - (compression?.length ?? 0));
  return `${bare}.enriched${format ?? '.csv'}${format === undefined ? '' : (compression ?? '')}`;
}

function quoted(word: string): string {
  return PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
