import { open } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import * as fc from '../support/fast-check.ts';
import { describe, expect, it, vi } from 'vitest';
import { readRecords } from '../../src/formats/read-records.ts';
import type { InputRecord } from '../../src/formats/input-record.ts';
import { archive, code, freeze, put, readAll, scratchFolder, utf16 } from './helpers.ts';

const folder = scratchFolder();

describe('reading records', () => {
  it('reading starts at the gzip member in which the previous record ends', async () => {
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

  it('several files are read as one: the union of their headers, each value in its column', async () => {
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

  it.each([
    ['sep=;\r\n', ';'],
    ['"sep=|"\n', '|'],
    ['SEP=,\n', ','],
    ['\ufeffsep=;\n', ';'],
    ['sep=;\n', '|'],
  ])('the line %j is not part of the table, because Excel reads the delimiter from it', async (line, delimiter) => {
    // The last column has more of the other delimiters than the line has of this one.
    const path = await put(folder, 'stated.csv', `${line}email${delimiter}a,b;c,d|e\na@x.example${delimiter}n\n`);
    const manifest = await freeze(path, { delimiter: line.includes(delimiter) ? null : delimiter });
    expect(manifest).toMatchObject({ keyName: { email: 'email' }, files: [{ delimiter }] });
    const all = await readAll(manifest);
    expect(all.map(({ line: at, email }) => [at, email])).toEqual([[3, 'a@x.example']]);
    expect(await readAll(manifest, all[0]?.end ?? null)).toEqual([]);
  });

  it('a row with text beyond the header’s last column is marked, quoted or not', async () => {
    const field = fc.constantFrom('', '', 'x', '"q, "', '""');
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(field, { maxLength: 5 }), { minLength: 1, maxLength: 6 }), async (rows) => {
        const path = await put(
          folder,
          'surplus.csv',
          `email,name\n${rows.map((beyond) => ['a@x.example', 'n', ...beyond].join(',')).join('\n')}\n`,
        );
        const all = await readAll(await freeze(path));
        expect(all.map(({ surplus }) => surplus)).toEqual(rows.map((beyond) => beyond.some((text) => text !== '' && text !== '""')));
        expect(all.every(({ values }) => values?.length === 2)).toBe(true);
      }),
    );
  });

  it('text beyond the last column is detected without splitting a hostile line', async () => {
    const path = await put(
      folder,
      'commas.csv',
      `email,name\na@x.example,n${','.repeat(500_000)}\na@x.example,n${','.repeat(500_000)}x,\n`,
    );
    const manifest = await freeze(path);
    const split = vi.spyOn(String.prototype, 'split');
    const all = await readAll(manifest);
    const most = Math.max(...split.mock.results.map(({ value }) => (value as readonly string[]).length));
    split.mockRestore();
    expect(all.map(({ surplus }) => surplus)).toEqual([false, true]);
    expect(most).toBeLessThanOrEqual(3);
  });

  it('reading continues after a bad row: an unclosed quote, a line that is not UTF-8, an overlong line', async () => {
    const path = await put(
      folder,
      'bad.csv',
      Buffer.concat([
        Buffer.from('email,name\ngood1@x.example,Zoë\nbad@x.example,"open\nq@x.example,\xe9'),
        Buffer.from([0xe9]),
        Buffer.from('\ngood2@x.example,B\n'),
        Buffer.alloc(5_000_000, 'y'),
        Buffer.from('\ngood3@x.example,C\n'),
      ]),
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

  it('offsets stay correct in source bytes after incomplete UTF-16', async () => {
    const bytes = Buffer.concat([
      utf16('email\na@x.example\n', 'le'),
      Buffer.from([0x00, 0xd8, 0x41, 0x00]),
      Buffer.from('\nb@x.example\n', 'utf16le'),
      Buffer.from([0x41]),
    ]);
    const all = await readAll(await freeze(await put(folder, 'lone.csv', bytes)), null, 3);
    expect(all.map(({ email }) => email)).toEqual(['a@x.example', '\ufffdA', 'b@x.example']);
    expect(all.at(-1)?.end.offset).toBe(bytes.length - 1);
  });

  it('all complete records before the cut in a truncated archive are read, and the error names the place', async () => {
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

  it('a file that became shorter is an error, and bytes that were appended are not read', async () => {
    const path = await put(folder, 'grow.csv', `email\n${'a@x.example\n'.repeat(20_000)}`);
    const manifest = await freeze(path);
    const file = await open(path, 'a');
    await file.write('late@x.example\n');
    expect((await readAll(manifest)).length).toBe(20_000);
    await file.truncate(100_000);
    await file.close();
    expect(code(await readAll(manifest).catch((error: unknown) => error))).toBe('input_changed');
  });

  it('an abort stops reading with the given reason', async () => {
    const manifest = await freeze(await put(folder, 'abort.csv', `email\n${'a@x.example\n'.repeat(50_000)}`));
    const controller = new AbortController();
    const reading = readRecords(manifest, null, controller.signal);
    expect((await reading.next()).done).toBe(false);
    controller.abort(new Error('enough'));
    await expect(reading.next()).rejects.toThrow('enough');
  });

  it('batches stay small in a wide file, however short its rows are', async () => {
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
