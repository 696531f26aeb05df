/**
 * The state of a run that storage and Redis need, deep below the run. A process may run several jobs at once: each has its own scope, and
 * whatever a run starts belongs to it.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Waits } from './waits.ts';

export interface RunScope {
  readonly waits: Waits;
  /** Aborted when the run was told to stop at once, and its time for last requests is over. */
  readonly lastWords: AbortSignal;
}

const scopes = new AsyncLocalStorage<RunScope>();

/** Does the work as a part of the run with this scope. */
export function inRunScope<T>(scope: RunScope, work: () => T): T {
  return scopes.run(scope, work);
}

/** The scope of the run that calls. Outside of a run nobody reads its waits, and nothing aborts it. */
export function runScope(): RunScope {
  return scopes.getStore() ?? { waits: new Waits(), lastWords: new AbortController().signal };
}
