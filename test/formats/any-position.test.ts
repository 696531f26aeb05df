import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import type { InputRecord } from '../../src/formats/input-record.ts';
import { casesOf } from '../support/sample.ts';
import { archive, freeze, put, readAll, scratchFolder, utf16, withoutFrames } from './helpers.ts';

const folder = scratchFolder();

const PACKINGS = ['plain', 'gzip', 'zstd', 'utf-16le', 'utf-16be', 'utf-16le.gzip'] as const;

type Packing = (typeof PACKINGS)[number];

function pack(text: string, packing: Packing, cuts: readonly number[]): Buffer {
  const encoding = packing.startsWith('utf-16') ? (packing.startsWith('utf-16le') ? 'le' : 'be') : null;
  const bytes = encoding === null ? Buffer.from(text) : utf16(text, encoding);
  if (packing.endsWith('gzip')) return archive('gzip', bytes, cuts);
  return packing === 'zstd' ? archive('zstd', bytes, cuts) : bytes;
}

const cell = fc
  .array(
    fc.constantFrom(
      'a',
      'Zoë',
      '日本',
      '😀',
      ' ',
      '\u00a0',
      '\ufeff',
      '"',
      '""',
      ',',
      '\n',
      '\r\n',
      '\r',
      '\u0000',
      "'",
      '=1+1',
      '\t',
      ';',
      'x'.repeat(30),
    ),
    { maxLength: 5 },
  )
  .map((parts) => parts.join(''));

const eol = fc.constantFrom('\n', '\r\n', '\r');

/** Rows of three cells as a correct writer formats them: quoted where needed, and sometimes where not. */
const row = fc.record({ cells: fc.tuple(cell, cell, cell), quoteAll: fc.boolean(), eol, blanks: fc.array(eol, { maxLength: 2 }) });

function writeRow(cells: readonly string[], quoteAll: boolean): string {
  return cells.map((value) => (quoteAll || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value)).join(',');
}

async function expectSeekable(path: string, chunkBytes: number, all: readonly InputRecord[]): Promise<void> {
  const manifest = await freeze(path);
  for (const [index, { end }] of all.entries()) {
    expect(withoutFrames(await readAll(manifest, end, chunkBytes))).toEqual(withoutFrames(all.slice(index + 1)));
  }
}

describe('reading records from any position', () => {
  it.each(PACKINGS)('CSV values are exactly the written ones, from every position: %s', async (packing) => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { maxLength: 8 }),
        fc.boolean(),
        fc.integer({ min: 1, max: 40 }),
        fc.array(fc.nat(300), { maxLength: 4 }),
        async (rows, lastEol, chunkBytes, cuts) => {
          let text = 'email,Full Name,notes\n';
          const lines: number[] = [];
          const countLines = (part: string): number => part.split(/\r\n|\n|\r/).length - 1;
          for (const { cells, quoteAll, eol: lineEnd, blanks } of rows) {
            lines.push(countLines(text) + 1);
            text += writeRow(cells, quoteAll) + lineEnd + blanks.join('');
          }
          if (!lastEol && rows.length > 0) text = text.replace(/[\r\n]+$/, '');
          // A CR that ends a line before a blank line with LF would be read as one line end; no writer makes such a file.
          fc.pre(
            !rows.some(
              ({ eol: lineEnd, blanks }) => `${lineEnd}${blanks.join('')}`.replaceAll('\r\n', '').includes('\r') && blanks.length > 0,
            ),
          );
          count += 1;
          const extension = packing.endsWith('gzip') ? '.gz' : packing === 'zstd' ? '.zst' : '';
          const path = await put(folder, `exact-${packing}-${count}.csv${extension}`, pack(text, packing, cuts));
          const manifest = await freeze(path, { columns: { email: 'email' } });
          const all = await readAll(manifest, null, chunkBytes);
          expect(all.map(({ values }) => values)).toEqual(rows.map(({ cells }) => cells));
          expect(all.map(({ line }) => line)).toEqual(lines);
          expect(all.map(({ email }) => email)).toEqual(rows.map(({ cells }) => cells[0]));
          expect(all.filter(({ bad }) => bad !== null)).toEqual([]);
          expect(withoutFrames(await readAll(manifest))).toEqual(withoutFrames(all));
          await expectSeekable(path, chunkBytes, all);
        },
      ),
      { numRuns: casesOf(15, 60) },
    );
  });

  it.each(PACKINGS)('any CSV bytes are read without failure, and the same from every position: %s', async (packing) => {
    const junk = fc
      .array(fc.constantFrom('"', ',', '\n', '\r\n', '\r', 'a@b.example', ' ', 'é', '""', '"x"', ' "y"', '" ,'), { maxLength: 30 })
      .map((parts) => parts.join(''));
    let count = 0;
    await fc.assert(
      fc.asyncProperty(junk, fc.integer({ min: 1, max: 30 }), fc.array(fc.nat(100), { maxLength: 3 }), async (text, chunkBytes, cuts) => {
        count += 1;
        const path = await put(folder, `junk-${packing}-${count}.csv`, pack(`email,name\nfirst,1\n${text}`, packing, cuts));
        const manifest = await freeze(path);
        const all = await readAll(manifest);
        expect(all.every(({ values }) => values?.length === 2)).toBe(true);
        await expectSeekable(path, chunkBytes, all);
      }),
      { numRuns: casesOf(15, 60) },
    );
  });

  it.each(PACKINGS)('JSONL objects are kept verbatim, from every position: %s', async (packing) => {
    const line = fc.oneof(
      fc
        .dictionary(fc.constantFrom('a', 'b', 'é'), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 })
        .map((value) => JSON.stringify({ email: 'p@x.example', ...value })),
      fc.constantFrom(
        '',
        '  ',
        '{"email": 5 }',
        '[1]',
        '{"email":"q@x.example"',
        'null',
        '{"email":"a","email":"b"}',
        '\t{ "email" : "c" }  ',
      ),
    );
    let count = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 8 }),
        fc.constantFrom('\n', '\r\n'),
        fc.integer({ min: 1, max: 40 }),
        fc.array(fc.nat(200), { maxLength: 4 }),
        async (lines, lineEnd, chunkBytes, cuts) => {
          count += 1;
          const all = ['{"email":"first@x.example"}', ...lines];
          const path = await put(folder, `lines-${packing}-${count}.jsonl`, pack(all.join(lineEnd), packing, cuts));
          const records = await readAll(await freeze(path), null, chunkBytes);
          const wanted = all.flatMap((text, index) => (text.trim() === '' ? [] : [{ text: text.trim(), line: index + 1 }]));
          expect(records.map(({ line: at }) => at)).toEqual(wanted.map(({ line: at }) => at));
          for (const [index, record] of records.entries()) {
            const text = wanted[index]?.text ?? '';
            if (record.bad === null) expect(record.json).toBe(text);
            else expect((JSON.parse(record.json ?? '') as string).trim()).toBe(text);
          }
          await expectSeekable(path, chunkBytes, records);
        },
      ),
      { numRuns: casesOf(12, 40) },
    );
  });
});
