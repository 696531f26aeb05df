import { expect, it } from 'vitest';
import { SEED, seedOf } from './seed.ts';

it('a run without a seed draws the same cases every time', () => {
  expect([seedOf(undefined), seedOf('')]).toEqual([1, 1]);
});

it('a given seed is used', () => {
  expect(seedOf('551550')).toBe(551_550);
});

it('a random seed is a whole number below a million', () => {
  const seed = seedOf('random');
  expect(seed).toBeGreaterThanOrEqual(0);
  expect(seed).toBeLessThan(1_000_000);
});

it('every worker, and each command that a test starts, has the seed of the run', () => {
  expect(process.env['SEED']).toBe(String(SEED));
});

it.each(['x', '-1', '1.5', '1000000'])('the seed %j is refused', (text) => {
  expect(() => seedOf(text)).toThrow(`SEED is "${text}"; give a whole number below 1000000, or random`);
});
