import type { Step } from '../job/steps.ts';
import { keysFor, type KeysOf } from './keys.ts';

/** The rule of a job for its records. The lists of free providers take a fifth of a second to load, and only company asks them. */
export async function loadKeys(steps: readonly Step[]): Promise<KeysOf> {
  if (!steps.includes('company')) return keysFor(steps, () => false);
  const { namesNoEmployer } = await import('../verification/lists.ts');
  return keysFor(steps, namesNoEmployer);
}
