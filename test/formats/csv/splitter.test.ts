import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { Splitter } from '../../../src/formats/csv/splitter.ts';
import { casesOf } from '../../support/sample.ts';
import { referenceRecords, strictReferenceRecords, type Found, type Limits } from './reference-splitter.ts';

const COMMA = 44;

/** The records of `bytes`, given in chunks of `chunk` bytes. */
function split(
  bytes: Buffer,
  chunk: number,
  limits?: Limits,
  from: { offset: number; line: number } = { offset: 0, line: 1 },
  delimiter: number | null = COMMA,
  strict = false,
): Found[] {
  const splitter = new Splitter({
    delimiter,
    strict,
    measure: (_b, a, z) => z - a,
    offset: from.offset,
    line: from.line,
    ...(limits === undefined ? {} : { limits }),
  });
  const found: Found[] = [];
  const drain = (): void => {
    while (splitter.next()) {
      const { kind, line, nextOffset, nextLine } = splitter;
      // The stored part of an overlong record varies under the tight limits of these tests.
      const text = kind === 'overlong' ? '' : splitter.buffer.toString('latin1', splitter.start, splitter.end);
      found.push({ kind, text, line, nextOffset, nextLine });
    }
  };
  for (let at = from.offset; at < bytes.length; at += chunk) {
    splitter.push(bytes.subarray(at, at + chunk));
    drain();
  }
  splitter.finish();
  drain();
  return found;
}

/** Bytes that count how often each is read. */
function countLooks(buffer: Buffer, looked: (count: number) => void): Buffer {
  return new Proxy(buffer, {
    get: (_, name) => {
      if (name === 'indexOf')
        return (value: number, from: number) => {
          const found = buffer.indexOf(value, from);
          looked((found === -1 ? buffer.length : found) - from + 1);
          return found;
        };
      if (typeof name === 'string' && /^\d+$/.test(name)) looked(1);
      const member = Reflect.get(buffer, name) as unknown;
      return typeof member === 'function' ? (member.bind(buffer) as unknown) : member;
    },
  });
}

class CountingSplitter extends Splitter {
  looks = 0;

  override push(bytes: Buffer): void {
    super.push(bytes);
    this.bytes = countLooks(this.bytes, (count) => (this.looks += count));
  }
}

const hostile = fc
  .array(fc.constantFrom('"', '"', '""', ',', '\n', '\r\n', '\r', 'a', 'bc', ' ', '","x","\n', '\u00e9'), { maxLength: 60 })
  .map((parts) => parts.join(''));

describe('Splitter', () => {
  it('the splitter finds the records of the reference scan, in any chunks and with any limits', () => {
    fc.assert(
      fc.property(
        hostile,
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 2, max: 40 }),
        (text, chunk, quoted, record) => {
          const bytes = Buffer.from(text, 'latin1');
          expect(split(bytes, chunk, { quoted, record })).toEqual(referenceRecords(text, { quoted, record }));
        },
      ),
      { numRuns: casesOf(1_000, 20_000) },
    );
  });

  it('the splitter finds the same following records from the end of any record', () => {
    fc.assert(
      fc.property(
        hostile,
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 2, max: 12 }),
        fc.integer({ min: 4, max: 40 }),
        (text, chunk, quoted, record) => {
          const bytes = Buffer.from(text, 'latin1');
          const all = split(bytes, 1000, { quoted, record });
          for (const [index, { nextOffset, nextLine }] of all.entries()) {
            expect(split(bytes, chunk, { quoted, record }, { offset: nextOffset, line: nextLine })).toEqual(all.slice(index + 1));
          }
        },
      ),
      { numRuns: casesOf(500, 2_000) },
    );
  });

  it('the splitter accounts for every line: only blank lines are between records', () => {
    fc.assert(
      fc.property(hostile, fc.integer({ min: 1, max: 9 }), (text, chunk) => {
        const found = split(Buffer.from(text, 'latin1'), chunk);
        const kept = found.map(({ text: part }) => part.replace(/[\r\n]/g, '')).join('');
        expect(kept).toBe(text.replace(/[\r\n]/g, ''));
      }),
    );
  });

  it('in JSONL, quotes are text, and so is a carriage return outside a CRLF', () => {
    const found = split(Buffer.from('{"a":"x"}\r\n\n"\r{"b":1}\nlast'), 3, undefined, undefined, null);
    expect(found.map(({ text, line }) => [line, text])).toEqual([
      [1, '{"a":"x"}'],
      [3, '"\r{"b":1}'],
      [4, 'last'],
    ]);
  });

  it('a quoted field just under 1 MiB is kept, and one just over is given up', () => {
    const field = (length: number): Buffer => Buffer.from(`a,"\n${'x'.repeat(length)}"\nnext,1\n`);
    const under = split(field(2 ** 20 - 2), 65_536);
    expect(under.map(({ kind }) => kind)).toEqual(['quoted', 'plain']);
    const over = split(field(2 ** 20 - 1), 65_536);
    expect(over.map(({ kind }) => kind)).toEqual(['unclosed', 'dirty', 'plain']);
    expect(over[0]).toMatchObject({ text: 'a,"', nextLine: 2 });
  });

  it('a line of 4 MiB is kept, and no more bytes of a longer one', () => {
    const lines = (length: number): Buffer => Buffer.from(`${'x'.repeat(length)}\nnext\n`);
    expect(split(lines(2 ** 22), 65_536).map(({ kind }) => kind)).toEqual(['plain', 'plain']);
    expect(split(lines(2 ** 22 + 1), 65_536).map(({ kind }) => kind)).toEqual(['overlong', 'plain']);
    const long = new Splitter({ delimiter: COMMA, measure: (_b, a, z) => z - a, offset: 0, line: 1 });
    const chunk = Buffer.alloc(65_536, 'x');
    let most = 0;
    for (let at = 0; at < 200; at += 1) {
      long.push(chunk);
      expect(long.next()).toBe(false);
      most = Math.max(most, long.held.length);
    }
    expect(most).toBeLessThan(2 ** 22 + 2 * 65_536);
    long.push(Buffer.from('\nnext\n'));
    expect(long.next()).toBe(true);
    expect(long).toMatchObject({ kind: 'overlong', line: 1, nextLine: 2, nextOffset: 13_107_201 });
    expect(long.head.equals(Buffer.alloc(2 ** 22, 'x'))).toBe(true);
  });

  it('the strict splitter finds the matches of a regular expression, in any chunks and from any record on', () => {
    const text = fc.oneof(
      hostile,
      fc.array(fc.constantFrom(' ', '\t', '\r', '\n', 'a', '"'), { maxLength: 30 }).map((parts) => parts.join('')),
    );
    const size = fc.integer({ min: 1, max: 40 });
    fc.assert(
      fc.property(text, size, size, fc.constantFrom(COMMA, null), (content, chunk, record, delimiter) => {
        const bytes = Buffer.from(content, 'latin1');
        const limits = { quoted: Infinity, record };
        const wanted = strictReferenceRecords(content, delimiter, record);
        const framed = (from: number): typeof wanted =>
          split(bytes, chunk, limits, { offset: from, line: 1 }, delimiter, true).map(({ kind, text: found, nextOffset }) => ({
            text: kind === 'overlong' ? kind : found,
            nextOffset,
          }));
        expect(framed(0)).toEqual(wanted);
        for (const [at, { nextOffset }] of wanted.entries()) expect(framed(nextOffset)).toEqual(wanted.slice(at + 1));
      }),
      { numRuns: casesOf(1_000, 20_000) },
    );
  });

  it('the strict splitter reads each byte a few times at most, for any rows', () => {
    const rows = fc.array(fc.string({ unit: fc.constantFrom('a', ',', '"', '\n'), minLength: 1, maxLength: 8 }), {
      minLength: 1,
      maxLength: 2,
    });
    fc.assert(
      fc.property(rows, fc.boolean(), fc.constantFrom(500, 100_000), ([row, other = ''], isLast, record) => {
        const bytes = Buffer.from(`${row}\n`.repeat(500) + other.repeat(500));
        const splitter = new CountingSplitter({
          delimiter: COMMA,
          strict: true,
          measure: (_b, a, z) => z - a,
          offset: 0,
          line: 1,
          limits: { quoted: Infinity, record },
        });
        splitter.push(bytes);
        if (isLast) splitter.finish();
        while (splitter.next());
        expect(splitter.looks).toBeLessThan(10 * bytes.length + 100);
      }),
      {
        examples: [
          [['a,b'], true, 500],
          [['x","'], true, 500],
          [['x","', ','], false, 100_000],
          [['x""","', '""'], true, 500],
        ],
      },
    );
  });

  it('the strict splitter stores no more of a line of spaces than a record may have; text after them makes an overlong line', () => {
    const lines = (end: string): string[] =>
      split(Buffer.from(`${' '.repeat(100)}${end}`), 7, { quoted: 9, record: 9 }, undefined, COMMA, true).map(({ kind }) => kind);
    expect([lines('\nnext'), lines('x\nnext'), lines('')]).toEqual([['plain'], ['overlong', 'plain'], []]);
  });

  /** The worst case: each line ends within quotes, whether it begins within quotes or not. */
  const worst = '","x","\n';

  it.each([
    ['one quote that never closes, in long text', `a,"b\n${'some text, more text\n'.repeat(400_000)}`],
    ['lines that all lead to the same open quote', worst.repeat(450_000)],
    ['lines that go on for ever', worst.repeat(1_000_000)],
    ['a quote in every line', '"abc\n'.repeat(1_600_000)],
    ['only quotes', '"'.repeat(8_000_000)],
  ])('8 MB of hostile input need linear time: %s', (_name, text) => {
    // The test's time limit is the assertion: with quadratic time it would need hours.
    const bytes = Buffer.from(text);
    const found = split(bytes, 65_536);
    expect(found.at(-1)?.nextOffset).toBe(bytes.length);
  });
});
