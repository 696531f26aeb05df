import * as fc from '../../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { generation, internTerm } from '../../../../src/service/store/index/term-dictionary.ts';
import { TermCollector } from '../../../../src/service/store/index/term-table.ts';

/** Batches of records of terms. */
const tables = fc.array(fc.array(fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), { maxLength: 9 }), { maxLength: 4 }), {
  maxLength: 4,
});

function check(collector: TermCollector, records: readonly (readonly string[])[]): void {
  const spans = records.map((terms) => collector.add(terms.map(internTerm)));
  const table = collector.take();
  expect(new Set(table.terms).size).toBe(table.terms.length);
  expect(spans.map(({ from, to }) => [...table.numbers.subarray(from, to)].map((number) => table.terms[number]))).toEqual(
    records.map((terms) => [...new Set(terms)]),
  );
}

describe('a table of terms', () => {
  it('a term table has each distinct term once, and the terms of each record in order of first use', () => {
    fc.assert(
      fc.property(tables, (given) => {
        const collector = new TermCollector();
        for (const records of given) check(collector, records);
      }),
    );
  });

  it('a term table is correct after its full dictionary was emptied', () => {
    const [one, other] = [new TermCollector(), new TermCollector()];
    check(one, [['a', 'b']]);
    const before = generation();
    for (let left = 400_000; left > 0; left -= 10_000)
      other.add(Array.from({ length: 10_000 }, (_, index) => internTerm(`${left}.${index}`)));
    other.take();
    expect(generation()).toBe(before + 1);
    check(one, [
      ['c', 'a'],
      ['b', 'c'],
    ]);
    check(other, [['b'], ['a', 'b']]);
  });
});
