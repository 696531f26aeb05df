import type { Steps } from '../../src/util/steps.ts';

/** Takes all steps at once. @param between is called at each pause */
export function toEnd<T>(steps: Steps<T>, between: () => void = () => undefined): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (typeof value !== 'number') throw new Error('the steps wait for something');
    between();
  }
}
