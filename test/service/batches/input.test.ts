import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { readCells, writeCells } from '../../../src/service/batches/csv.ts';
import { linesAhead } from '../../../src/service/batches/lines-ahead.ts';
import { framer } from '../../../src/service/batches/frame.ts';
import { toLine } from '../../../src/service/batches/input.ts';
import { MAX_LINE_BYTES, ROUND_BYTES } from '../../../src/service/batches/limits.ts';
import type { BatchFormat } from '../../../src/service/operations/batches.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { temporaryFolder } from '../harness.ts';

/** All lines of parts with these contents, `most` at a time, each time from where the last one ended. */
async function readAll(format: BatchFormat, header: readonly string[] | null, contents: readonly (string | Buffer)[], most = 3) {
  const folder = await temporaryFolder();
  const parts = contents.map((content, at) => ({ n: at + 1, file: `p${at}`, bytes: Buffer.byteLength(content) }));
  for (const [at, content] of contents.entries()) await writeFile(join(folder, `p${at}`), content);
  const found = [];
  let place = { part: 0, offset: 0 };
  for (;;) {
    const { lines, part } = await linesAhead({ partFrom: (from) => parts.find(({ n }) => n >= from) ?? null, pathOf: (file) => join(folder, file), format, header }, place, most);
    const last = lines.at(-1);
    if (last === undefined) return found;
    found.push(...lines.map((line) => ({ kind: line.kind, text: line.bytes.length > 100 ? line.bytes.length : line.bytes.toString(), line: toLine(line, format, header) })));
    place = { part, offset: last.next };
  }
}

/** Bytes that count how many of them were looked at. */
function counted(text: string): { readonly bytes: Buffer; readonly looks: () => number } {
  let looks = 0;
  const buffer = Buffer.from(text);
  const bytes = new Proxy(buffer, {
    get: (_, name) => {
      if (name === 'indexOf') return (value: number, from: number) => {
        const found = buffer.indexOf(value, from);
        looks += (found === -1 ? buffer.length : found) - from + 1;
        return found;
      };
      if (name !== 'length') looks++;
      return Reflect.get(buffer, name) as unknown;
    },
  });
  return { bytes, looks: () => looks };
}

const texts = async (...args: Parameters<typeof readAll>): Promise<unknown[]> => (await readAll(...args)).map(({ text }) => text);

describe('cells', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', 'é', ',', '"', ' ', '\n', '\r', ';') });

  it('are read as they were written, however often the reading stops', async () => {
    fc.assert(fc.property(fc.array(cell, { minLength: 1 }), (cells) => {
      expect(readCells(writeCells(cells).slice(0, -1))).toEqual(cells);
    }));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.constant('x'), cell), { maxLength: 8 }), fc.integer({ min: 1, max: 4 }), async (rows, most) => {
        const found = await readAll('csv', ['email', 'custom_id'], [rows.map((row) => writeCells(row)).join('')], most);
        expect(found.map(({ line }) => line.customId ?? '')).toEqual(rows.map(([, id]) => id));
      }),
      { numRuns: 30 },
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
  ])('are none where quotes are not in order, which is said: %s', (text, wrong) => expect(readCells(text)).toEqual({ wrong: expect.stringContaining(wrong) }));
});

describe('lines', () => {
  it('end with LF, CR LF or the file; blank ones and marks of byte order are none', async () => {
    expect(await texts('ndjson', null, ['\u{feff}1\r\n\n \t\n2\n3', '', '\n', '4\n'])).toEqual(['1', '2', '3', '4']);
  });

  it('with nothing on them are none, wherever the others are, and are not looked at one by one', async () => {
    const bytes = fc.array(fc.constantFrom('a', '\n', '\n', '\r', '\t', ' '), { maxLength: 40 });
    await fc.assert(fc.asyncProperty(fc.constantFrom('ndjson' as const, 'csv' as const), fc.array(bytes, { maxLength: 3 }), async (format, parts) => {
      const contents = parts.map((part) => part.join(''));
      const wanted = contents.flatMap((content) => content.split('\n').map((line) => line.replace(/\r$/, '')).filter((line) => /[^ \t]/.test(line)));
      expect(await texts(format, null, contents)).toEqual(wanted);
    }), { numRuns: 50 });
    const looked = vi.spyOn(Buffer.prototype, 'indexOf');
    cleanUp(() => void vi.restoreAllMocks());
    expect(await texts('ndjson', null, [`${' \r\n\n'.repeat(MAX_LINE_BYTES)}1\n`])).toEqual(['1']);
    expect(looked.mock.calls.length).toBeLessThan(10);
  });

  it('that are too long are one bad line each, wherever the reading stops', async () => {
    const long = 'x'.repeat(MAX_LINE_BYTES + 1);
    const huge = 'y'.repeat(3 * 1024 * 1024 + 7);
    const found = await readAll('ndjson', null, [`1\n${long}\n2\n${huge}\n3\n${long.slice(1)}\n`, `${huge}\n${huge}`, '4\n']);
    expect(found.map(({ text, kind }) => (kind === 'whole' ? text : kind))).toEqual(['1', 'long', '2', 'long', '3', MAX_LINE_BYTES, 'long', 'long', '4']);
    for (const { line } of found.filter(({ kind }) => kind === 'long')) expect(line.params).toMatchObject({ code: 'payload_too_large' });
  });

  it('of tables go on within quotes, and one whose quote does not close costs no more than its row', async () => {
    const far = 'z\n'.repeat(MAX_LINE_BYTES);
    expect(await texts('csv', ['email'], ['"a\nb"\n"open\nc\n"d\n""\ne"\nlast'])).toEqual(['"a\nb"', '"open', 'c', '"d\n""\ne"', 'last']);
    const found = await readAll('csv', ['email'], [`"open\n${far}end\n`], 5_000);
    expect([found.length, found[0]?.text, found[1]?.text, found.at(-1)?.text]).toEqual([MAX_LINE_BYTES + 2, '"open', 'z', 'end']);
    // As many bytes as a line may have, whatever its end is.
    const full = `"\n${'x'.repeat(MAX_LINE_BYTES - 3)}"`;
    expect(await texts('csv', ['email'], [`${full}\r\n${full}\nlast`])).toEqual([MAX_LINE_BYTES, MAX_LINE_BYTES, 'last']);
  });

  it('of tables whose quotes are not in order are one bad line each, whatever is between them', async () => {
    const fine = fc.array(fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', 'é') }), { minLength: 2, maxLength: 2 }).map((cells) => ({ row: writeCells(['x', ...cells]), isFine: true }));
    const broken = fc.constantFrom('5" pipe,b,c', 'a,b"b,c', 'a,"b"b,c', 'a,"b",c"', '"a""b"c,d', 'a,"b" ,c').map((row) => ({ row: `${row}\n`, isFine: false }));
    await fc.assert(fc.asyncProperty(fc.array(fc.oneof(fine, broken), { maxLength: 12 }), fc.integer({ min: 1, max: 5 }), async (rows, most) => {
      const found = await readAll('csv', ['email', 'name', 'custom_id'], [rows.map(({ row }) => row).join('')], most);
      expect(found.map(({ text, line }) => ({ row: `${text}\n`, isFine: !(line.params instanceof Error) }))).toEqual(rows);
    }), { numRuns: 50 });
  });

  it('of tables are found by looking at all bytes a few times at the most, however their rows are made', () => {
    const rows = fc.array(fc.string({ unit: fc.constantFrom('a', ',', '"', '\n'), minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 2 });
    fc.assert(fc.property(rows, fc.boolean(), ([row, other = ''], isLast) => {
      const { bytes, looks } = counted(`${row}\n`.repeat(500) + other.repeat(500));
      const lineAt = framer(bytes, 'csv', isLast);
      for (let at: number | undefined = 0; at !== undefined && at < bytes.length; ) at = lineAt(at)?.next;
      expect(looks()).toBeLessThan(10 * bytes.length);
    }), { examples: [[['a,b'], true], [['x","'], true], [['x","', ','], false], [['x""","', '""'], true]] });
  });

  it('with a header in front of some parts are those behind it', async () => {
    expect(await texts('csv', ['email', 'custom_id'], ['Email, custom_id\na,1\n', 'b,2\nemail,custom_id\n', '"email",custom_id\r\nc,3'])).toEqual(['a,1', 'b,2', 'email,custom_id', 'c,3']);
  });

  it('with a header behind so many blank ones that the reading stops before it are those behind it', async () => {
    const blanks = ' \n'.repeat(ROUND_BYTES);
    expect(await texts('csv', ['email'], [`${blanks}email\na\n`, `${blanks}b\nemail\n`])).toEqual(['a', 'b', 'email']);
  });

  it('that are no UTF-8 are told of as that, and spoil no other', async () => {
    const found = await readAll('ndjson', null, [Buffer.concat([Buffer.from('{"a":1}\n'), Buffer.from([0xff, 0xfe, 0x0a]), Buffer.from('{"a":2}\n')])]);
    expect(found.map(({ line }) => (line.params instanceof Error ? line.params.message : line.params))).toEqual([{ a: 1 }, 'the line is not UTF-8', { a: 2 }]);
  });

  it.each([
    ['{"custom_id":"a","params":{"email":"x"}}', 'a', { email: 'x' }],
    ['{"custom_id":"a","email":"x"}', 'a', { email: 'x' }],
    ['{"custom_id":null,"email":"x"}', null, { email: 'x' }],
    ['{"custom_id":"a","params":{},"x":1}', 'a', 'beside params there is only custom_id, not "x"'],
    ['{"custom_id":"a","params":[]}', 'a', 'params must be an object'],
    ['{"custom_id":7,"email":"x"}', null, 'custom_id must be a string of at most 255 characters'],
    [`{"custom_id":"${'x'.repeat(256)}"}`, null, 'custom_id must be a string of at most 255 characters'],
    ['{"email":"x"} y', null, 'the line is no JSON'],
    ['null', null, 'the line must be a JSON object'],
  ])('of JSON: %s', async (text, customId, wanted) => {
    const [found] = await readAll('ndjson', null, [text]);
    expect(found?.line.customId).toBe(customId);
    expect(found?.line.params instanceof Error ? found.line.params.message : found?.line.params).toEqual(wanted);
  });
});
