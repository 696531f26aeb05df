import * as fc from '../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { memberNames } from '../../../src/service/http/member-names.ts';

it('a member name means the same on every path through objects', () => {
  const names = memberNames<string | null>(null, (name) => `<${name}>`);
  const name = fc.oneof(fc.constantFrom('a', 'b', 'c', '', '__proto__', 'constructor'), fc.string());
  fc.assert(
    fc.property(fc.array(name), (way) => {
      let at = names;
      for (const one of way) {
        at = at.to(one);
        expect(at).toMatchObject({ name: one, means: `<${one}>` });
      }
    }),
  );
});

it('names beyond the limit of the cache are interpreted again, and cached ones are not', () => {
  const asked: string[] = [];
  const names = memberNames<null>(null, (name) => {
    asked.push(name);
    return null;
  });
  const through = (): void => {
    let at = names;
    for (let name = 0; name < 10_010; name++) at = at.to(String(name));
  };
  through();
  expect(asked).toHaveLength(10_010);
  through();
  expect(asked.slice(10_010)).toEqual(asked.slice(10_000, 10_010));
});

it('a long name is interpreted again each time', () => {
  let asked = 0;
  const names = memberNames<number>(0, () => ++asked);
  expect([1, 2].map(() => names.to('x'.repeat(1_000)).to('x').means)).toEqual([2, 2]);
  expect(asked).toBe(3);
});
