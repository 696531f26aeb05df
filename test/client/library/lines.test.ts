/** Bytes to lines, events and parts, however the network and the disk cut them. */
import { describe, expect, it } from 'vitest';
import { csvTexts, recordLengths } from '../../../clients/conformance/csv-texts.ts';
import { EventReader, fileLines, LineReader, PartCutter, toLine } from '../../../src/client/library/lines.ts';
import * as fc from '../../support/fast-check.ts';

/** The bytes in pieces that end at these shares of them. */
function cut(bytes: Buffer, shares: readonly number[]): Buffer[] {
  const ends = [...shares.map((share) => Math.floor(share * bytes.length)), bytes.length].toSorted((a, b) => a - b);
  return ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end));
}

const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 });
/** Texts with what matters: quotes, line ends and characters of several bytes. */
const text = fc.string({ unit: fc.constantFrom('a', '"', ',', 'é', '🙂', ' '), maxLength: 12 });

async function* blocksOf(pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces;
}

async function textsOf(source: AsyncIterable<Uint8Array>): Promise<string[]> {
  const texts: string[] = [];
  for await (const piece of source) texts.push(Buffer.from(piece).toString());
  return texts;
}

describe('lines of a stream', () => {
  it('a stream has the same lines however its bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(text), fc.boolean(), shares, (lines, hasEnd, at) => {
        const bytes = Buffer.from(lines.join('\n') + (hasEnd ? '\n' : ''));
        const reader = new LineReader();
        const found = [...cut(bytes, at).flatMap((piece) => [...reader.feed(piece)]), ...reader.end()];
        const expected = bytes.toString().split('\n');
        if (expected.at(-1) === '') expected.pop();
        expect(found).toEqual(expected);
      }),
    );
  });

  it('a line of more than 16 MiB is refused', () => {
    const reader = new LineReader();
    const piece = Buffer.alloc(9 * 1024 * 1024, 'x');
    expect([...reader.feed(piece)]).toEqual([]);
    expect(() => [...reader.feed(piece)]).toThrow('a line is longer than 16777216 bytes (bad_body)');
  });
});

it('events of a stream have the id that was named last, and heartbeats are no events', () => {
  const reader = new EventReader();
  const lines = [
    'retry: 1000',
    '',
    ': still here',
    '',
    'id: 7',
    'event: funding',
    'data: {"a":',
    'data:1}',
    '',
    'data: 2',
    '',
    'id',
    'data',
    '',
  ];
  expect(lines.map((line) => reader.line(line)).filter((event) => event !== null)).toEqual([
    { id: '7', data: '{"a":\n1}' },
    { id: '7', data: '2' },
    { id: '', data: '' },
  ]);
});

describe('parts of a batch', () => {
  it('the parts have all lines in order, and at most 4 MiB unless one line is longer', () => {
    const lines = [1, 3, 2, 5, 1, 1, 1, 1, 1].map((mib, i) => toLine(String(i).repeat(mib * 1024 * 1024 - 1)));
    const cutter = new PartCutter();
    const parts = [...lines.flatMap((line) => cutter.add(line) ?? []), cutter.rest()];
    expect(Buffer.concat(parts).equals(Buffer.concat(lines))).toBe(true);
    expect(parts.map((part) => part.length / (1024 * 1024))).toEqual([4, 2, 5, 4, 1]);
  });

  it('records of CSV end where the reader of the service ends them, however the disk cuts the file', async () => {
    for (const [i, text] of csvTexts().entries()) {
      const size = text.length < 100 ? 1 + (i % 9) : 60_000;
      const bytes = Buffer.from(text);
      const blocks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.subarray(n * size, (n + 1) * size));
      const found = (await textsOf(fileLines(blocksOf(blocks), true))).map((record) => record.replace(/\r?\n$/, ''));
      const lengths = found.filter((record) => !/^[ \t]*$/.test(record)).map((record) => Buffer.byteLength(record));
      expect(lengths, JSON.stringify(text.slice(0, 100))).toEqual(recordLengths(text));
    }
  });

  it('the parts of any other file are whole lines, and the last one gets its end', async () => {
    const found = await textsOf(fileLines(blocksOf(['{"a"', ':1}\n{"b":', '2}\n{"c":3}'].map((one) => Buffer.from(one))), false));
    expect(found).toEqual(['{"a":1}\n', '{"b":2}\n', '{"c":3}\n']);
  });

  it('a part takes an object as JSON and a text as it is', () => {
    const lines = [toLine({ a: 'é' }), toLine('{"a":1}'), toLine('b\n')];
    expect(lines.map((line) => Buffer.from(line).toString())).toEqual(['{"a":"é"}\n', '{"a":1}\n', 'b\n']);
  });
});
