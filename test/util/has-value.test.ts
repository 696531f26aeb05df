import { expect, it } from 'vitest';
import * as fc from '../support/fast-check.ts';
import { hasValue } from '../../src/util/has-value.ts';

const empty = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, fc.constantFrom(null, undefined, '', []), fc.dictionary(fc.string(), tie('value'), { maxKeys: 3 })),
})).value;
const filled = fc.oneof(fc.string({ minLength: 1 }), fc.integer(), fc.boolean(), fc.array(empty, { minLength: 1 }));

it.each([[{ city: '' }], [{ city: null }], [{ city: {} }], [{ city: { name: '' }, codes: [] }]])('%j says nothing', (value) => {
  expect(hasValue(value)).toBe(false);
});

it.each([[0], [false], [' '], [['']], [{ city: 'Ulm' }], [{ city: '', rank: 0 }], [{ codes: [null] }]])('%j says something', (value) => {
  expect(hasValue(value)).toBe(true);
});

it('a mapping says what its values say, at any depth', () => {
  fc.assert(
    fc.property(empty, filled, fc.array(fc.string(), { maxLength: 5 }), (nothing, something, path) => {
      const inside = (inner: unknown): unknown => path.reduceRight<unknown>((deeper, key) => ({ a: nothing, [`.${key}`]: deeper }), inner);
      expect(hasValue(inside(nothing))).toBe(false);
      expect(hasValue(inside(something))).toBe(true);
    }),
  );
});

it('a mapping that is nested deeper than the stack is read', () => {
  const nested = (inner: string): unknown => JSON.parse(`${'{"a":'.repeat(100_000)}"${inner}"${'}'.repeat(100_000)}`);
  expect(hasValue(nested(''))).toBe(false);
  expect(hasValue(nested('x'))).toBe(true);
});
