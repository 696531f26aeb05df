import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { csvText } from '../../../src/formats/csv/csv-row.ts';
import { splitStrictly } from '../../../src/formats/csv/split-cells.ts';

describe('splitStrictly', () => {
  it('a strict split returns the cells of a row as they were written', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', 'é', ',', '"', ' ', '\n', '\r', ';') });
    fc.assert(
      fc.property(fc.array(cell, { minLength: 1 }), (cells) => {
        expect(splitStrictly(csvText(',')(cells).slice(0, -1))).toEqual(cells);
      }),
    );
  });

  it.each([
    ['a"b', 'cell 1 has a quote'],
    ['"a', 'cell 1 begins with a quote that is not closed'],
    ['"a"b', 'cell 1 goes on behind'],
    ['a,"b', 'cell 2 begins with a quote that is not closed'],
    ['"a""', 'cell 1 begins with a quote that is not closed'],
    ['"a" ,b', 'cell 1 goes on behind'],
    ['a,b,c"', 'cell 3 has a quote'],
  ])('a strict split explains the wrong quote in %s', (text, wrong) =>
    expect(splitStrictly(text)).toEqual({ wrong: expect.stringContaining(wrong) }),
  );
});
