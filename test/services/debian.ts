/** What tests need of the machine: installed where root and apt are at hand; elsewhere a loud skip, and under CI a failure. */
import { spawnSync } from 'node:child_process';

/** Whether a Debian package's command can be run, after it was installed where that is possible. @param command its own, where it has another name */
export function ensurePackage(name: string, command = name): boolean {
  const there = (): boolean => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0;
  if (!there() && isRoot()) install(name);
  return available(there(), command, `apt-get install ${name}`);
}

/** Root, which may mount disks. */
export function ensureRoot(): boolean {
  return available(isRoot() && process.platform === 'linux', 'a disk of their own', 'run them as root on Linux');
}

/** False: the tests that need it are skipped, and standard error says how to get it. @throws under CI, where nothing may be skipped */
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
  const apt = (...words: readonly string[]): boolean => spawnSync('apt-get', ['-o', 'DPkg::Lock::Timeout=300', ...words], { stdio: 'ignore', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } }).status === 0;
  const installed = (): boolean => apt('install', '-y', '--no-install-recommends', name);
  if (!installed() && apt('update')) installed();
}
