/** Hostile files: hard cases of CSV and JSON lines, and the limits of the reader. */
import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import type { InputRecord } from '../../src/formats/input-record.ts';
import { casesOf } from '../support/sample.ts';
import { code, freeze, put, readAll, scratchFolder, scratchReader } from './helpers.ts';

const folder = scratchFolder();

const read = scratchReader();

const values = (records: readonly InputRecord[]): unknown => records.map((record) => record.values);

describe('the usual hard cases of CSV', () => {
  it.each<readonly [string, string, readonly (readonly string[])[]]>([
    ['a delimiter in quotes', 'email,street\na@x.example,"12 Main St, Apt 4"\n', [['a@x.example', '12 Main St, Apt 4']]],
    [
      'empty fields, bare and quoted',
      'email,b,c\na@x.example,"",""\nb@x.example,,\n',
      [
        ['a@x.example', '', ''],
        ['b@x.example', '', ''],
      ],
    ],
    [
      'CRLF everywhere',
      'email,b\r\na@x.example,"1\r\n2"\r\nb@x.example,3\r\n',
      [
        ['a@x.example', '1\r\n2'],
        ['b@x.example', '3'],
      ],
    ],
    [
      'a lone CR as line end',
      'email,b\ra@x.example,1\rb@x.example,2\r',
      [
        ['a@x.example', '1'],
        ['b@x.example', '2'],
      ],
    ],
    [
      'mixed line ends',
      'email,b\na@x.example,1\r\nb@x.example,2\rc@x.example,3',
      [
        ['a@x.example', '1'],
        ['b@x.example', '2'],
        ['c@x.example', '3'],
      ],
    ],
    ['escaped quotes', 'email,b\na@x.example,"ha ""ha"" ha"\n', [['a@x.example', 'ha "ha" ha']]],
    [
      'JSON in a cell',
      'email,geo\na@x.example,"{""type"": ""Point"", ""at"": [102.0, 0.5]}"\n',
      [['a@x.example', '{"type": "Point", "at": [102.0, 0.5]}']],
    ],
    ['line breaks in several cells', 'email,b,c\na@x.example,"x\ny","z\n"\n', [['a@x.example', 'x\ny', 'z\n']]],
    ['quotes and line breaks together', 'email,b\na@x.example,"""\n"""\n', [['a@x.example', '"\n"']]],
    ['more than ASCII', 'email,b\na@x.example,ʤ Ω Ж 😀 日本\n', [['a@x.example', 'ʤ Ω Ж 😀 日本']]],
    ['no last line end', 'email,b\na@x.example,"1"', [['a@x.example', '1']]],
    ['blank lines around and between', '\n\nemail,b\n\n\na@x.example,1\n\n', [['a@x.example', '1']]],
    ['a NUL in a cell', 'email,b\na@x.example,x\u0000y\n', [['a@x.example', 'x\u0000y']]],
    [
      'cells that spreadsheets run',
      'email,b\na@x.example,"=HYPERLINK(""http://x"",""y"")"\nb@x.example,@SUM(1+1)\n',
      [
        ['a@x.example', '=HYPERLINK("http://x","y")'],
        ['b@x.example', '@SUM(1+1)'],
      ],
    ],
    [
      'a CR within cells',
      'email,b\na@x.example,x\ry\r\nb\r@x.example,2\nc@x.example,"3"\nd@x.example,\r',
      [
        ['a@x.example', 'x\ry'],
        ['b\r@x.example', '2'],
        ['c@x.example', '3'],
        ['d@x.example', ''],
      ],
    ],
    [
      'lines that end with a CR, and a last one with LF',
      'email,b\ra@x.example,1\rb@x.example,2\rc@x.example,3\n',
      [
        ['a@x.example', '1'],
        ['b@x.example', '2'],
        ['c@x.example', '3'],
      ],
    ],
    ['quotes in the header', '"email","full ""name"""\na@x.example,1\n', [['a@x.example', '1']]],
  ])('%s', async (_, text, rows) => {
    const records = await read(text);
    expect(values(records)).toEqual(rows);
    expect(records.filter(({ bad }) => bad !== null)).toEqual([]);
  });
});

describe('the limits', () => {
  const MIB = 1024 * 1024;

  it.each([
    ['a quoted field just under 1 MiB is kept', MIB - 2, true],
    ['a quoted field just over 1 MiB is a bad row', MIB + 2, false],
  ])('%s', async (_, length, good) => {
    const long = `${'x'.repeat(length - 10)}\n${'y'.repeat(9)}`;
    const records = await read(`email,b\na@x.example,"${long}"\nb@x.example,2\n`);
    expect(records.at(-1)?.values).toEqual(['b@x.example', '2']);
    if (good)
      expect(values(records)).toEqual([
        ['a@x.example', long],
        ['b@x.example', '2'],
      ]);
    else
      expect(records.map(({ line, bad }) => [line, bad])).toEqual([
        [2, 'a quote is not closed'],
        [3, null],
        [4, null],
      ]);
  });

  it.each([
    ['a bare field of 3 MiB is kept', 3 * MIB, null],
    ['a record over 4 MiB is a bad row', 4 * MIB, 'longer than 4 MiB'],
  ])('%s', async (_, length, bad) => {
    const records = await read(`email,b\na@x.example,${'x'.repeat(length)}\nb@x.example,2\n`);
    expect(records.map((record) => record.bad)).toEqual([bad, null]);
    expect(records[1]?.values).toEqual(['b@x.example', '2']);
  });

  it('a million columns in the header are refused, and in a row the surplus is dropped', async () => {
    const million = 'c,'.repeat(1_000_000);
    await expect(read(`email,${million}\na@x.example\n`)).rejects.toMatchObject({
      code: expect.stringMatching(/input_(?:too_many|duplicate)_columns/),
    });
    const names = Array.from({ length: 10_001 }, (_, i) => `c${i}`).join();
    await expect(read(`email,${names}\na@x.example\n`)).rejects.toMatchObject({ code: 'input_too_many_columns' });
    const records = await read(`email,b\na@x.example,1,${million}\nb@x.example,2\n`);
    expect(values(records)).toEqual([
      ['a@x.example', '1'],
      ['b@x.example', '2'],
    ]);
  });

  it('a line over 4 MiB keeps the complete cells of its head, in any chunks, and its keys are not looked up', async () => {
    const big = 'x'.repeat(5 * MIB);
    const lines = [
      `a@x.example,"one, ""two""",${big},after`,
      `${big},b@x.example,,`,
      `c@x.example,${'y'.repeat(3 * MIB)},${'z'.repeat(2 * MIB)},after`,
      `d@x.example,n,"${'w, '.repeat(200_000)}",${big}`,
      `"e@x.example",${'surplus,'.repeat(600_000)}`,
    ];
    const path = await put(folder, 'long-cells.csv', `email,note,big,last\n${lines.join('\r\n')}\r\nlast@x.example,,,\n`);
    const manifest = await freeze(path);
    const all = await readAll(manifest);
    expect(all.map(({ bad, email, raw }) => [bad, email, raw?.length ?? 0])).toEqual([
      ...lines.map(() => ['longer than 4 MiB', '', 4_096]),
      [null, 'last@x.example', 0],
    ]);
    expect(all.map(({ values }) => values?.map((value) => (value.length > 20 ? value.length : value)))).toEqual([
      ['a@x.example', 'one, "two"', '', ''],
      ['', '', '', ''],
      ['c@x.example', 3 * MIB, '', ''],
      ['d@x.example', 'n', 600_000, ''],
      ['e@x.example', 'surplus', 'surplus', 'surplus'],
      ['last@x.example', '', '', ''],
    ]);
    const again = await readAll(manifest, null, 300_007);
    expect(again.map(({ values, line, end }) => [line, end.offset, values?.map(({ length }) => length)])).toEqual(
      all.map(({ values, line, end }) => [line, end.offset, values?.map(({ length }) => length)]),
    );
    expect((await readAll(manifest, all[2]?.end ?? null)).map(({ line }) => line)).toEqual([5, 6, 7]);
  });
});

describe('JSON lines', () => {
  const kept = async (lines: readonly string[], eol = '\n', bom = ''): Promise<InputRecord[]> =>
    read(`${bom}{"email":"first@x.example"}${eol}${lines.join(eol)}${eol}`, 'in.jsonl');

  it.each([
    ['a number of 400 digits', `{"email":"a@x.example","n":${'9'.repeat(400)}}`],
    ['a number out of all bounds', '{"email":"a@x.example","n":-1e999999}'],
    ['a key given twice: the last counts', '{"email":"b@x.example","email":"a@x.example"}'],
    ['escapes of lone surrogates', '{"email":"a@x.example","s":"\\ud800 \\udc00"}'],
    ['nesting 100,000 deep', `{"email":"a@x.example","d":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ["names of Object's own", '{"__proto__":{"email":"b@x.example"},"constructor":1,"email":"a@x.example"}'],
    ['NULs by escape', '{"email":"a@x.example","s":"\\u0000"}'],
    ['white space around', ' \t{ "email" : "a@x.example" } \t'],
  ])('a JSON line is kept verbatim: %s', async (_, line) => {
    for (const [eol, bom] of [
      ['\n', ''],
      ['\r\n', '\ufeff'],
    ] as const) {
      const records = await kept([line, '', '   ', '{"email":"last@x.example"}'], eol, bom);
      expect(records.map(({ email, json, bad, line: at }) => ({ email, json, bad, at }))).toEqual([
        { email: 'first@x.example', json: '{"email":"first@x.example"}', bad: null, at: 1 },
        { email: 'a@x.example', json: line.trim(), bad: null, at: 2 },
        { email: 'last@x.example', json: '{"email":"last@x.example"}', bad: null, at: 5 },
      ]);
    }
  });

  it('good JSONL lines are never lost, for any bytes between them', async () => {
    const soup = fc.oneof(
      fc.uint8Array({ maxLength: 60 }),
      fc
        .array(fc.constantFrom('{', '}', '"', '[', ':', ',', '\\', '\n', '\r', 'null', '1e9', '{"email":"bad"'), { maxLength: 20 })
        .map((parts) => new TextEncoder().encode(parts.join(''))),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(soup, { minLength: 1, maxLength: 4 }), fc.integer({ min: 1, max: 64 }), async (soups, chunkBytes) => {
        const good = (i: number): string => `{"email":"good${i}@x.example"}`;
        const parts = [Buffer.from(`${good(0)}\n`)];
        for (const [i, bytes] of soups.entries()) parts.push(Buffer.from(bytes), Buffer.from(`\n${good(i + 1)}\n`));
        const records = await read(Buffer.concat(parts), 'in.jsonl', {}, chunkBytes).catch((error: unknown) => code(error));
        if (!Array.isArray(records)) expect(['input_binary', 'input_encoding']).toContain(records);
        fc.pre(Array.isArray(records));
        const found = records.filter(({ email }) => email.startsWith('good')).map(({ json }) => json);
        expect(found).toEqual(Array.from({ length: soups.length + 1 }, (_, i) => good(i)));
        // A line that is not an object is stored as a text.
        for (const { bad, json } of records) if (bad !== null) expect(typeof JSON.parse(json ?? '')).toBe('string');
      }),
      { numRuns: casesOf(50, 400) },
    );
  });

  it('a JSONL line over 4 MiB is one bad record', async () => {
    const records = await kept([`{"email":"a@x.example","s":"${'x'.repeat(5_000_000)}"}`, '{"email":"last@x.example"}']);
    expect(records.map(({ email, bad }) => [email, bad])).toEqual([
      ['first@x.example', null],
      ['', 'longer than 4 MiB'],
      ['last@x.example', null],
    ]);
    const [, long] = records;
    expect(long?.raw).toMatch(/^\{"email":"a@x\.example","s":"x{4000,}$/);
    expect(JSON.parse(long?.json ?? '')).toBe(long?.raw);
  });
});
