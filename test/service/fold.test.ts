import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { fold } from '../../src/service/fold.ts';

const text = fc.string({ unit: fc.constantFrom('a', 'B', '7', ' ', ' ', '.', '~', '\t', '\x7f', 'é', 'ß', '\u00a0') });

it('a text is folded the same whether it is plain or has spaces around it', () => {
  fc.assert(
    fc.property(text, (given) => {
      expect(fold(given)).toBe(fold(` ${given}\t`));
    }),
    { numRuns: 2_000 },
  );
  expect(fold('Ada  LOVELACE ')).toBe('ada lovelace');
});
