/**
 * The seed of everything that tests draw. The suite draws the same cases every time, so that a change is never refused for a case that it
 * did not touch. `SEED=random npm test` draws others, as the nightly workflow does; `SEED=123` repeats the draws of a seed.
 */

const LIMIT = 1_000_000;

/** A whole number below a million. It is in the titles of drawn tests, and fast-check prints it with a counterexample. */
export const SEED = seedOf(process.env['SEED']);

/** @throws RangeError when the text is neither a whole number below a million nor `random` */
export function seedOf(text: string | undefined): number {
  if (text === undefined || text === '') return 1;
  const seed = text === 'random' ? Math.floor(Math.random() * LIMIT) : Number(text);
  if (!Number.isInteger(seed) || seed < 0 || seed >= LIMIT)
    throw new RangeError(`SEED is "${text}"; give a whole number below ${LIMIT}, or random`);
  return seed;
}
