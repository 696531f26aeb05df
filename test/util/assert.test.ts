import { expect, it } from 'vitest';
import { assert, present } from '../../src/util/assert.ts';

it('a value that is there is returned as it is, also an empty one', () => {
  for (const value of [0, '', false, Number.NaN]) expect(present(value, 'there is a value')).toBe(value);
});

it('a broken assertion says what must hold', () => {
  for (const nothing of [null, undefined])
    expect(() => present(nothing, 'a run has a report')).toThrow('this must not happen: a run has a report');
  expect(() => assert(false, 'a result is put once')).toThrow('this must not happen: a result is put once');
});
