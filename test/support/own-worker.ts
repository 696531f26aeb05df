/**
 * Decides which test files need a worker of their own. A worker and its imports cost three quarters of a second of a core, more than most
 * files' tests, so nearly all files share a few. vitest.config.ts asks for each file, so no list must be maintained.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Side effects that cannot be undone: replaced modules, settings of V8 and of clients that a process makes once, the size of the heap. All
 * others are undone after each test or by the file, and `left-behind.ts` checks that.
 */
const LEAVES_SOMETHING = [
  /\bvi\.(?:mock|doMock|hoisted|importActual|resetModules)\b/,
  /\bObject\.assign\(process\.env\b|\bsyncBuiltinESMExports\b|\bsetGlobalDispatcher\b|\bsetFlagsFromString\b|\bmemoryUsage\b/,
];

/** A helper is loaded once a worker, so its own hooks run only in the first file (`clean-up.ts` is for that). */
const HOOKS_ITSELF = /^(?:before|after)(?:Each|All)\(/m;

/** True when the file, or a helper below test/ that it imports, does any of this. */
export function needsOwnWorker(file: string, seen = new Set<string>()): boolean {
  if (seen.has(file)) return false;
  seen.add(file);
  const text = readFileSync(file, 'utf8');
  if (LEAVES_SOMETHING.some((words) => words.test(text))) return true;
  return helpersOf(file, text).some((helper) => HOOKS_ITSELF.test(readFileSync(helper, 'utf8')) || needsOwnWorker(helper, seen));
}

function helpersOf(file: string, text: string): string[] {
  const imported = [...text.matchAll(/(?:from|import\(?)\s*'(\.[^']+\.ts)'/g)].map(([, path = '']) => resolve(dirname(file), path));
  return imported.filter((path) => /[\\/]test[\\/]/.test(path) && existsSync(path));
}
