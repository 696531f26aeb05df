/** Ends work that hangs, such as a regular expression that backtracks for ever. A test's timeout cannot interrupt it. */
import { runInNewContext } from 'node:vm';

/** Milliseconds: thousands of times the normal duration, so it detects a hang and not a slow machine. */
const HANGS_MS = 60_000;

/** @throws when the synchronous work has not ended after a minute */
export function neverHangs<T>(work: () => T): T {
  return runInNewContext('work()', { work }, { timeout: HANGS_MS }) as T;
}
