/** Ends work that does not end by itself, such as a regular expression that tries every way there is: no timeout of a test does. */
import { runInNewContext } from 'node:vm';

/** Thousands of times what the work takes: this tells a hang, not a slow machine. */
const HANGS_MS = 60_000;

/** @throws when the work, which is synchronous, has not ended after a minute */
export function neverHangs<T>(work: () => T): T {
  return runInNewContext('work()', { work }, { timeout: HANGS_MS }) as T;
}
