/** Tells data from a job file, so that a file of contacts given as JOB is named as such and none of its rows is shown. Pure. */
import { ConfigError } from '../../errors.ts';
import { KEYS, SECTIONS } from './keys.ts';
import { nearest } from './nearest.ts';
import { show } from './origin.ts';

const DATA_FILE = /\.(?:csv|tsv|tab|psv|jsonl|ndjson|xlsx?|parquet|gz|zst|zip)$/i;
const NO_FILE = /^s3:\/\/|^-$|[*?]/i;
const ENDING = /(\.(?:csv|tsv|jsonl|ndjson))?(\.(?:gz|zst))?$/i;
/** Letters that no shell acts on. */
const PLAIN_WORD = /^[\w@%+=:,./-]+$/;

/** True where the extension alone says that a file is no job. */
export function isDataFile(path: string): boolean {
  return DATA_FILE.test(path);
}

/** True where an input was meant, whether or not there is such a file: also an object in S3, a glob, or standard input. */
export function isInputByName(ref: string): boolean {
  return isDataFile(ref) || NO_FILE.test(ref);
}

/** Whether a parsed file has at least one key that a job has, or that was meant to be one. */
export function hasJobKeys(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const names = Object.keys(value);
  const leaves = KEYS.flatMap(({ path, flag }) => [path, flag, path.slice(path.lastIndexOf('.') + 1)]);
  const known = [...(SECTIONS.get('') ?? []), ...leaves];
  return names.length === 0 || names.some((name) => nearest(name, known) !== null);
}

/** @param what completes "contacts.tsv ...", such as `is a folder, and not a job file` */
export function notAJob(ref: string, what: string): ConfigError {
  return new ConfigError('job_is_data', `${show(ref)} ${what}`, { hint: inputHint(ref) });
}

/** What to type instead. */
export function inputHint(ref: string): string {
  return `JOB is a YAML or JSON file. Data goes to --input: --input ${quoted(ref)} --output ${quoted(outputFor(ref))}`;
}

/** `contacts.enriched.tsv.gz` for `contacts.tsv.gz`; beside the input, but for what is in no folder of this machine. */
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
