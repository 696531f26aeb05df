/**
 * Which test files need a worker of their own. To start one and to load what a file imports costs a quarter of a second of a
 * core, more than most files' tests, so files that leave nothing behind share a few. vitest.config.ts asks, for each file anew:
 * there is no list to be kept.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** What a worker is changed by, or may still hold when the file has ended: fake clocks, mocks, the process's own settings, other processes, global settings of libraries. */
const LEAVES_SOMETHING = [
  /\bvi\.(?!fn\b)/,
  /\bprocess\.(?:chdir|umask|emit|on|once|exitCode|title|setUncaughtExceptionCaptureCallback)\b/,
  /\bprocess\.env(?:\[[^\]]*\]|\.\w+)? (?:\?\?)?=(?!=)/,
  /\bglobalThis\b|\bsyncBuiltinESMExports\b|\bsetGlobalDispatcher\b|\bsetFlagsFromString\b/,
  /'node:(?:child_process|worker_threads|cluster|vm)'/,
];

/** A helper is loaded once a worker: its own hooks are heard in the first file alone (`clean-up.ts` is for that). */
const HOOKS_ITSELF = /^(?:before|after)(?:Each|All)\(/m;

/** Long with or without: simulations, and what starts the command or asks a real server. */
const LONG = /\.(?:e2e|sim)\.test\.ts$|[\\/]services[\\/]needed\.ts$/;

/** Whether the file, or a helper below test/ that it imports, does any of this. */
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
