/** Finds a job file and has it parsed. */
import { join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DocumentKind } from '../documents/document-kind.ts';
import { findDocument, isFile, isFolder, isPath, nameOf, namesIn } from '../documents/find-document.ts';
import { readDocument } from '../documents/read-document.ts';
import { ConfigError } from '../util/errors.ts';
import { hasJobKeys, inputHint, isDataFile, isInputByName, notAJob } from './data-as-job.ts';
import { SECTIONS } from './keys.ts';
import type { JobFile } from './layers.ts';
import { isObject } from '../util/is-object.ts';
import { didYouMean, nearest } from '../util/nearest.ts';
import { show } from './origin.ts';

/** A line that only a job file has. */
const JOB_LINE = new RegExp(`^\\s*[{"']*(?:${(SECTIONS.get('') ?? []).join('|')})["']?\\s*:`, 'm');
/** Jobs that come with the package. Source and build lie at the same depth. */
const PACKAGE_JOBS = fileURLToPath(new URL('../../jobs', import.meta.url));
const FOLDERS = ['jobs', PACKAGE_JOBS];
const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));

export const JOB_FILE: DocumentKind = {
  noun: 'job file',
  content: 'job',
  codes: { syntax: 'job_syntax', unreadable: 'job_unreadable', tooLarge: 'job_too_large' },
  quoted: '"*.csv"',
  adviceFor: inputHint,
};

/**
 * Reads a job by path, or by name in `jobs/` of the working directory, then in the package's own `jobs/`. YAML 1.2 (core schema) or JSON.
 * A packaged job may name an input of the package. It is found there when the working directory lacks the file, so the sample job runs from
 * any folder.
 * @throws ConfigError: not found, unreadable, too large, not UTF-8, bad syntax (with the line)
 */
export async function loadJobFile(ref: string): Promise<JobFile> {
  const path = await findJob(ref);
  if (isDataFile(path)) throw notAJob(path, 'is data by its name, and not a job file');
  const { value, lines } = await parsed(await readDocument(path, JOB_FILE), path);
  if (resolve(path).startsWith(PACKAGE_JOBS + sep)) await findInPackage(value);
  return { path, name: nameOf(path), value, lines };
}

/** @throws ConfigError `job_syntax`; or `job_is_data` when the file has no key of a job, which then shows nothing of its content */
async function parsed(text: string, path: string): Promise<Pick<JobFile, 'value'> & { readonly lines: ReadonlyMap<string, number> }> {
  // Loaded on demand, because a run from flags alone does not need the parser.
  const { parseDocument } = await import('../documents/parse-document.ts');
  try {
    const job = parseDocument(text, path, JOB_FILE);
    if (job.value === null || job.value === undefined || hasJobKeys(job.value)) return job;
  } catch (error) {
    if (JOB_LINE.test(text)) throw error;
    throw notAJob(path, 'is not a job file: it is no YAML or JSON with the keys of a job');
  }
  throw notAJob(path, 'is not a job file: it has none of the keys of a job');
}

async function findJob(ref: string): Promise<string> {
  const found = await findDocument(ref, FOLDERS);
  if (found !== null) return found;
  if (await isFolder(ref)) throw notAJob(ref, 'is a folder, and not a job file');
  throw await notFound(ref);
}

/** The value is not validated yet and may be anything, because users may write into the package's folder. */
async function findInPackage(job: unknown): Promise<void> {
  const input = isObject(job) ? job['input'] : null;
  if (!isObject(input) || typeof input['uri'] !== 'string' || (await isFile(input['uri']))) return;
  const packaged = join(PACKAGE, input['uri']);
  if (await isFile(packaged)) Object.assign(input, { uri: packaged });
}

async function notFound(ref: string): Promise<ConfigError> {
  if (isInputByName(ref)) return new ConfigError('job_not_found', `There is no job file ${show(ref)}`, { hint: inputHint(ref) });
  if (isPath(ref))
    return new ConfigError('job_not_found', `There is no job file ${show(ref)}`, { hint: 'Paths start at the working directory.' });
  const known = await namesIn(FOLDERS);
  const listed = known.slice(0, 20);
  return new ConfigError(
    'job_not_found',
    `There is no job ${show(ref)}, neither as a path nor under jobs/${didYouMean(nearest(ref, known))}`,
    {
      hint: listed.length === 0 ? 'Write one as jobs/NAME.yaml, or give the path of a job file.' : `Jobs here: ${listed.join(', ')}.`,
    },
  );
}
