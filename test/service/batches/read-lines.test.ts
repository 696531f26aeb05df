import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from '../../support/fast-check.ts';
import { describe, expect, it, vi } from 'vitest';
import { csvText } from '../../../src/formats/csv/csv-row.ts';
import { nextLines } from '../../../src/service/batches/next-lines.ts';
import { toLine } from '../../../src/service/batches/read-lines.ts';
import { MAX_LINE_BYTES, CHUNK_INPUT_BYTES } from '../../../src/service/batches/batch-limits.ts';
import type { BatchFormat } from '../../../src/service/batches/batch-operations.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { temporaryFolder } from '../harness.ts';

/** All lines of parts with these contents, read in batches of `limit` from one position to the next. */
async function readAll(format: BatchFormat, header: readonly string[] | null, contents: readonly (string | Buffer)[], limit = 3) {
  const folder = await temporaryFolder();
  const parts = contents.map((content, at) => ({ n: at + 1, file: `p${at}`, bytes: Buffer.byteLength(content) }));
  for (const [at, content] of contents.entries()) await writeFile(join(folder, `p${at}`), content);
  const found = [];
  let position = { part: 0, offset: 0 };
  for (;;) {
    const { lines, part } = await nextLines(
      { partFrom: (from) => parts.find(({ n }) => n >= from) ?? null, pathOf: (file) => join(folder, file), format, header },
      position,
      limit,
    );
    const last = lines.at(-1);
    if (last === undefined) return found;
    found.push(
      ...lines.map((line) => ({
        kind: line.kind,
        text: line.bytes.length > 100 ? line.bytes.length : line.bytes.toString(),
        line: toLine(line, format, header),
      })),
    );
    position = { part, offset: last.next };
  }
}

const csvRowOf = csvText(',');
const texts = async (...args: Parameters<typeof readAll>): Promise<unknown[]> => (await readAll(...args)).map(({ text }) => text);

describe('CSV cells', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', 'é', ',', '"', ' ', '\n', '\r', ';') });

  it('CSV cells are read as they were written, in batches of any size', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constant('x'), cell), { maxLength: 8 }),
        fc.integer({ min: 1, max: 4 }),
        async (rows, limit) => {
          const found = await readAll('csv', ['email', 'custom_id'], [rows.map((row) => csvRowOf(row)).join('')], limit);
          expect(found.map(({ line }) => line.customId ?? '')).toEqual(rows.map(([, id]) => id));
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe('lines', () => {
  it('end with LF, CR LF or the file; blank lines and byte order marks do not count', async () => {
    expect(await texts('ndjson', null, ['\u{feff}1\r\n\n \t\n2\n3', '', '\n', '4\n'])).toEqual(['1', '2', '3', '4']);
  });

  it('lines that are blank do not count, and are skipped without a search for each', async () => {
    const bytes = fc.array(fc.constantFrom('a', '\n', '\n', '\r', '\t', ' '), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('ndjson' as const, 'csv' as const), fc.array(bytes, { maxLength: 3 }), async (format, parts) => {
        const contents = parts.map((part) => part.join(''));
        const wanted = contents.flatMap((content) =>
          content
            .split('\n')
            .map((line) => line.replace(/\r$/, ''))
            .filter((line) => /[^ \t]/.test(line)),
        );
        expect(await texts(format, null, contents)).toEqual(wanted);
      }),
      { numRuns: 50 },
    );
    const searches = vi.spyOn(Buffer.prototype, 'indexOf');
    cleanUp(() => void vi.restoreAllMocks());
    expect(await texts('ndjson', null, [`${' \r\n\n'.repeat(MAX_LINE_BYTES)}1\n`])).toEqual(['1']);
    expect(searches.mock.calls.length).toBeLessThan(10);
  });

  it('lines that are too long are one bad line each, wherever a read ends', async () => {
    const long = 'x'.repeat(MAX_LINE_BYTES + 1);
    const huge = 'y'.repeat(3 * 1024 * 1024 + 7);
    const found = await readAll('ndjson', null, [`1\n${long}\n2\n${huge}\n3\n${long.slice(1)}\n`, `${huge}\n${huge}`, '4\n']);
    expect(found.map(({ text, kind }) => (kind === 'complete' ? text : kind))).toEqual([
      '1',
      'long',
      '2',
      'long',
      '3',
      MAX_LINE_BYTES,
      'long',
      'long',
      '4',
    ]);
    for (const { line } of found.filter(({ kind }) => kind === 'long')) expect(line.params).toMatchObject({ code: 'payload_too_large' });
  });

  it('lines of CSV continue within quotes; a quote that is not closed affects only its own row', async () => {
    const far = 'z\n'.repeat(MAX_LINE_BYTES);
    expect(await texts('csv', ['email'], ['"a\nb"\n"open\nc\n"d\n""\ne"\nlast'])).toEqual(['"a\nb"', '"open', 'c', '"d\n""\ne"', 'last']);
    const found = await readAll('csv', ['email'], [`"open\n${far}end\n`], 5_000);
    expect([found.length, found[0]?.text, found[1]?.text, found.at(-1)?.text]).toEqual([MAX_LINE_BYTES + 2, '"open', 'z', 'end']);
    // The longest allowed line, with either line end.
    const full = `"\n${'x'.repeat(MAX_LINE_BYTES - 3)}"`;
    expect(await texts('csv', ['email'], [`${full}\r\n${full}\nlast`])).toEqual([MAX_LINE_BYTES, MAX_LINE_BYTES, 'last']);
  });

  it('lines of CSV with wrong quotes are one bad line each, between any other lines', async () => {
    const fine = fc
      .array(fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', 'é') }), { minLength: 2, maxLength: 2 })
      .map((cells) => ({ row: csvRowOf(['x', ...cells]), isValid: true }));
    const broken = fc
      .constantFrom('5" pipe,b,c', 'a,b"b,c', 'a,"b"b,c', 'a,"b",c"', '"a""b"c,d', 'a,"b" ,c')
      .map((row) => ({ row: `${row}\n`, isValid: false }));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(fine, broken), { maxLength: 12 }), fc.integer({ min: 1, max: 5 }), async (rows, limit) => {
        const found = await readAll('csv', ['email', 'name', 'custom_id'], [rows.map(({ row }) => row).join('')], limit);
        expect(found.map(({ text, line }) => ({ row: `${text}\n`, isValid: !(line.params instanceof Error) }))).toEqual(rows);
      }),
      { numRuns: 50 },
    );
  });

  it('exclude a repeated header at the beginning of a part', async () => {
    expect(
      await texts('csv', ['email', 'custom_id'], ['Email, custom_id\na,1\n', 'b,2\nemail,custom_id\n', '"email",custom_id\r\nc,3']),
    ).toEqual(['a,1', 'b,2', 'email,custom_id', 'c,3']);
  });

  it('exclude a header after more blank lines than one read returns', async () => {
    const blanks = ' \n'.repeat(CHUNK_INPUT_BYTES);
    expect(await texts('csv', ['email'], [`${blanks}email\na\n`, `${blanks}b\nemail\n`])).toEqual(['a', 'b', 'email']);
  });

  it('lines that are not UTF-8 fail with that error, and do not affect other lines', async () => {
    const found = await readAll('ndjson', null, [
      Buffer.concat([Buffer.from('{"a":1}\n'), Buffer.from([0xff, 0xfe, 0x0a]), Buffer.from('{"a":2}\n')]),
    ]);
    expect(found.map(({ line }) => (line.params instanceof Error ? line.params.message : line.params))).toEqual([
      { a: 1 },
      'the line is not UTF-8',
      { a: 2 },
    ]);
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
  ])('lines of ndjson are parsed: %s', async (text, customId, wanted) => {
    const [found] = await readAll('ndjson', null, [text]);
    expect(found?.line.customId).toBe(customId);
    expect(found?.line.params instanceof Error ? found.line.params.message : found?.line.params).toEqual(wanted);
  });
});
