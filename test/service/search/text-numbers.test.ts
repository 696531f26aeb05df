import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareTexts, idNumbers, isToldId, isToldName, isWholeName, nameNumbers } from '../../../src/service/search/text-numbers.ts';

const byBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));
const text = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'b', 'z', ' ', "'", '-', '{', '~', '\u007f', '\0', '1', 'é', 'ж', '山', '\u{1f600}', '\u{20000}', '\ufffd'), maxLength: 14 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
);
/** Two that have a beginning in common. */
const pair = fc.tuple(text, text, text).map(([start, one, other]) => [start + one, start + other] as const);
const runs = { numRuns: 5_000 };

describe('the beginnings of texts as numbers', () => {
  it('are whole numbers that a column can hold', () => {
    for (const name of ['', '~~~~~~~~~~', 'zzzzzzzzzzzz', '\u{10ffff}'.repeat(4)]) {
      for (const number of [...nameNumbers(name), ...idNumbers(name)]) expect(Number.isSafeInteger(number)).toBe(true);
    }
  });

  it('are in the order of the texts, as SQLite compares them', () => {
    fc.assert(
      fc.property(pair, ([one, other]) => {
        const order = Math.sign(byBytes(one, other));
        expect(Math.sign(compareTexts(one, other))).toBe(order);
        for (const numbers of [nameNumbers, idNumbers]) expect([0, order]).toContain(Math.sign(numbers(one)[0] - numbers(other)[0]));
      }),
      runs,
    );
  });

  it('say when they tell a text from all others', () => {
    fc.assert(
      fc.property(pair, ([one, other]) => {
        for (const [numbers, isTold] of [[nameNumbers, isToldName], [idNumbers, isToldId]] as const) {
          const [[head, tail], [otherHead, otherTail]] = [numbers(one), numbers(other)];
          if (head !== otherHead || !isTold(head)) continue;
          expect([0, Math.sign(byBytes(one, other))]).toContain(Math.sign(tail - otherTail));
          if (numbers === nameNumbers && tail === otherTail && isWholeName(tail)) expect(one).toBe(other);
        }
      }),
      runs,
    );
  });

  it('tell apart what names and ids of a source differ in', () => {
    for (const [name, parts] of [['ada o-neil', [false, true]], ["d'arcy st. john", [false, true]], ['ada neil', [true, true]], ['', [true, true]], ['山田', [true, true]], ['山田太郎', [false, true]], ['maria de la garcia lopez', [false, false]]] as const) expect(nameNumbers(name).map(isWholeName)).toEqual(parts);
    expect(nameNumbers('山田')[0]).not.toBe(nameNumbers('山本')[0]);
    expect(nameNumbers('maria garcia')[1]).not.toBe(nameNumbers('maria garcis')[1]);
    expect(idNumbers('0035g00000AbCdE')[1]).not.toBe(idNumbers('0035g00000AbCdF')[1]);
  });
});
