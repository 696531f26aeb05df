/** Any values and any bytes: good rows are read at their place, and values come back as written. */
import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { csvRow } from '../../src/formats/csv/csv-row.ts';
import type { InputRecord } from '../../src/formats/input-record.ts';
import { casesOf } from '../support/sample.ts';
import { code, scratchReader, utf16 } from './helpers.ts';

const read = scratchReader();

const values = (records: readonly InputRecord[]): unknown => records.map((record) => record.values);

/** Any text that UTF-8 can encode. Lone surrogates are not characters, and cannot be in a file. */
const text = fc.string({ unit: 'binary', maxLength: 12 }).map((value) => value.toWellFormed());

const awkward = fc
  .array(
    fc.constantFrom(
      '"',
      '""',
      ',',
      ';',
      '\t',
      '|',
      '\n',
      '\r\n',
      '\r',
      ' ',
      '\u0000',
      '=1+1',
      '@',
      "'",
      'Zoë',
      '日本',
      '\u2028',
      '\ufeff',
      'x',
    ),
    { maxLength: 5 },
  )
  .map((parts) => parts.join(''));

const cell = fc.oneof(text, awkward);

describe('any table', () => {
  const EXPORTS = ['utf-8', 'utf-8 with a byte order mark', 'utf-16le', 'utf-16be', 'gzip', 'zstd'] as const;

  it('a table in any delimiter, quoting, line end, encoding and compression reads back as the same values', async () => {
    const table = fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(
        table,
        fc.constantFrom(',', ';', '\t', '|'),
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.constantFrom('all', 'needed'),
        fc.constantFrom(...EXPORTS),
        fc.integer({ min: 1, max: 50 }),
        async (rows, delimiter, eol, quoting, form, chunkBytes) => {
          const needsQuotes = (value: string): boolean =>
            quoting === 'all' || /["\r\n]/.test(value) || value.includes(delimiter) || /^[ \t]|[ \t]$/.test(value);
          const write = (cells: readonly string[]): string =>
            cells.map((value) => (needsQuotes(value) ? `"${value.replaceAll('"', '""')}"` : value)).join(delimiter);
          const whole = [['email', 'b', 'c'], ...rows].map((cells) => write(cells) + eol).join('');
          const bytes =
            form === 'utf-16le'
              ? utf16(whole, 'le')
              : form === 'utf-16be'
                ? utf16(whole, 'be')
                : Buffer.from(form === 'utf-8' ? whole : form === 'gzip' || form === 'zstd' ? whole : `\ufeff${whole}`);
          const file = form === 'gzip' ? gzipSync(bytes) : form === 'zstd' ? zstdCompressSync(bytes) : bytes;
          // Many control characters make a small file binary; sniff.ts decides that, and this test does not cover it.
          fc.pre((whole.match(/[\x00-\x08\x0b\x0c\x0e-\x1f]/g) ?? []).length < 8);
          const records = await read(file, 'in.csv', { columns: { email: 'email' }, delimiter }, chunkBytes);
          expect(values(records)).toEqual(rows);
          expect(records.filter(({ bad }) => bad !== null)).toEqual([]);
        },
      ),
      { numRuns: casesOf(30, 250) },
    );
  });

  it('a table from Millrace’s own writer reads back as the same values', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 6 }),
        fc.constantFrom(',', '\t'),
        async (rows, delimiter) => {
          const row = csvRow(delimiter);
          const bytes = Buffer.concat([['email', 'b'], ...rows].map(row));
          fc.pre((bytes.toString('latin1').match(/[\x00-\x08\x0b\x0c\x0e-\x1f]/g) ?? []).length < 8);
          expect(values(await read(bytes, delimiter === ',' ? 'in.csv' : 'in.tsv'))).toEqual(rows);
        },
      ),
      { numRuns: casesOf(25, 200) },
    );
  });
});

describe('any bytes between good rows', () => {
  const soup = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc
      .array(fc.constantFrom('"', '""', ',', '\n', '\r', '\r\n', ' ', 'é', '\u0000', 'x', '",', ',"', '"\n'), { maxLength: 20 })
      .map((parts) => new TextEncoder().encode(parts.join(''))),
  );

  it('good rows are never lost or changed, unless an open quote encloses them as RFC 4180 says', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(soup, { minLength: 1, maxLength: 4 }), fc.integer({ min: 1, max: 64 }), async (soups, chunkBytes) => {
        const good = (i: number): string => `good${i}@x.example,value ${i}`;
        const parts = [Buffer.from(`email,b\n${good(0)}\n`)];
        // A quote that opens between good rows may be closed there, or never: then only its line is bad. Good rows have no quotes.
        for (const [i, bytes] of soups.entries()) parts.push(Buffer.from(bytes), Buffer.from(`\n${good(i + 1)}\n`));
        const whole = Buffer.concat(parts);
        fc.pre(!hasPairAcross(soups));
        const records = await read(whole, 'in.csv', { encoding: 'utf-8', delimiter: ',' }, chunkBytes).catch((error: unknown) =>
          code(error),
        );
        // Bytes that are mostly control characters, or in another encoding throughout, make another kind of file.
        if (!Array.isArray(records)) expect(['input_binary', 'input_encoding']).toContain(records);
        fc.pre(Array.isArray(records));
        const found = records
          .filter(({ email, bad }) => bad === null && /^good\d@x\.example$/.test(email))
          .map(({ values: cells }) => cells?.join(','));
        expect(found).toEqual(Array.from({ length: soups.length + 1 }, (_, i) => good(i)));
        // Every line is in a record: nothing is dropped silently.
        expect(records.every(({ values: cells }) => cells?.length === 2)).toBe(true);
      }),
      { numRuns: casesOf(50, 400) },
    );
  });

  /** A quote that a later quote closes encloses the rows between, as in any file. */
  function hasPairAcross(soups: readonly Uint8Array[]): boolean {
    return soups.filter((bytes) => bytes.includes(34)).length > 1;
  }
});
