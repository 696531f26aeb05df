/**
 * Prerequisites of tests on the machine. They are installed where root and apt are available; elsewhere tests are skipped loudly, and under
 * CI they fail.
 */
import { execFile, spawnSync } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** flock(1) serialises installations: apt waits for dpkg's lock, but not for that of the package lists. Every Debian has flock. */
const APT = [join(tmpdir(), 'millrace-apt.lock'), 'apt-get', '-q', '-o', 'DPkg::Lock::Timeout=300'];
const QUIET = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };

/**
 * True when a Debian package's command can be run, after an installation where possible. @param command when its name differs from the
 * package's
 */
export function ensurePackage(name: string, command = name): boolean {
  const there = (): boolean => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0;
  if (!there() && isRoot()) install(name);
  return available(there(), command, `apt-get install ${name}`);
}

/**
 * The same for a server of several packages, asynchronously because it takes long to install. Null when every command exists, else the
 * reason with the command that installs them.
 * @param works for a package without a command: whether it is there
 */
export async function lackingPackages(
  packages: readonly string[],
  commands: readonly string[],
  works: () => Promise<boolean> = () => Promise.resolve(true),
): Promise<string | null> {
  const areThere = async (): Promise<boolean> => (await haveAll(commands)) && (await works());
  if (await areThere()) return null;
  const byHand = `apt-get install --no-install-recommends ${packages.join(' ')}`;
  if (!isRoot() || !(await haveAll(['apt-get']))) return `${packages.join(', ')} are not there; install them with: ${byHand}`;
  const apt = (...words: readonly string[]): Promise<unknown> =>
    promisify(execFile)('flock', [...APT, ...words], { env: QUIET, maxBuffer: 64 * 1024 * 1024 });
  try {
    await apt('update');
    await apt('install', '-y', '--no-install-recommends', ...packages);
  } catch (error) {
    return `${byHand} failed: ${error instanceof Error ? error.message : String(error)}`;
  }
  return (await areThere()) ? null : `${packages.join(', ')} are installed and bring no ${commands.join(', ')}`;
}

/** True for root, which may mount disks. */
export function ensureRoot(): boolean {
  return available(isRoot() && process.platform === 'linux', 'a disk of their own', 'run them as root on Linux');
}

/** False when the tests that need it are skipped; standard error tells how to install it. @throws under CI, where nothing may be skipped */
export function available(there: boolean, what: string, how: string): boolean {
  if (there) return true;
  const words = `SKIPPED: tests that need ${what} (${how})`;
  if ((process.env['CI'] ?? '') !== '') throw new Error(words);
  process.stderr.write(`\n${words}\n\n`);
  return false;
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function install(name: string): void {
  const apt = (...words: readonly string[]): boolean =>
    spawnSync('flock', [...APT, ...words], { stdio: 'ignore', env: QUIET }).status === 0;
  const installed = (): boolean => apt('install', '-y', '--no-install-recommends', name);
  if (!installed() && apt('update')) installed();
}

async function haveAll(commands: readonly string[]): Promise<boolean> {
  const folders = (process.env['PATH'] ?? '').split(':');
  const found = await Promise.all(
    commands.map(async (command) => (await Promise.all(folders.map((folder) => runnable(`${folder}/${command}`)))).includes(true)),
  );
  return !found.includes(false);
}

function runnable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
