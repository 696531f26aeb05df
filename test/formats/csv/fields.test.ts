import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { readQuoted } from '../../../src/formats/csv/fields.ts';
import { splitLeniently } from '../../../src/formats/csv/split-cells.ts';

const quote = (value: string): string => `"${value.replaceAll('"', '""')}"`;

describe('readQuoted', () => {
  it.each([
    // The cases of the csv-spectrum collection, named by their topic.
    ['a comma in quotes', 'John,"120 any st., ""x""","Anytown, WW"', ['John', '120 any st., "x"', 'Anytown, WW']],
    ['empty quotes', '1,"",""', ['1', '', '']],
    ['JSON in a cell', '1,"{""type"": ""Point"", ""at"": [1.5, 2]}"', ['1', '{"type": "Point", "at": [1.5, 2]}']],
    ['line breaks', '1,"Once upon \na time",5\r', ['1', 'Once upon \na time', '5\r']],
    ['quotes alone', '"""",""""""', ['"', '""']],
    ['not only ASCII', '"ʤ","ΩЖ 😀"', ['ʤ', 'ΩЖ 😀']],
    ['a NUL and a lone CR', '"a\0b\rc",d', ['a\0b\rc', 'd']],
    ['a BOM and spaces at the front', '\ufeff ,"x"', ['\ufeff ', 'x']],
    ['only spaces in front', '   ,"x", ', ['   ', 'x', ' ']],
    ['empty at both ends', ',"x",', ['', 'x', '']],
  ])('quoted fields are read: %s', async (_name, text, wanted) => {
    expect(await readQuoted([text.replace(/\r$/, '')], [true], ',')).toEqual([wanted.map((value) => value.replace(/\r$/, ''))]);
  });

  it('records that other parsers refuse are read without loss', async () => {
    const texts = [
      '"Acme "The Best" Co",x',
      'a,"open',
      '5" pipe,3\' rod',
      ' "spaced" , "b, c"',
      '"ok","fine"',
      '"a" x,"b""c"',
      '"a\nb" "c,d',
    ];
    const wanted = [
      ['"Acme "The Best" Co"', 'x'],
      ['a', '"open'],
      ['5" pipe', "3' rod"],
      ['spaced', 'b, c'],
      ['ok', 'fine'],
      ['"a" x', 'b"c'],
      ['"a\nb" "c', 'd'],
    ];
    const clean = texts.map((_, index) => index === 4);
    expect(await readQuoted(texts, clean, ',')).toEqual(wanted);
    for (const [index, text] of texts.entries()) expect(await readQuoted([text], [clean[index] ?? false], ',')).toEqual([wanted[index]]);
  });

  it('a line break within a record never ends it, for any text after it', async () => {
    // Parsed together, these would come back as two rows with the right marks and the wrong fields.
    const texts = [' "y,",q\n1,",w', ' ",z'];
    expect(await readQuoted(texts, [false, false], ',')).toEqual([
      [' "y', ',q\n1,', 'w'],
      [' "', 'z'],
    ]);
  });

  it('a record has the same fields with any neighbours', async () => {
    const record = fc
      .array(fc.constantFrom('"', '""', ',', 'a', ' ', '0,', '1,', '\t'), { minLength: 1, maxLength: 12 })
      .map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 6 }), async (texts) => {
        const together = await readQuoted(
          texts,
          texts.map(() => false),
          ',',
        );
        const alone = await Promise.all(texts.map(async (text) => (await readQuoted([text], [false], ','))[0]));
        expect(together).toEqual(alone);
      }),
      { numRuns: 500 },
    );
  });

  it.each([',', ';', '\t', '|', ' ', '.', '^'])('every value written with the delimiter %j is read back', async (delimiter) => {
    const value = fc
      .array(fc.constantFrom('"', delimiter, '\n', '\r', ' ', 'x', '\u00a0', 'é'), { maxLength: 6 })
      .map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(value, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 8 }), async (rows) => {
        const texts = rows.map((cells) => cells.map(quote).join(delimiter));
        expect(
          await readQuoted(
            texts,
            texts.map(() => true),
            delimiter,
          ),
        ).toEqual(rows);
        expect(texts.map((text) => splitLeniently(text, delimiter))).toEqual(rows);
      }),
      { numRuns: 100 },
    );
  });
});
