import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareTexts, idNumbers, isToldId, isWholeName, nameNumber } from '../../../src/service/search/text-numbers.ts';

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
      for (const number of [nameNumber(name), ...idNumbers(name)]) expect(Number.isSafeInteger(number)).toBe(true);
    }
  });

  it('are in the order of the texts, as SQLite compares them', () => {
    fc.assert(
      fc.property(pair, ([one, other]) => {
        const order = Math.sign(byBytes(one, other));
        expect(Math.sign(compareTexts(one, other))).toBe(order);
        expect([0, order]).toContain(Math.sign(nameNumber(one) - nameNumber(other)));
        expect([0, order]).toContain(Math.sign(idNumbers(one)[0] - idNumbers(other)[0]));
      }),
      runs,
    );
  });

  it('say when they tell a text from all others', () => {
    fc.assert(
      fc.property(pair, ([one, other]) => {
        if (nameNumber(one) === nameNumber(other) && isWholeName(nameNumber(one))) expect(one).toBe(other);
        const [[head, tail], [otherHead, otherTail]] = [idNumbers(one), idNumbers(other)];
        if (head !== otherHead || !isToldId(head)) return;
        expect(one.slice(0, 8)).toBe(other.slice(0, 8));
        expect([0, Math.sign(byBytes(one, other))]).toContain(Math.sign(tail - otherTail));
      }),
      runs,
    );
  });

  it('tell apart what names and ids of a source differ in', () => {
    expect(isWholeName(nameNumber('ada o-neil'))).toBe(false);
    expect(isWholeName(nameNumber("d'arcy st."))).toBe(false);
    expect(isWholeName(nameNumber('ada neil'))).toBe(true);
    expect(isWholeName(nameNumber(''))).toBe(true);
    expect(isWholeName(nameNumber('山田'))).toBe(true);
    expect(nameNumber('山田')).not.toBe(nameNumber('山本'));
    expect(nameNumber('maria garca')).not.toBe(nameNumber('maria gazca'));
    expect(idNumbers('0035g00000AbCdE')[1]).not.toBe(idNumbers('0035g00000AbCdF')[1]);
  });
});
