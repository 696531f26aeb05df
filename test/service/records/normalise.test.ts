import * as fc from '../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { normalise, words } from '../../../src/service/records/normalise.ts';
import { casesOf } from '../../support/sample.ts';

const text = fc.string({ unit: fc.constantFrom('a', 'B', '7', ' ', ' ', '.', '~', '\t', '\x7f', 'é', 'ß', '\u00a0') });

it('a text normalises to the same value with and without blanks around it', () => {
  fc.assert(
    fc.property(text, (given) => {
      expect(normalise(given)).toBe(normalise(` ${given}\t`));
    }),
    { numRuns: 2_000 },
  );
  expect(normalise('Ada  LOVELACE ')).toBe('ada lovelace');
});

it.each([
  ['Žluťoučký Kůň', 'zlutoucky kun'],
  ['STRAẞE', 'Straße'],
  ['IŞIK', 'Işık'],
  ['Đức', 'DUC'],
  ['Łódź', 'lodz'],
  ['مُحَمَّد', 'محمد'],
  ['שָׁלוֹם', 'שלום'],
  ['ｶﾞｽ', 'ガス'],
  ['ΟΔΟΣ', 'οδός'],
  ['O\u2019Brien', "o'brien"],
  ['D\u02bcArcy', "D'Arcy"],
])('%s and %s normalise to the same text', (one, other) => expect(normalise(one)).toBe(normalise(other)));

it.each([
  ['कमल', 'कमला'],
  ['かき', 'がき'],
  ['ハス', 'パス'],
  ['มา', 'มี'],
  ['কমল', 'কমলা'],
])('%s and %s normalise to different texts, because a mark may be a vowel or make another letter', (one, other) => {
  expect(normalise(one)).not.toBe(normalise(other));
  expect(words(`${one} ${other}`)).toEqual([normalise(one), normalise(other)]);
});

it('normalising a text twice changes nothing', () => {
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.oneof(
          fc.string({ unit: 'binary', maxLength: 2 }),
          fc.constantFrom('ẞ', 'İ', 'ı', 'Đ', 'か', '\u3099', '\u0301', 'ा', 'ำ', 'ϴ'),
        ),
      }),
      (given) => {
        expect(normalise(normalise(given))).toBe(normalise(given));
      },
    ),
    { numRuns: casesOf(2_000, 20_000) },
  );
});
