import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findCuts, type InputRange } from '../../src/reader/cuts.ts';
import { readRecords } from '../../src/reader/read-records.ts';
import type { InputManifest, InputRecord } from '../../src/reader/types.ts';
import { archive, freeze, put, readAll, scratchFolder, utf16, withoutFrames } from './helpers.ts';

const folder = scratchFolder();
/** `CUTS_SEED=123` repeats a run. */
const SEED = Number(process.env['CUTS_SEED'] ?? Date.now() % 1_000_000);

async function readRange(manifest: InputManifest, { from, records }: InputRange): Promise<InputRecord[]> {
  const read: InputRecord[] = [];
  if (records === 0) return read;
  for await (const batch of readRecords(manifest, from)) {
    for (const record of batch) if (read.push(record) === records) return read;
  }
  return read;
}

/** Cells that make line ends hard to find. */
const cell = fc.oneof(fc.constantFrom('', 'a', '"two\nlines"', '"a ""quoted"" word"', '"\r\n"', '"un', 'st"ray', '"x"y', 'ü', '"a,b"', ' "s"'), fc.string({ maxLength: 5 }));
const lineEnd = fc.constantFrom('\n', '\n', '\n', '\r\n', '\r', '\n\n');
const csvText = fc.array(fc.tuple(fc.array(cell, { minLength: 1, maxLength: 3 }), lineEnd), { maxLength: 30 }).map((rows) => `email,b,c\n${rows.map(([cells, end]) => cells.join(',') + end).join('')}`);
const jsonLine = fc.constantFrom('{"email":"a@b.example"}', '{"email":"\\n"}', '', '   ', '\t\r', 'broken', '[1]', '{"email":"ü"}', '"');
const jsonlText = fc.array(jsonLine, { maxLength: 30 }).map((lines) => `{"email":"first@b.example"}\n${lines.join('\n')}`);

const wrapped = (text: fc.Arbitrary<string>): fc.Arbitrary<{ bytes: Buffer; suffix: string }> =>
  fc.tuple(text, fc.constantFrom('plain', 'bom', 'utf-16', 'gzip', 'zstd'), fc.array(fc.nat(), { maxLength: 4 })).map(([content, how, cuts]) => {
    switch (how) {
      case 'bom':
        return { bytes: Buffer.from(`\ufeff${content}`), suffix: '' };
      case 'utf-16':
        return { bytes: utf16(content, 'le'), suffix: '' };
      case 'gzip':
      case 'zstd':
        return { bytes: archive(how, Buffer.from(content), cuts), suffix: how === 'gzip' ? '.gz' : '.zst' };
      default:
        return { bytes: Buffer.from(content), suffix: '' };
    }
  });

const input = fc.oneof(
  fc.record({ format: fc.constant('csv' as const), files: fc.array(wrapped(csvText), { minLength: 1, maxLength: 3 }) }),
  fc.record({ format: fc.constant('jsonl' as const), files: fc.array(wrapped(jsonlText), { minLength: 1, maxLength: 3 }) }),
);

describe(`ranges of an input (CUTS_SEED=${SEED})`, () => {
  test('hold each record once, in order and on its line, wherever the bytes are cut into chunks', async () => {
    let made = 0;
    await fc.assert(
      fc.asyncProperty(input, fc.integer({ min: 1, max: 8 }), fc.constantFrom(1, 2, 7), fc.constantFrom(1, 5, 65_536), async ({ format, files }, of, group, chunkBytes) => {
        const paths = await Promise.all(files.map(({ bytes, suffix }, i) => put(folder, `${made}-${i}.${format}${suffix}`, bytes)));
        made++;
        const manifest = await freeze(paths, { format, columns: { email: 'email' }, encoding: null, delimiter: format === 'csv' ? ',' : null });
        const ranges = await findCuts(manifest, { of, group, chunkBytes });
        expect(ranges).toHaveLength(of);
        const all = await readAll(manifest);
        const parts = await Promise.all(ranges.map((range) => readRange(manifest, range)));
        expect(parts.map(({ length }) => length)).toEqual(ranges.map(({ records }) => records));
        expect(withoutFrames(parts.flat())).toEqual(withoutFrames(all));
        expect(ranges.map(({ before }) => before)).toEqual(ranges.map((_, i) => ranges.slice(0, i).reduce((sum, { records }) => sum + records, 0)));
        // Pure: whoever does it again finds the same.
        expect(await findCuts(manifest, { of, group })).toEqual(ranges);
      }),
      { seed: SEED, numRuns: 100 },
    );
  });

  test('are alike in bytes, over all files together', async () => {
    const row = (i: number): string => `person${String(i).padStart(6, '0')}@works.example,"two\nlines"\n`;
    const text = (from: number, to: number): string => `email,note\n${Array.from({ length: to - from }, (_, i) => row(from + i)).join('')}`;
    const paths = [await put(folder, 'even-1.csv', text(0, 700)), await put(folder, 'even-2.csv', text(700, 1_000))];
    const ranges = await findCuts(await freeze(paths), { of: 4, group: 1 });
    expect(ranges.map(({ records }) => records)).toEqual([250, 250, 250, 250]);
    expect(ranges.map(({ from }) => from?.file ?? null)).toEqual([null, 0, 0, 1]);
  });

  test('begin at whole groups of records where there are many of them, else anywhere', async () => {
    const path = await put(folder, 'groups.csv', `email\n${'a@works.example\n'.repeat(433)}`);
    const manifest = await freeze(path);
    expect((await findCuts(manifest, { of: 4, group: 10 })).map(({ records }) => records)).toEqual([110, 110, 110, 103]);
    expect((await findCuts(manifest, { of: 4, group: 11 })).map(({ records }) => records)).toEqual([109, 108, 108, 108]);
  });

  test('take a file of one gzip member whole, and begin another at its members', async () => {
    const text = Buffer.from(`email\n${'someone@works.example\n'.repeat(400)}`);
    const one = await put(folder, 'members-1.csv.gz', archive('gzip', text, []));
    const four = await put(folder, 'members-2.csv.gz', archive('gzip', text, [6 + 22 * 100, 6 + 22 * 200, 6 + 22 * 300]));
    expect((await findCuts(await freeze(one), { of: 4, group: 1 })).map(({ records }) => records)).toEqual([400, 0, 0, 0]);
    const ranges = await findCuts(await freeze(four), { of: 4, group: 1 });
    expect(ranges.map(({ records }) => records)).toEqual([100, 100, 100, 100]);
    expect(ranges.slice(1).map(({ from }) => from?.offset === from?.frame?.offset)).toEqual([true, true, true]);
  });
});
