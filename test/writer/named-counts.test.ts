import * as fc from '../support/fast-check.ts';
import { expect, it } from 'vitest';
import { NamedCounts } from '../../src/writer/named-counts.ts';

const name = fc.oneof(
  fc.constantFrom('verify:http_500', 'input:no_key', '__proto__', 'constructor', 'other'),
  fc.integer({ max: 60, min: 0 }).map((i) => `n${i}`),
  fc.string({ minLength: 60, maxLength: 90 }),
);
const sum = (counts: object): number => Object.values(counts).reduce((total: number, one: number) => total + one, 0);

it('the counts add up, with few and short names, however often they are stored and read again', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(name, fc.boolean()), { maxLength: 120 }), fc.array(fc.nat(), { maxLength: 30 }), (added, taken) => {
      let counts = new NamedCounts();
      const there: string[] = [];
      for (const [one, keep] of added) {
        counts.add(one, 1);
        there.push(one);
        if (keep) counts = new NamedCounts(JSON.parse(JSON.stringify(counts.snapshot())) as Record<string, number>);
      }
      for (const which of taken) {
        const [one] = there.splice(which % Math.max(1, there.length), 1);
        if (one !== undefined) counts.takeOne(one);
      }
      const found = counts.snapshot();
      expect(sum(found)).toBe(there.length);
      expect(Object.values(found).every((times) => times > 0)).toBe(true);
      expect(Object.keys(found).length).toBeLessThanOrEqual(33);
      expect(Object.keys(found).every((key) => key.length <= 72)).toBe(true);
    }),
  );
});

it('taking a count from an unknown name changes nothing', () => {
  const counts = new NamedCounts({ a: 2 });
  counts.takeOne('b');
  expect(counts.snapshot()).toEqual({ a: 2 });
});
