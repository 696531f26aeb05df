import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { fold, words } from '../../src/service/fold.ts';

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

it.each([
  ['Žluťoučký Kůň', 'zlutoucky kun'], ['STRAẞE', 'Straße'], ['IŞIK', 'Işık'], ['Đức', 'DUC'], ['Łódź', 'lodz'], ['مُحَمَّد', 'محمد'], ['שָׁלוֹם', 'שלום'], ['ｶﾞｽ', 'ガス'], ['ΟΔΟΣ', 'οδός'], ["O\u2019Brien", "o'brien"], ["D\u02bcArcy", "D'Arcy"],
])('%s and %s are the same', (one, other) => expect(fold(one)).toBe(fold(other)));

it.each([['कमल', 'कमला'], ['かき', 'がき'], ['ハス', 'パス'], ['มา', 'มี'], ['কমল', 'কমলা']])('%s and %s are not: a mark may be a vowel, or make another letter', (one, other) => {
  expect(fold(one)).not.toBe(fold(other));
  expect(words(`${one} ${other}`)).toEqual([fold(one), fold(other)]);
});

it('what is folded is folded no further', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.oneof(fc.string({ unit: 'binary', maxLength: 2 }), fc.constantFrom('ẞ', 'İ', 'ı', 'Đ', 'か', '\u3099', '\u0301', 'ा', 'ำ', 'ϴ')) }), (given) => {
      expect(fold(fold(given))).toBe(fold(given));
    }),
    { numRuns: 20_000 },
  );
});
