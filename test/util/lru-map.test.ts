import * as fc from '../support/fast-check.ts';
import { expect, it } from 'vitest';
import { LruMap } from '../../src/util/lru-map.ts';

const MAX_SIZE = 100;
const key = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const size = fc.integer({ min: 1, max: MAX_SIZE + 10 });
const step = fc.oneof(
  fc.record({ kind: fc.constant('get' as const), key }),
  fc.record({ kind: fc.constant('peek' as const), key }),
  fc.record({ kind: fc.constant('delete' as const), key }),
  fc.record({ kind: fc.constant('set' as const), key, size }),
  fc.record({ kind: fc.constant('resize' as const), key, size }),
);

it('an LRU map evicts the entries used longest ago, and never exceeds its bound', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const map = new LruMap<string, object>(MAX_SIZE);
      /** The entry used last comes last. */
      let model: { key: string; value: object; size: number }[] = [];
      const put = (entry: (typeof model)[number]): void => {
        model = model.filter((other) => other.key !== entry.key);
        if (entry.size <= MAX_SIZE) model.push(entry);
        while (model.reduce((sum, { size: one }) => sum + one, 0) > MAX_SIZE) model.shift();
      };
      for (const one of steps) {
        const entry = model.find((other) => other.key === one.key);
        if (one.kind === 'get') {
          expect(map.get(one.key)).toBe(entry?.value);
          if (entry !== undefined) put(entry);
        } else if (one.kind === 'peek') {
          expect(map.peek(one.key)).toBe(entry?.value);
        } else if (one.kind === 'delete') {
          map.delete(one.key);
          model = model.filter((other) => other !== entry);
        } else if (one.kind === 'set') {
          const value = {};
          map.set(one.key, value, one.size);
          put({ key: one.key, value, size: one.size });
        } else {
          if (entry !== undefined) put({ ...entry, size: one.size });
          expect(map.resize(one.key, one.size)).toBe(entry !== undefined && one.size <= MAX_SIZE);
        }
        expect(map.size).toBe(model.length);
      }
      for (const { key: known, value } of model) expect(map.peek(known)).toBe(value);
      map.clear();
      expect(map.size).toBe(0);
    }),
  );
});

it('an LRU map without room stores nothing', () => {
  const map = new LruMap<string, object>(0);
  map.set('a', {});
  expect([map.get('a'), map.size, map.resize('a', 1)]).toEqual([undefined, 0, false]);
});
