/**
 * Takes the lists anew from the packages that publish them: `node data/lists/refresh.ts [YYYY-MM-DD]`, by hand, with npm at hand.
 * Nothing runs it at build, install or run time. The date is the day on which the lists were taken, by default today.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { toAsciiDomain } from '../../src/verification/domain.ts';
import { TYPO_DOMAINS } from '../../src/verification/lists/typos.ts';
import { registrableDomain } from '../../src/verification/registrable.ts';

const run = promisify(execFile);
const FOLDER = new URL('./', import.meta.url);

/** Packages are named with the version whose data is known to be good; a new version is looked at before it is written here. */
const PACKAGES = {
  disposable: { name: 'disposable-email-domains-js', version: '1.26.0', licence: 'CC0-1.0', file: 'dist/dict/disposable_email_blocklist.json' },
  'disposable-wide': { name: 'mailchecker', version: '6.0.21', licence: 'MIT', file: 'platform/node/index.js' },
  free: { name: 'freemail', version: '1.7.0', licence: 'ISC', file: 'data/free.txt' },
  role: { name: 'role-based-email-addresses', version: '3.1.0', licence: 'MIT', file: 'src/index.js' },
} as const;

type ListName = keyof typeof PACKAGES;

/** Words of the role list that are also what people are called, or too short to mean anything. */
const NO_ROLES = new Set(['alexa', 'alla', 'alle', 'berlin', 'captain', 'denver', 'gardner', 'india', 'mayor', 'paris', 'pastor', 'prime', 'smile', 'sydney']);
const SHORT_ROLES = new Set(['hr', 'it', 'ir', 'pr', 'qa', 'rh']);

/** The strings of a data file: JSON, an array inside JavaScript, or one a line. The file is read, never run. */
function entries(text: string, file: string): string[] {
  if (file.endsWith('.json')) return JSON.parse(text) as string[];
  if (file.endsWith('.txt')) return text.split(/\r?\n/);
  return [...text.matchAll(/(["'])([\w.-]{1,253})\1/g)].map(([, , entry = '']) => entry);
}

async function fetchEntries(list: ListName, folder: string): Promise<string[]> {
  const { name, version, file } = PACKAGES[list];
  const { stdout } = await run('npm', ['pack', '--silent', '--ignore-scripts', `${name}@${version}`], { cwd: folder });
  await run('tar', ['-xzf', stdout.trim(), `package/${file}`], { cwd: folder });
  const text = await readFile(join(folder, 'package', file), 'utf8');
  await rm(join(folder, 'package'), { recursive: true });
  return entries(text, file);
}

/** What others register names under is nobody's domain. */
function isSuffix(domain: string): boolean {
  return registrableDomain(`x.${domain}`) === `x.${domain}`;
}

function domains(found: readonly string[]): Set<string> {
  return new Set(found.map((entry) => toAsciiDomain(entry.trim())).filter((domain): domain is string => domain !== null && !isSuffix(domain)));
}

function roles(found: readonly string[]): Set<string> {
  const usable = (word: string): boolean => /^[a-z][a-z0-9._-]*$/.test(word) && !NO_ROLES.has(word) && (word.length > 2 || SHORT_ROLES.has(word));
  return new Set(found.map((entry) => entry.trim().toLowerCase()).filter(usable));
}

async function own(list: 'disposable' | 'free' | 'role'): Promise<readonly string[]> {
  return (await readFile(new URL(`own/${list}.txt`, FOLDER), 'utf8')).trim().split('\n');
}

const folder = await mkdtemp(join(tmpdir(), 'millrace-lists-'));
try {
  const taken = process.argv[2] ?? new Date().toISOString().slice(0, 10);
  const free = domains(await fetchEntries('free', folder));
  const ownFree = await own('free');
  const disposable = domains([...(await fetchEntries('disposable', folder)), ...(await own('disposable'))]);
  // A provider that people pay with their own name is not disposable, whatever else lists it.
  // A slip of the finger is told as that.
  for (const domain of [...ownFree, ...Object.keys(TYPO_DOMAINS)]) disposable.delete(domain);
  for (const domain of [...disposable, ...Object.keys(TYPO_DOMAINS)]) free.delete(domain);
  for (const domain of ownFree) free.add(domain);
  const wide = domains(await fetchEntries('disposable-wide', folder));
  for (const domain of [...disposable, ...free, ...Object.keys(TYPO_DOMAINS)]) wide.delete(domain);
  const role = roles([...(await fetchEntries('role', folder)), ...(await own('role'))]);

  const sources: Record<string, unknown> = {};
  for (const [list, set] of Object.entries({ disposable, 'disposable-wide': wide, free, role }) as [ListName, Set<string>][]) {
    const text = `${[...set].sort().join('\n')}\n`;
    await writeFile(new URL(`${list}.txt`, FOLDER), text);
    const { name, version, licence } = PACKAGES[list];
    sources[list] = { package: name, version, licence, own: list !== 'disposable-wide', taken, entries: set.size, sha256: createHash('sha256').update(text).digest('hex') };
  }
  await writeFile(new URL('sources.json', FOLDER), `${JSON.stringify(sources, null, 2)}\n`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
