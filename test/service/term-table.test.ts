import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { era, termNumber } from '../../src/service/search/dictionary.ts';
import { TermCollector } from '../../src/service/search/term-table.ts';

/** Tables of records of terms. */
const tables = fc.array(fc.array(fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), { maxLength: 9 }), { maxLength: 4 }), { maxLength: 4 });

function check(collector: TermCollector, records: readonly (readonly string[])[]): void {
  const spans = records.map((terms) => collector.add(terms.map(termNumber)));
  const table = collector.take();
  expect(new Set(table.terms).size).toBe(table.terms.length);
  expect(spans.map(({ from, to }) => [...table.numbers.subarray(from, to)].map((number) => table.terms[number]))).toEqual(records.map((terms) => [...new Set(terms)]));
}

describe('a table of terms', () => {
  it('has each different term once, and of each record its terms in the order in which they are named', () => {
    fc.assert(
      fc.property(tables, (given) => {
        const collector = new TermCollector();
        for (const records of given) check(collector, records);
      }),
    );
  });

  it('is right also when so many terms were met that all are forgotten', () => {
    const [one, other] = [new TermCollector(), new TermCollector()];
    check(one, [['a', 'b']]);
    const before = era();
    for (let left = 400_000; left > 0; left -= 10_000) other.add(Array.from({ length: 10_000 }, (_, index) => termNumber(`${left}.${index}`)));
    other.take();
    expect(era()).toBe(before + 1);
    check(one, [['c', 'a'], ['b', 'c']]);
    check(other, [['b'], ['a', 'b']]);
  });
});
