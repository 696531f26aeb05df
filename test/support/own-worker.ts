/**
 * Decides which test files need a worker of their own. A worker and its imports cost a quarter of a second of a core, more than most files'
 * tests, so files without side effects share a few.
 * vitest.config.ts asks for each file, so no list must be maintained.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Side effects that outlast a file: fake clocks, mocks, settings of the process, other processes, global settings of libraries. */
const LEAVES_SOMETHING = [
  /\bvi\.(?!fn\b)/,
  /\bprocess\.(?:chdir|umask|emit|on|once|exitCode|title|setUncaughtExceptionCaptureCallback)\b/,
  /\bprocess\.env(?:\[[^\]]*\]|\.\w+)? (?:\?\?)?=(?!=)/,
  /\bglobalThis\b|\bsyncBuiltinESMExports\b|\bsetGlobalDispatcher\b|\bsetFlagsFromString\b/,
  /'node:(?:child_process|worker_threads|cluster|vm)'/,
];

/** A helper is loaded once a worker, so its own hooks run only in the first file (`clean-up.ts` is for that). */
const HOOKS_ITSELF = /^(?:before|after)(?:Each|All)\(/m;

/** Long files: simulations, and files that start the command or use a real server. */
const LONG = /\.(?:e2e|sim)\.test\.ts$|[\\/]services[\\/]needed\.ts$/;

/** True when the file, or a helper below test/ that it imports, does any of this. */
export function needsOwnWorker(file: string, seen = new Set<string>()): boolean {
  if (seen.has(file)) return false;
  seen.add(file);
  if (LONG.test(file)) return true;
  const text = readFileSync(file, 'utf8');
  if (LEAVES_SOMETHING.some((words) => words.test(text))) return true;
  return helpersOf(file, text).some((helper) => HOOKS_ITSELF.test(readFileSync(helper, 'utf8')) || needsOwnWorker(helper, seen));
}

function helpersOf(file: string, text: string): string[] {
  const imported = [...text.matchAll(/(?:from|import\(?)\s*'(\.[^']+\.ts)'/g)].map(([, path = '']) => resolve(dirname(file), path));
  return imported.filter((path) => /[\\/]test[\\/]/.test(path) && existsSync(path));
}
