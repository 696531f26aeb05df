/** Finds a job file, limits its size, and has it parsed. */
import { open, readdir, stat } from 'node:fs/promises';
import { basename, extname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigError } from '../util/errors.ts';
import { hasJobKeys, inputHint, isDataFile, isInputByName, notAJob } from './data-as-job.ts';
import { SECTIONS } from './keys.ts';
import type { JobFile } from './layers.ts';
import { didYouMean, nearest } from '../util/nearest.ts';
import { show } from './origin.ts';

/** Bytes. A job file is a page of text. */
export const MAX_JOB_BYTES = 1024 * 1024;
const EXTENSIONS = ['.yaml', '.yml', '.json'];
/** A line that only a job file has. */
const JOB_LINE = new RegExp(`^\\s*[{"']*(?:${(SECTIONS.get('') ?? []).join('|')})["']?\\s*:`, 'm');
/** Jobs that come with the package. Source and build lie at the same depth. */
const PACKAGE_JOBS = fileURLToPath(new URL('../../jobs', import.meta.url));
const FOLDERS = ['jobs', PACKAGE_JOBS];
const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Reads a job by path, or by name in `jobs/` of the working directory, then in the package's own `jobs/`. YAML 1.2 (core schema) or JSON.
 * A packaged job may name an input of the package. It is found there when the working directory lacks the file, so the sample job runs from
 * any folder.
 * @throws ConfigError: not found, unreadable, too large, not UTF-8, bad syntax (with the line)
 */
export async function loadJobFile(ref: string): Promise<JobFile> {
  const path = await findJob(ref);
  if (isDataFile(path)) throw notAJob(path, 'is data by its name, and not a job file');
  const { value, lines } = await parsed(await readBounded(path), path);
  if (resolve(path).startsWith(PACKAGE_JOBS + sep)) await findInPackage(value);
  const extension = extname(path);
  return { path, name: basename(path, EXTENSIONS.includes(extension.toLowerCase()) ? extension : ''), value, lines };
}

/** @throws ConfigError `job_syntax`; or `job_is_data` when the file has no key of a job, which then shows nothing of its content */
async function parsed(text: string, path: string): Promise<Pick<JobFile, 'value'> & { readonly lines: ReadonlyMap<string, number> }> {
  // Loaded on demand, because a run from flags alone does not need the parser.
  const { parseJob } = await import('./parse-job.ts');
  try {
    const job = parseJob(text, path);
    if (job.value === null || job.value === undefined || hasJobKeys(job.value)) return job;
  } catch (error) {
    if (JOB_LINE.test(text)) throw error;
    throw notAJob(path, 'is not a job file: it is no YAML or JSON with the keys of a job');
  }
  throw notAJob(path, 'is not a job file: it has none of the keys of a job');
}

async function findJob(ref: string): Promise<string> {
  const hasExtension = EXTENSIONS.includes(extname(ref).toLowerCase());
  const isPath = ref.includes('/') || ref.includes('\\');
  const names = hasExtension ? [ref] : EXTENSIONS.map((extension) => `${ref}${extension}`);
  const inFolders = isPath ? [] : FOLDERS.flatMap((folder) => names.map((name) => join(folder, name)));
  // A bare word is tried as a job's name first. With an extension or a slash it is tried as a path first.
  const places = hasExtension || isPath ? [ref, ...inFolders] : [...inFolders, ref];
  for (const place of places) if (await isFile(place)) return place;
  if (await isFolder(ref)) throw notAJob(ref, 'is a folder, and not a job file');
  throw await notFound(ref, isPath);
}

/** The value is not validated yet and may be anything, because users may write into the package's folder. */
async function findInPackage(job: unknown): Promise<void> {
  const input = isMapping(job) ? job['input'] : null;
  if (!isMapping(input) || typeof input['uri'] !== 'string' || (await isFile(input['uri']))) return;
  const packaged = join(PACKAGE, input['uri']);
  if (await isFile(packaged)) input['uri'] = packaged;
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

async function isFile(path: string): Promise<boolean> {
  try {
    return !(await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

async function notFound(ref: string, isPath: boolean): Promise<ConfigError> {
  if (isInputByName(ref)) return new ConfigError('job_not_found', `There is no job file ${show(ref)}`, { hint: inputHint(ref) });
  if (isPath)
    return new ConfigError('job_not_found', `There is no job file ${show(ref)}`, { hint: 'Paths start at the working directory.' });
  const known = new Set<string>();
  for (const folder of FOLDERS) {
    for (const file of await readdir(folder).catch(() => [])) {
      if (EXTENSIONS.includes(extname(file))) known.add(basename(file, extname(file)));
    }
  }
  const listed = [...known].sort().slice(0, 20);
  return new ConfigError(
    'job_not_found',
    `There is no job ${show(ref)}, neither as a path nor under jobs/${didYouMean(nearest(ref, known))}`,
    {
      hint: listed.length === 0 ? 'Write one as jobs/NAME.yaml, or give the path of a job file.' : `Jobs here: ${listed.join(', ')}.`,
    },
  );
}

async function readBounded(path: string): Promise<string> {
  const bytes = new Uint8Array(MAX_JOB_BYTES + 1);
  let length = 0;
  try {
    await using file = await open(path, 'r');
    while (length < bytes.length) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length, null);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
  } catch (cause) {
    const message = `The job file ${path} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new ConfigError('job_unreadable', message, { cause, hint: 'Check its permissions.' });
  }
  if (length > MAX_JOB_BYTES) {
    throw new ConfigError('job_too_large', `${path} is larger than 1 MiB: that is no job file`, { hint: inputHint(path) });
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length));
  } catch (cause) {
    throw new ConfigError('job_syntax', `${path} is not UTF-8 text`, { cause, hint: `A job file is saved as UTF-8. ${inputHint(path)}` });
  }
}
