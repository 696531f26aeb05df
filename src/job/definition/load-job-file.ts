/** Finds, bounds and parses a job file. */
import { open, readdir, stat } from 'node:fs/promises';
import { basename, extname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMap, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml';
import type { Node } from 'yaml';
import { ConfigError } from '../../errors.ts';
import type { JobFile } from './layers.ts';
import { didYouMean, nearest } from './nearest.ts';
import { show } from './origin.ts';

/** A job file is a page of text; what is larger is something else. */
export const MAX_JOB_BYTES = 1024 * 1024;
/** Aliases may multiply a document: at most this many times one anchor. */
const MAX_ALIASES = 100;
/** Deeper than any key, and shallow enough for every recursion. */
const MAX_DEPTH = 64;
const EXTENSIONS = ['.yaml', '.yml', '.json'];
/** Jobs that come with the package: the same distance from the source and from the build. */
const PACKAGE_JOBS = fileURLToPath(new URL('../../../jobs', import.meta.url));
const FOLDERS = ['jobs', PACKAGE_JOBS];
const PACKAGE = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * Reads a job by path, or by name under `jobs/` of the working directory, then under the package's own `jobs/`. An input that comes with
 * the package as well is found there when the working directory has none of its name: the sample job runs from any folder.
 * YAML 1.2 (core schema) or JSON. Throws ConfigError: not found, unreadable, too large, not UTF-8, bad syntax (with the line).
 */
export async function loadJobFile(ref: string): Promise<JobFile> {
  const path = await findJob(ref);
  const { value, lines } = parseJob(await readBounded(path), path);
  if (resolve(path).startsWith(PACKAGE_JOBS + sep)) await findInPackage(value);
  const extension = extname(path);
  return { path, name: basename(path, EXTENSIONS.includes(extension.toLowerCase()) ? extension : ''), value, lines };
}

async function findJob(ref: string): Promise<string> {
  const hasExtension = EXTENSIONS.includes(extname(ref).toLowerCase());
  const isPath = ref.includes('/') || ref.includes('\\');
  const names = hasExtension ? [ref] : EXTENSIONS.map((extension) => `${ref}${extension}`);
  const inFolders = isPath ? [] : FOLDERS.flatMap((folder) => names.map((name) => join(folder, name)));
  // A bare word means a job's name first; with an extension or a slash it looks like a path, and is one first.
  const places = hasExtension || isPath ? [ref, ...inFolders] : [...inFolders, ref];
  for (const place of places) if (await isFile(place)) return place;
  throw await notFound(ref, isPath);
}

/** Of whoever writes into the package's folder nothing is known yet: the value may be anything. */
async function findInPackage(job: unknown): Promise<void> {
  const input = isMapping(job) ? job['input'] : null;
  if (!isMapping(input) || typeof input['uri'] !== 'string' || (await isFile(input['uri']))) return;
  const packaged = join(PACKAGE, input['uri']);
  if (await isFile(packaged)) input['uri'] = packaged;
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

async function isFile(path: string): Promise<boolean> {
  try {
    return !(await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

async function notFound(ref: string, isPath: boolean): Promise<ConfigError> {
  if (isPath) return new ConfigError('job_not_found', `There is no job file ${show(ref)}`, { hint: 'Paths start at the working directory.' });
  const known = new Set<string>();
  for (const folder of FOLDERS) {
    for (const file of await readdir(folder).catch(() => [])) {
      if (EXTENSIONS.includes(extname(file))) known.add(basename(file, extname(file)));
    }
  }
  const listed = [...known].sort().slice(0, 20);
  return new ConfigError('job_not_found', `There is no job ${show(ref)}, neither as a path nor under jobs/${didYouMean(nearest(ref, known))}`, {
    hint: listed.length === 0 ? 'Write one as jobs/NAME.yaml, or give the path of a job file.' : `Jobs here: ${listed.join(', ')}.`,
  });
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
    throw new ConfigError('job_too_large', `${path} is larger than 1 MiB: that is no job file`, { hint: 'Give data to --input; JOB is a YAML or JSON file.' });
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length));
  } catch (cause) {
    throw new ConfigError('job_syntax', `${path} is not UTF-8 text`, { cause, hint: 'Save it as UTF-8.' });
  }
}

/** Parses YAML or JSON; a missing document is an empty job. Exported for tests. */
export function parseJob(text: string, path: string): { value: unknown; lines: ReadonlyMap<string, number> } {
  const refuse = (line: number | null, problem: string, cause?: unknown): ConfigError =>
    new ConfigError('job_syntax', `${path}${line === null ? '' : `, line ${line}`}: ${problem}`, {
      cause,
      hint: 'A job file is one YAML or JSON mapping. Values that begin with * { [ | or a comma are put in quotes: "*.csv".',
    });
  const deep = tooDeep(text);
  if (deep !== null) throw refuse(deep, `brackets are nested more than ${MAX_DEPTH} deep`);
  const counter = new LineCounter();
  try {
    // uniqueKeys compares each key with each: quadratic. collectLines finds repeated keys instead.
    const document = parseDocument(text, { version: '1.2', schema: 'core', uniqueKeys: false, strict: true, prettyErrors: false, lineCounter: counter });
    const problem = document.errors[0] ?? document.warnings[0];
    if (problem !== undefined) throw refuse(counter.linePos(problem.pos[0]).line, inWords(problem));
    visit(document, {
      Alias: (_, alias) => {
        if (alias.resolve(document) !== undefined) return;
        const line = alias.range ? counter.linePos(alias.range[0]).line : null;
        throw refuse(line, `*${alias.source.slice(0, 100)} is an alias of nothing`);
      },
    });
    const lines = new Map<string, number>();
    collectLines(document.contents, '', lines, (range) => (range ? counter.linePos(range[0]).line : null), refuse);
    return { value: document.toJS({ maxAliasCount: MAX_ALIASES }) as unknown, lines };
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    throw refuse(null, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

/** The line where brackets first nest too deep, quotes and comments aside (so: at most that deep), or null. */
function tooDeep(text: string): number | null {
  let depth = 0;
  let line = 1;
  for (const char of text) {
    if (char === '\n') line += 1;
    else if (char === '[' || char === '{') depth += 1;
    else if (char === ']' || char === '}') depth -= 1;
    if (depth > MAX_DEPTH) return line;
  }
  return null;
}

/** The parser's words, except where they speak to programmers. */
function inWords(problem: { code: string; message: string }): string {
  if (problem.code === 'MULTIPLE_DOCS') return 'a second document begins here: a job file holds one job';
  if (problem.message.includes('call stack')) return 'it is nested too deep';
  return problem.message;
}

type Refuse = (line: number | null, problem: string) => ConfigError;
type LineOf = (range: Node['range']) => number | null;

/** Notes the line of each key. Throws where a mapping has a key twice, or one that is no plain word. */
function collectLines(node: Node | null, path: string, lines: Map<string, number>, lineOf: LineOf, refuse: Refuse): void {
  // Mappings in lists are no keys of a job, so they need no path; each has its own names.
  if (isSeq(node)) for (const item of node.items) collectLines(item as Node | null, '', new Map(), lineOf, refuse);
  if (!isMap(node)) return;
  for (const { key, value } of node.items) {
    if (!isScalar(key)) throw refuse(lineOf(node.range), 'a key must be plain text: put it in quotes');
    const name = path === '' ? String(key.value) : `${path}.${String(key.value)}`;
    const line = lineOf(key.range);
    const first = lines.get(name);
    if (first !== undefined) throw refuse(line, `the key ${name.slice(0, 100)} is given twice, first on line ${first}`);
    lines.set(name, line ?? 0);
    collectLines(value as Node | null, name, lines, lineOf, refuse);
  }
}
