import * as fc from '../../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import {
  compareUtf8,
  idPrefixes,
  isExactId,
  isExactName,
  isCompleteName,
  namePrefixes,
} from '../../../../src/service/store/index/text-prefixes.ts';

const byBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));
const text = fc.oneof(
  fc.string({
    unit: fc.constantFrom('a', 'b', 'z', ' ', "'", '-', '{', '~', '\u007f', '\0', '1', 'é', 'ж', '山', '\u{1f600}', '\u{20000}', '\ufffd'),
    maxLength: 14,
  }),
  fc.string({ unit: 'binary', maxLength: 20 }),
);
/** Two texts with a common prefix. */
const pair = fc.tuple(text, text, text).map(([start, one, other]) => [start + one, start + other] as const);
const runs = { numRuns: 5_000 };

describe('order-preserving codes of texts', () => {
  it('codes of texts are safe integers', () => {
    for (const name of ['', '~~~~~~~~~~', 'zzzzzzzzzzzz', '\u{10ffff}'.repeat(4)]) {
      for (const number of [...namePrefixes(name), ...idPrefixes(name)]) expect(Number.isSafeInteger(number)).toBe(true);
    }
  });

  it('codes of texts have the order in which SQLite compares the texts', () => {
    fc.assert(
      fc.property(pair, ([one, other]) => {
        const order = Math.sign(byBytes(one, other));
        expect(Math.sign(compareUtf8(one, other))).toBe(order);
        for (const numbers of [namePrefixes, idPrefixes]) expect([0, order]).toContain(Math.sign(numbers(one)[0] - numbers(other)[0]));
      }),
      runs,
    );
  });

  it('a code shows whether its prefix is exact', () => {
    fc.assert(
      fc.property(pair, ([one, other]) => {
        for (const [numbers, isExact] of [
          [namePrefixes, isExactName],
          [idPrefixes, isExactId],
        ] as const) {
          const [[head, tail], [otherHead, otherTail]] = [numbers(one), numbers(other)];
          if (head !== otherHead || !isExact(head)) continue;
          expect([0, Math.sign(byBytes(one, other))]).toContain(Math.sign(tail - otherTail));
          if (numbers === namePrefixes && tail === otherTail && isCompleteName(tail)) expect(one).toBe(other);
        }
      }),
      runs,
    );
  });

  it('codes distinguish typical names and ids of one source', () => {
    for (const [name, parts] of [
      ['ada o-neil', [false, true]],
      ["d'arcy st. john", [false, true]],
      ['ada neil', [true, true]],
      ['', [true, true]],
      ['山田', [true, true]],
      ['山田太郎', [false, true]],
      ['maria de la garcia lopez', [false, false]],
    ] as const)
      expect(namePrefixes(name).map(isCompleteName)).toEqual(parts);
    expect(namePrefixes('山田')[0]).not.toBe(namePrefixes('山本')[0]);
    expect(namePrefixes('maria garcia')[1]).not.toBe(namePrefixes('maria garcis')[1]);
    expect(idPrefixes('0035g00000AbCdE')[1]).not.toBe(idPrefixes('0035g00000AbCdF')[1]);
  });
});
