/** The PHP of the tests: Debian's, with curl. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { lackingPackages } from '../../test/services/debian.ts';
import type { Runner } from './runner.ts';

const run = promisify(execFile);

/** True for PHP 8.2 or later with curl. */
const WORKS = 'exit(PHP_VERSION_ID >= 80200 && extension_loaded("curl") ? 0 : 1);';

/** Null when PHP is there, else why it is not. Tests that start at once wait for one installation. */
export function lackingPhp(): Promise<string | null> {
  checked ??= check();
  return checked;
}

let checked: Promise<string | null> | undefined;

async function check(): Promise<string | null> {
  const works = (): Promise<boolean> => run('php', ['-r', WORKS]).then(Boolean, () => false);
  const lacks = await lackingPackages(['php-cli', 'php-curl'], ['php'], works);
  return lacks === null ? null : `PHP 8.2 or later with curl: ${lacks}`;
}

export async function phpRunner(library: string): Promise<Runner | string> {
  const lacks = await lackingPhp();
  return lacks ?? { command: 'php', args: ['-d', 'error_reporting=-1', '-d', 'display_errors=stderr', 'conformance.php'], cwd: library };
}
