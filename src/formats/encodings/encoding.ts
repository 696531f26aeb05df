/** Converts a file's bytes to bytes that can be framed (ASCII delimiters and line ends), and those to text. */
import { isUtf8 } from 'node:buffer';
import type { Codec } from './codec.ts';
import { convertingCodec, isMultibyte } from './multibyte.ts';
import type { Encoding } from '../input-record.ts';

/** The byte order of UTF-16 is detected by the byte order mark or by zero bytes. */
const UTF_16 = 'utf-16';
/** A private mapping of bytes to code points, not an encoding of text. */
const NO_TEXT: readonly string[] = ['x-user-defined'];

/**
 * The name of the encoding with this label (WHATWG Encoding, 4.2: `sjis` is shift_jis, `latin1` windows-1252, `gb2312` gbk), in lower case.
 * `utf-16` means unknown byte order. Null when no encoding has this label.
 */
export function encodingName(label: string): string | null {
  if (label.trim().toLowerCase() === UTF_16) return UTF_16;
  try {
    const { encoding } = new TextDecoder(label);
    return NO_TEXT.includes(encoding) ? null : encoding;
  } catch {
    return null;
  }
}

const numbered = (name: string, from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, i) => `${name}${from + i}`);

/** The usual names, for a suggestion after a misspelling. `encodingName` accepts others as well. */
export const ENCODING_LABELS: readonly string[] = [
  'utf-8',
  'utf8',
  UTF_16,
  'utf-16le',
  'utf-16be',
  'ascii',
  'us-ascii',
  'latin1',
  'latin2',
  'shift_jis',
  'sjis',
  'euc-jp',
  'iso-2022-jp',
  'gbk',
  'gb2312',
  'gb18030',
  'big5',
  'euc-kr',
  'koi8-r',
  'koi8-u',
  'macintosh',
  'ibm866',
  'windows-874',
  ...numbered('windows-', 1250, 1258),
  ...numbered('cp', 1250, 1258),
  ...numbered('iso-8859-', 1, 11),
  ...numbered('iso-8859-', 13, 16),
];

/** The byte order mark of each encoding. */
const BOMS: readonly (readonly [Encoding, Buffer])[] = [
  ['utf-8', Buffer.from([0xef, 0xbb, 0xbf])],
  ['utf-16le', Buffer.from([0xff, 0xfe])],
  ['utf-16be', Buffer.from([0xfe, 0xff])],
  ['gb18030', Buffer.from([0x84, 0x31, 0x95, 0x33])],
];

/** The encoding of a byte order mark, and its length in bytes. */
export function findBom(head: Buffer): { encoding: Encoding; length: number } | null {
  for (const [encoding, bom] of BOMS) {
    if (head.length >= bom.length && head.compare(bom, 0, bom.length, 0, bom.length) === 0) return { encoding, length: bom.length };
  }
  return null;
}

/**
 * windows-1252 where it differs from ISO 8859-1, bytes 0x80 to 0x9f (WHATWG Encoding, index windows-1252). The five unassigned bytes stay
 * unchanged.
 */
const WINDOWS_1252 =
  '\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152' +
  '\u008d\u017d\u008f\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178';
const C1 = /[\x80-\x9f]/g;

const EMPTY = Buffer.alloc(0);

const UTF8: Codec = {
  convert: (bytes) => bytes,
  flush: () => EMPTY,
  measure: (_bytes, from, to) => to - from,
  text: (bytes, from, to) => bytes.toString('utf8', from, to),
  valid: isUtf8,
};

const WESTERN: Codec = {
  ...UTF8,
  text: (bytes, from, to) => bytes.toString('latin1', from, to).replace(C1, (unit) => WINDOWS_1252[unit.charCodeAt(0) - 0x80] ?? unit),
  valid: () => true,
};

/** A codec for one pass over one file (UTF-16 keeps state between chunks). */
export function createCodec(encoding: Encoding): Codec {
  switch (encoding) {
    case 'utf-8':
      return UTF8;
    case 'windows-1252':
      return WESTERN;
    case 'utf-16le':
    case 'utf-16be':
      return createUtf16(encoding === 'utf-16be');
    default:
      return isMultibyte(encoding) ? convertingCodec(encoding) : createSingleByte(encoding);
  }
}

/** One byte per character, the first 128 of them ASCII: bytes are framed unchanged. Unassigned bytes become U+FFFD. */
function createSingleByte(encoding: Encoding): Codec {
  const decoder = new TextDecoder(encoding);
  const text: Codec['text'] = (bytes, from, to) => decoder.decode(bytes.subarray(from, to));
  return { ...UTF8, text, valid: (bytes) => !text(bytes, 0, bytes.length).includes('\ufffd') };
}

/**
 * UTF-16 is converted to UTF-8. Counting loses nothing: a lone surrogate becomes U+FFFD, which is one unit as well, so the source's bytes
 * are always twice the text's units.
 */
function createUtf16(bigEndian: boolean): Codec {
  /** Half a unit, or the first unit of a pair, whose rest is not read yet. (StringDecoder splits pairs that arrive byte by byte.) */
  let held: Buffer = EMPTY;
  const toUtf8 = (bytes: Buffer): Buffer => Buffer.from((bigEndian ? Buffer.from(bytes).swap16() : bytes).toString('utf16le'), 'utf8');
  return {
    convert(bytes) {
      const all = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
      let end = all.length & ~1;
      const last = all[bigEndian ? end - 2 : end - 1] ?? 0;
      if (end > 0 && last >= 0xd8 && last <= 0xdb) end -= 2;
      held = Buffer.from(all.subarray(end));
      return toUtf8(all.subarray(0, end));
    },
    flush: () => toUtf8(held.subarray(0, held.length & ~1)),
    measure(bytes, from, to) {
      let units = 0;
      for (let i = from; i < to; i += 1) {
        const byte = bytes[i] ?? 0;
        if (byte >= 0xf0) units += 2;
        else if (byte < 0x80 || byte >= 0xc0) units += 1;
      }
      return units * 2;
    },
    text: UTF8.text,
    valid: () => true,
  };
}
