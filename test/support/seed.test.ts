import { afterEach, expect, it } from 'vitest';
import { seedOf } from './seed.ts';

const before = process.env['SEED'];
afterEach(() => {
  if (before === undefined) delete process.env['SEED'];
  else process.env['SEED'] = before;
});

it('a run without a seed draws the same cases every time', () => {
  expect([seedOf(undefined), seedOf('')]).toEqual([1, 1]);
});

it('a given seed is used, and commands that the tests start inherit it', () => {
  expect(seedOf('551550')).toBe(551_550);
  expect(process.env['SEED']).toBe('551550');
});

it('a random seed is a whole number below a million, and every worker has the same', () => {
  const seed = seedOf('random');
  expect(seed).toBeGreaterThanOrEqual(0);
  expect(seed).toBeLessThan(1_000_000);
  expect(seedOf(process.env['SEED'])).toBe(seed);
});

it.each(['x', '-1', '1.5', '1000000'])('the seed %j is refused', (text) => {
  expect(() => seedOf(text)).toThrow(`SEED is "${text}"; give a whole number below 1000000, or random`);
});
