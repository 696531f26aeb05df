import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { ReplyError, ReplyReader, type Reply } from '../../../src/verification/smtp/reply.ts';

function readAll(chunks: readonly Uint8Array[]): Reply[] {
  const reader = new ReplyReader();
  return chunks.flatMap((chunk) => reader.push(chunk));
}

const read = (text: string): Reply[] => readAll([Buffer.from(text)]);

describe('ReplyReader', () => {
  it.each([
    ['220 mx.test ESMTP\r\n', { code: 220, enhanced: null, text: 'mx.test ESMTP' }],
    ['550 5.1.1 no such user\r\n', { code: 550, enhanced: '5.1.1', text: '5.1.1 no such user' }],
    [
      '550-5.1.1 no such user\r\n550-5.1.1 here\r\n550 5.1.1 at all\r\n',
      { code: 550, enhanced: '5.1.1', text: '5.1.1 no such user 5.1.1 here 5.1.1 at all' },
    ],
    ['250\r\n', { code: 250, enhanced: null, text: '' }],
    ['250 2.1.5\r\n', { code: 250, enhanced: '2.1.5', text: '2.1.5' }],
    ['550 5.1.12345 odd\r\n', { code: 550, enhanced: null, text: '5.1.12345 odd' }],
    ['250 bare line end\n', { code: 250, enhanced: null, text: 'bare line end' }],
    ['550 a\u0007b\u202ec\ud83dd\r\n', { code: 550, enhanced: null, text: 'a b c\ufffdd' }],
    ['550 benutzer unbekannt: m\u00fcller\r\n', { code: 550, enhanced: null, text: 'benutzer unbekannt: m\u00fcller' }],
  ])('reads %j', (text, expected) => {
    expect(read(text)).toEqual([expect.objectContaining(expected)]);
  });

  it.each([
    ['no code', 'hello\r\n'],
    ['a code of two digits', '25 fine\r\n'],
    ['a code of four', '2500 fine\r\n'],
    ['a code that SMTP does not have', '650 fine\r\n'],
    ['several codes', '250-fine\r\n550 not\r\n'],
    ['an empty line', '\r\n'],
    ['HTTP', 'HTTP/1.1 400 Bad Request\r\n'],
    ['a line without end', 'x'.repeat(5_000)],
    ['a line of 5,000 with its end', `250 ${'x'.repeat(5_000)}\r\n`],
    ['a reply of 200 lines', '250-x\r\n'.repeat(200)],
    ['a reply of 40 KB', `250-${'x'.repeat(4_000)}\r\n`.repeat(10)],
  ])('refuses %s', (_name, text) => {
    expect(() => read(text)).toThrow(ReplyError);
  });

  it('gives the same replies for any split of the bytes into chunks', () => {
    const line = fc.tuple(
      fc.integer({ min: 200, max: 599 }),
      fc.array(fc.stringMatching(/^[ -~é漢]{0,30}$/u), { minLength: 1, maxLength: 5 }),
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 6 }), fc.array(fc.nat(7), { maxLength: 400 }), (replies, cuts) => {
        const bytes = Buffer.from(
          replies
            .map(([code, lines]) => lines.map((text, n) => `${code}${n === lines.length - 1 ? ' ' : '-'}${text}\r\n`).join(''))
            .join(''),
        );
        const chunks: Uint8Array[] = [];
        let from = 0;
        for (const cut of cuts) {
          chunks.push(bytes.subarray(from, from + cut));
          from += cut;
        }
        chunks.push(bytes.subarray(from));
        expect(readAll(chunks)).toEqual(readAll([bytes]));
        expect(readAll(chunks).map(({ code }) => code)).toEqual(replies.map(([code]) => code));
      }),
    );
  });

  it('any bytes give valid replies of bounded length or a ReplyError', () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.constantFrom('250 fine\r\n', '550-', '5.1.1 ', '\r\n', '\n').map((text) => Buffer.from(text)),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 50 }), (chunks) => {
        try {
          for (const reply of readAll(chunks)) {
            expect(reply.code).toBeGreaterThanOrEqual(200);
            expect(reply.code).toBeLessThan(600);
            expect(reply.text.length).toBeLessThanOrEqual(500);
            expect(reply.text).not.toMatch(/\p{C}/u);
          }
        } catch (error) {
          if (!(error instanceof ReplyError)) throw error;
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
