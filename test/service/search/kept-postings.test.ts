import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { KeptPostings } from '../../../src/service/search/kept-postings.ts';
import type { Posting } from '../../../src/service/search/posting-reader.ts';

const MOST = 100;
const someTerm = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const act = fc.oneof(
  fc.record({ kind: fc.constant('get' as const), term: someTerm }),
  fc.record({ kind: fc.constantFrom('put' as const, 'grow' as const), term: someTerm, bytes: fc.integer({ min: 0, max: MOST + 10 }) }),
);

const posting = (): Posting => ({ id: 1, blocks: 0, about: 0, addTo: () => undefined, rows: () => null });

it('keeps what was asked for last, and of all together no more than there is room for', () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
      const kept = new KeptPostings(MOST);
      /** The one that was asked for last stands last. */
      let model: { term: string; posting: Posting; bytes: number }[] = [];
      const letGo = (): void => {
        while (model.reduce((sum, { bytes }) => sum + bytes, 0) > MOST) model.shift();
      };
      for (const one of acts) {
        const there = model.find(({ term }) => term === one.term);
        if (one.kind === 'get') {
          expect(kept.get(one.term)).toBe(there?.posting);
          if (there !== undefined) model = [...model.filter((other) => other !== there), there];
        } else if (one.kind === 'put' && there === undefined) {
          const made = { term: one.term, posting: posting(), bytes: one.bytes };
          kept.put(made.term, made.posting, made.bytes);
          model.push(made);
          letGo();
        } else if (one.kind === 'grow' && there !== undefined) {
          there.bytes += one.bytes;
          letGo();
          expect(kept.grow(there.term, there.posting, one.bytes)).toBe(model.includes(there));
        } else if (one.kind === 'grow') {
          expect(kept.grow(one.term, posting(), one.bytes)).toBe(false);
        }
      }
      for (const { term, posting: expected } of model) expect(kept.get(term)).toBe(expected);
      kept.clear();
      for (const { term } of model) expect(kept.get(term)).toBeUndefined();
    }),
  );
});

it('gives no room to a posting that another one of its term has taken the place of', () => {
  const kept = new KeptPostings(MOST);
  const [one, other] = [posting(), posting()];
  kept.put('a', one, 1);
  kept.clear();
  kept.put('a', other, 1);
  expect([kept.grow('a', one, 1), kept.grow('a', other, 1)]).toEqual([false, true]);
});
