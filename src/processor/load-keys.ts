import type { Step } from '../definition/steps.ts';
import { keysFor, type KeysOf } from './lookup-keys.ts';

/** Loads the key rule of a job. The lists of free providers take a fifth of a second to load, and only company needs them. */
export async function loadKeys(steps: readonly Step[]): Promise<KeysOf> {
  if (!steps.includes('company')) return keysFor(steps, () => false);
  const { namesNoEmployer } = await import('../verification/lists.ts');
  return keysFor(steps, namesNoEmployer);
}
