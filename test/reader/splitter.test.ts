import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Splitter } from '../../src/reader/splitter.ts';
import { casesOf } from '../support/sample.ts';

interface Found {
  kind: string;
  text: string;
  line: number;
  nextOffset: number;
  nextLine: number;
}

interface Limits {
  quoted: number;
  record: number;
}

const COMMA = 44;

/** What the splitter finds in `bytes`, given in pieces of `chunk` bytes. */
function split(bytes: Buffer, chunk: number, limits?: Limits, from: { offset: number; line: number } = { offset: 0, line: 1 }, delimiter: number | null = COMMA): Found[] {
  const splitter = new Splitter({ delimiter, measure: (_b, a, z) => z - a, offset: from.offset, line: from.line, ...(limits === undefined ? {} : { limits }) });
  const found: Found[] = [];
  const drain = (): void => {
    while (splitter.next()) {
      const { kind, line, nextOffset, nextLine } = splitter;
      // The head of an overlong record is all that was held of it; under the tight limits of these tests that varies.
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

/** The same by the plainest means: each record walked from its first byte over the whole text, nothing remembered. */
function model(text: string, limits: Limits): Found[] {
  const found: Found[] = [];
  let pos = 0;
  let line = 1;
  const eolAt = (at: number): number => (text.startsWith('\r\n', at) ? 2 : text[at] === '\n' || text[at] === '\r' ? 1 : 0);
  const lineEnd = (at: number): number => {
    let end = at;
    while (end < text.length && eolAt(end) === 0) end += 1;
    return end;
  };
  const countEols = (from: number, to: number): number => {
    let count = 0;
    for (let at = from; at < to; at += Math.max(1, eolAt(at))) if (eolAt(at) > 0) count += 1;
    return count;
  };
  while (pos < text.length) {
    const blank = eolAt(pos);
    if (blank > 0) {
      pos += blank;
      line += 1;
      continue;
    }
    let at = pos;
    let state = 'field';
    let opener = -1;
    let dirty = false;
    let quotes = false;
    let end = -1;
    let kind = '';
    const overlongAt = (place: number): boolean => place - pos > limits.record || (place - pos === limits.record && (state === 'quoted' || eolAt(place) === 0) && place < text.length);
    let overlong = false;
    for (; end === -1; at += 1) {
      overlong ||= overlongAt(at);
      if (state === 'quoted' && (at - opener > limits.quoted || at >= text.length)) {
        // Unclosed: the line of the record's beginning, or of the quote when the record is too long to give back.
        end = lineEnd(overlong ? opener : pos);
        if (end - pos > limits.record) overlong = true;
        kind = 'unclosed';
        break;
      }
      if (at >= text.length || (state !== 'quoted' && eolAt(at) > 0)) {
        end = at;
        break;
      }
      const unit = text[at];
      if (state === 'quoted') {
        if (unit === '"' && text[at + 1] === '"' && at + 1 - opener <= limits.quoted) at += 1;
        else if (unit === '"') state = 'closed';
      } else if (unit === ',') state = 'field';
      else if (unit === '"' && state !== 'after') {
        quotes = true;
        if (state === 'field') {
          state = 'quoted';
          opener = at;
        } else if (state === 'closed') state = 'quoted';
        else dirty = true;
      } else {
        if (state === 'closed' || state === 'after') {
          dirty = true;
          const space = unit === ' ' || unit === '\t';
          if (!space && countEols(opener, at) > 0) {
            end = lineEnd(overlong ? opener : pos);
            kind = 'unclosed';
            break;
          }
          state = space ? 'after' : 'bare';
        } else state = 'bare';
      }
      // The second quote of a pair is a place of its own for the bound.
      overlong ||= overlongAt(at);
    }
    if (overlong) kind = 'overlong';
    else if (kind === '') kind = dirty ? 'dirty' : quotes ? 'quoted' : 'plain';
    const next = end + eolAt(end);
    const nextLine = line + countEols(pos, next);
    found.push({ kind, text: kind === 'overlong' ? '' : text.slice(pos, end), line, nextOffset: next, nextLine });
    pos = next;
    line = nextLine;
  }
  return found;
}

const hostile = fc.array(fc.constantFrom('"', '"', '""', ',', '\n', '\r\n', '\r', 'a', 'bc', ' ', '","x","\n', '\u00e9'), { maxLength: 60 }).map((parts) => parts.join(''));

describe('Splitter', () => {
  it('frames what the plainest walk frames, whatever the chunks and however tight the limits', () => {
    fc.assert(
      fc.property(hostile, fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 12 }), fc.integer({ min: 2, max: 40 }), (text, chunk, quoted, record) => {
        const bytes = Buffer.from(text, 'latin1');
        expect(split(bytes, chunk, { quoted, record })).toEqual(model(text, { quoted, record }));
      }),
      { numRuns: casesOf(2_500, 20_000) },
    );
  });

  it('frames from any record’s end exactly what follows it', () => {
    fc.assert(
      fc.property(hostile, fc.integer({ min: 1, max: 9 }), fc.integer({ min: 2, max: 12 }), fc.integer({ min: 4, max: 40 }), (text, chunk, quoted, record) => {
        const bytes = Buffer.from(text, 'latin1');
        const all = split(bytes, 1000, { quoted, record });
        for (const [index, { nextOffset, nextLine }] of all.entries()) {
          expect(split(bytes, chunk, { quoted, record }, { offset: nextOffset, line: nextLine })).toEqual(all.slice(index + 1));
        }
      }),
      { numRuns: casesOf(500, 2_000) },
    );
  });

  it('accounts for every line: what is between records is only blank lines', () => {
    fc.assert(
      fc.property(hostile, fc.integer({ min: 1, max: 9 }), (text, chunk) => {
        const found = split(Buffer.from(text, 'latin1'), chunk);
        const kept = found.map(({ text: part }) => part.replace(/[\r\n]/g, '')).join('');
        expect(kept).toBe(text.replace(/[\r\n]/g, ''));
      }),
    );
  });

  it('takes quotes and carriage returns of jsonl as text', () => {
    const found = split(Buffer.from('{"a":"x"}\r\n\n"\r{"b":1}\nlast'), 3, undefined, undefined, null);
    expect(found.map(({ text, line }) => [line, text])).toEqual([[1, '{"a":"x"}\r'], [3, '"\r{"b":1}'], [4, 'last']]);
  });

  it('keeps a quoted field of just under 1 MiB and gives up just over', () => {
    const field = (length: number): Buffer => Buffer.from(`a,"\n${'x'.repeat(length)}"\nnext,1\n`);
    const under = split(field(2 ** 20 - 2), 65_536);
    expect(under.map(({ kind }) => kind)).toEqual(['quoted', 'plain']);
    const over = split(field(2 ** 20 - 1), 65_536);
    expect(over.map(({ kind }) => kind)).toEqual(['unclosed', 'dirty', 'plain']);
    expect(over[0]).toMatchObject({ text: 'a,"', nextLine: 2 });
  });

  it('keeps a line of 4 MiB and holds no more of a longer one', () => {
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

  /** Each line ends inside quotes whether it is begun inside or outside of them: the worst there is. */
  const worst = '","x","\n';

  it.each([
    ['one quote that never closes, in long text', `a,"b\n${'some text, more text\n'.repeat(400_000)}`],
    ['lines that all lead to the same open quote', worst.repeat(450_000)],
    ['lines that go on for ever', worst.repeat(1_000_000)],
    ['a quote in every line', '"abc\n'.repeat(1_600_000)],
    ['only quotes', '"'.repeat(8_000_000)],
  ])('reads 8 MB in a number of steps that grows with its length only: %s', (_name, text) => {
    // Steps are not visible from outside; that it ends within the test's time at all is the assertion (quadratic: hours).
    const bytes = Buffer.from(text);
    const found = split(bytes, 65_536);
    expect(found.at(-1)?.nextOffset).toBe(bytes.length);
  });
});
