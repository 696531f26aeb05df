import { open } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { readRecords } from '../../src/reader/read-records.ts';
import type { InputRecord } from '../../src/reader/types.ts';
import { casesOf } from '../support/sample.ts';
import { archive, code, freeze, put, readAll, scratchFolder, utf16, withoutFrames } from './helpers.ts';

const folder = scratchFolder();

const PACKINGS = ['plain', 'gzip', 'zstd', 'utf-16le', 'utf-16be', 'utf-16le.gzip'] as const;
type Packing = (typeof PACKINGS)[number];

function pack(text: string, packing: Packing, cuts: readonly number[]): Buffer {
  const encoding = packing.startsWith('utf-16') ? (packing.startsWith('utf-16le') ? 'le' : 'be') : null;
  const bytes = encoding === null ? Buffer.from(text) : utf16(text, encoding);
  if (packing.endsWith('gzip')) return archive('gzip', bytes, cuts);
  return packing === 'zstd' ? archive('zstd', bytes, cuts) : bytes;
}

const cell = fc.array(fc.constantFrom('a', 'Zoë', '日本', '😀', ' ', '\u00a0', '\ufeff', '"', '""', ',', '\n', '\r\n', '\r', '\u0000', "'", '=1+1', '\t', ';', 'x'.repeat(30)), { maxLength: 5 }).map((parts) => parts.join(''));
const eol = fc.constantFrom('\n', '\r\n', '\r');
/** Rows of three cells as a lawful writer puts them: quotes where needed, and sometimes where not. */
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

describe('readRecords', () => {
  it.each(PACKINGS)('gives csv values exactly as they were written, from every position: %s', async (packing) => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 8 }), fc.boolean(), fc.integer({ min: 1, max: 40 }), fc.array(fc.nat(300), { maxLength: 4 }), async (rows, lastEol, chunkBytes, cuts) => {
        let text = 'email,Full Name,notes\n';
        const lines: number[] = [];
        const countLines = (part: string): number => part.split(/\r\n|\n|\r/).length - 1;
        for (const { cells, quoteAll, eol: lineEnd, blanks } of rows) {
          lines.push(countLines(text) + 1);
          text += writeRow(cells, quoteAll) + lineEnd + blanks.join('');
        }
        if (!lastEol && rows.length > 0) text = text.replace(/[\r\n]+$/, '');
        // A CR that ends one line and a LF that is the blank one after it are one line end: that is no file a writer makes.
        fc.pre(!rows.some(({ eol: lineEnd, blanks }) => `${lineEnd}${blanks.join('')}`.replaceAll('\r\n', '').includes('\r') && blanks.length > 0));
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
      }),
      { numRuns: casesOf(30, 60) },
    );
  });

  it.each(PACKINGS)('reads whatever stands in a csv file without failing, and alike from every position: %s', async (packing) => {
    const junk = fc.array(fc.constantFrom('"', ',', '\n', '\r\n', '\r', 'a@b.example', ' ', 'é', '""', '"x"', ' "y"', '" ,'), { maxLength: 30 }).map((parts) => parts.join(''));
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
      { numRuns: casesOf(30, 60) },
    );
  });

  it.each(PACKINGS)('keeps jsonl objects verbatim, from every position: %s', async (packing) => {
    const line = fc.oneof(
      fc.dictionary(fc.constantFrom('a', 'b', 'é'), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 }).map((value) => JSON.stringify({ email: 'p@x.example', ...value })),
      fc.constantFrom('', '  ', '{"email": 5 }', '[1]', '{"email":"q@x.example"', 'null', '{"email":"a","email":"b"}', '\t{ "email" : "c" }  '),
    );
    let count = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 8 }), fc.constantFrom('\n', '\r\n'), fc.integer({ min: 1, max: 40 }), fc.array(fc.nat(200), { maxLength: 4 }), async (lines, lineEnd, chunkBytes, cuts) => {
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
      }),
      { numRuns: casesOf(24, 40) },
    );
  });

  it('knows the member in which each record ends, and starts reading there', async () => {
    const lines = Array.from({ length: 4_000 }, (_, index) => `p${index}@x.example,${index}\n`);
    const path = await put(folder, 'members.csv.gz', Buffer.concat(['email,n\n', ...lines].map((line) => gzipSync(line))));
    const manifest = await freeze(path);
    const all = await readAll(manifest);
    expect(all.length).toBe(4_000);
    const late = all[3_600];
    expect(late?.end.frame?.at).toBeGreaterThan(120_000);
    expect(late?.end.frame?.offset).toBeGreaterThan(late === undefined ? 0 : late.end.offset - 40);
    const rest = await readAll(manifest, late?.end ?? null);
    expect(rest.map(({ email }) => email)).toEqual(all.slice(3_601).map(({ email }) => email));
  });

  it('reads several files as one: the union of their headers, each value in its column', async () => {
    const one = await put(folder, 'union/a.csv', 'email,city\na@x.example,Ulm\n');
    const empty = await put(folder, 'union/b.csv', '');
    const headerOnly = await put(folder, 'union/c.csv', 'email,city\n');
    const two = await put(folder, 'union/d.csv', 'phone;email\n1;b@x.example;surplus\n2\n');
    const manifest = await freeze([one, empty, headerOnly, two]);
    expect(manifest.columns).toEqual(['email', 'city', 'phone']);
    const all = await readAll(manifest);
    expect(all.map(({ file, line, values, email }) => ({ file, line, values, email }))).toEqual([
      { file: 0, line: 2, values: ['a@x.example', 'Ulm', ''], email: 'a@x.example' },
      { file: 3, line: 2, values: ['b@x.example', '', '1'], email: 'b@x.example' },
      { file: 3, line: 3, values: ['', '', '2'], email: '' },
    ]);
    expect(await readAll(manifest, all[0]?.end ?? null)).toEqual(all.slice(1));
    expect(await readAll(manifest, { file: 4, line: 1, offset: 0, frame: null })).toEqual([]);
  });

  it.each([['sep=;\r\n', ';'], ['"sep=|"\n', '|'], ['SEP=,\n', ','], ['\ufeffsep=;\n', ';'], ['sep=;\n', '|']])('takes the line %j, which Excel goes by, for none of the table', async (line, delimiter) => {
    // The last column has more of other delimiters than there are of this one.
    const path = await put(folder, 'stated.csv', `${line}email${delimiter}a,b;c,d|e\na@x.example${delimiter}n\n`);
    const manifest = await freeze(path, { delimiter: line.includes(delimiter) ? null : delimiter });
    expect(manifest).toMatchObject({ keyName: { email: 'email' }, files: [{ delimiter }] });
    const all = await readAll(manifest);
    expect(all.map(({ line: at, email }) => [at, email])).toEqual([[3, 'a@x.example']]);
    expect(await readAll(manifest, all[0]?.end ?? null)).toEqual([]);
  });

  it('says of a row with text beyond the last column of its header that it has a surplus, quoted or not', async () => {
    const field = fc.constantFrom('', '', 'x', '"q, "', '""');
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(field, { maxLength: 5 }), { minLength: 1, maxLength: 6 }), async (rows) => {
        const path = await put(folder, 'surplus.csv', `email,name\n${rows.map((beyond) => ['a@x.example', 'n', ...beyond].join(',')).join('\n')}\n`);
        const all = await readAll(await freeze(path));
        expect(all.map(({ surplus }) => surplus)).toEqual(rows.map((beyond) => beyond.some((text) => text !== '' && text !== '""')));
        expect(all.every(({ values }) => values?.length === 2)).toBe(true);
      }),
    );
  });

  it('looks beyond the last column without taking a hostile line apart', async () => {
    const path = await put(folder, 'commas.csv', `email,name\na@x.example,n${','.repeat(500_000)}\na@x.example,n${','.repeat(500_000)}x,\n`);
    const manifest = await freeze(path);
    const split = vi.spyOn(String.prototype, 'split');
    const all = await readAll(manifest);
    const most = Math.max(...split.mock.results.map(({ value }) => (value as readonly string[]).length));
    split.mockRestore();
    expect(all.map(({ surplus }) => surplus)).toEqual([false, true]);
    expect(most).toBeLessThanOrEqual(3);
  });

  it('reads on after a bad row: an unclosed quote, a line that is not UTF-8, a line too long', async () => {
    const path = await put(
      folder,
      'bad.csv',
      Buffer.concat([Buffer.from('email,name\ngood1@x.example,Zoë\nbad@x.example,"open\nq@x.example,\xe9'), Buffer.from([0xe9]), Buffer.from('\ngood2@x.example,B\n'), Buffer.alloc(5_000_000, 'y'), Buffer.from('\ngood3@x.example,C\n')]),
    );
    const all = await readAll(await freeze(path));
    expect(all.map(({ line, email, bad, raw }) => [line, email, bad, raw?.slice(0, 20) ?? null])).toEqual([
      [2, 'good1@x.example', null, null],
      [3, '', 'a quote is not closed', 'bad@x.example,"open'],
      [4, '', 'not valid utf-8', 'q@x.example,é\ufffd'],
      [5, 'good2@x.example', null, null],
      [6, '', 'longer than 4 MiB', 'y'.repeat(20)],
      [7, 'good3@x.example', null, null],
    ]);
    expect(all[1]?.values).toEqual(['bad@x.example', '"open']);
    expect(all[4]?.raw?.length).toBe(4096);
  });

  it('counts on in source bytes after UTF-16 that is not whole', async () => {
    const bytes = Buffer.concat([utf16('email\na@x.example\n', 'le'), Buffer.from([0x00, 0xd8, 0x41, 0x00]), Buffer.from('\nb@x.example\n', 'utf16le'), Buffer.from([0x41])]);
    const all = await readAll(await freeze(await put(folder, 'lone.csv', bytes)), null, 3);
    expect(all.map(({ email }) => email)).toEqual(['a@x.example', '\ufffdA', 'b@x.example']);
    expect(all.at(-1)?.end.offset).toBe(bytes.length - 1);
  });

  it('gives all whole records before the place where an archive is cut off, then says where that is', async () => {
    const rows = Array.from({ length: 40_000 }, (_, index) => `p${(index * 7919) % 100_003}@x.example,${index}\n`).join('');
    for (const kind of ['gzip', 'zstd'] as const) {
      const whole = archive(kind, Buffer.from(`email,n\n${rows}`), []);
      const cut = Math.floor(whole.length * 0.9);
      const path = await put(folder, `cut.csv.${kind === 'gzip' ? 'gz' : 'zst'}`, whole.subarray(0, cut));
      const manifest = await freeze(path);
      const records: InputRecord[] = [];
      const failure: unknown = await (async () => {
        for await (const batch of readRecords(manifest, null)) records.push(...batch);
      })().catch((error: unknown) => error);
      expect(code(failure)).toBe('input_truncated');
      expect(String(failure)).toContain(`byte ${cut}`);
      expect(records.length).toBeGreaterThan(30_000);
      expect(records.every(({ values }, index) => values?.[1] === String(index))).toBe(true);
    }
  });

  it('says so when a file became shorter, and does not read what was added', async () => {
    const path = await put(folder, 'grow.csv', `email\n${'a@x.example\n'.repeat(20_000)}`);
    const manifest = await freeze(path);
    const file = await open(path, 'a');
    await file.write('late@x.example\n');
    expect((await readAll(manifest)).length).toBe(20_000);
    await file.truncate(100_000);
    await file.close();
    expect(code(await readAll(manifest).catch((error: unknown) => error))).toBe('input_changed');
  });

  it('stops when it is aborted, with the reason given', async () => {
    const manifest = await freeze(await put(folder, 'abort.csv', `email\n${'a@x.example\n'.repeat(50_000)}`));
    const controller = new AbortController();
    const reading = readRecords(manifest, null, controller.signal);
    expect((await reading.next()).done).toBe(false);
    controller.abort(new Error('enough'));
    await expect(reading.next()).rejects.toThrow('enough');
  });

  it('keeps batches small in a wide file, however short its rows', async () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `c${index}`);
    const path = await put(folder, 'wide.csv', `email,${names.slice(1).join(',')}\n${'a\n'.repeat(1000)}`);
    let count = 0;
    for await (const batch of readRecords(await freeze(path), null)) {
      count += batch.length;
      expect(batch.length * 10_000).toBeLessThanOrEqual(2 ** 20);
    }
    expect(count).toBe(1000);
  });
});
