/**
 * Multibyte encodings in which a second byte may be ASCII (`|`, `\\`, letters, in ISO-2022-JP also `"` and `,`). They are converted to
 * UTF-8 before framing, and line ends map framed bytes back to source bytes.
 */
import type { Codec } from './codec.ts';
import type { Encoding } from '../input-record.ts';

/** ISO-2022-JP switches alphabets by escape sequences. Each line begins and ends in ASCII (RFC 1468). */
const ESCAPED = 'iso-2022-jp';
const ALL: readonly Encoding[] = ['shift_jis', 'euc-jp', ESCAPED, 'gbk', 'gb18030', 'big5', 'euc-kr'];

/**
 * Output of the platform's decoders that the standard does not allow: control characters for lead bytes, and private code points. The
 * standard has U+FFFD or another letter there (EUC-KR: the extension windows-949; Big5: the extension HKSCS).
 */
const NOT_LETTERS: Readonly<Record<string, RegExp>> = {
  shift_jis: /[\u0080-\u009f\uf8f0-\uf8f3]/g,
  'euc-jp': /[\u0080-\u009f]/g,
  'euc-kr': /[\u0080-\u009f]/g,
  big5: /[\u0080-\u009f\ue000-\uf8ff]/g,
};

/** A longer part of a line is decoded before the line's end arrives. */
const MOST_HELD_BYTES = 256 * 1_024;
const LF = 10;
const CR = 13;
const EMPTY = Buffer.alloc(0);
const REPLACEMENT = Buffer.from('\ufffd');

export function isMultibyte(encoding: Encoding): boolean {
  return ALL.includes(encoding);
}

/**
 * A codec that converts the source to UTF-8. Bytes that cannot be decoded become U+FFFD, and their record is invalid. `measure` must be
 * called for each framed byte once, in order.
 */
export function convertingCodec(encoding: Encoding): Codec {
  const lines = new LineEnds();
  const decode = encoding === ESCAPED ? lineDecoder() : streamDecoder(encoding);
  return {
    convert(bytes) {
      const converted = Buffer.from(decode(bytes, false));
      lines.converted(bytes, converted.length);
      return converted;
    },
    flush() {
      const rest = Buffer.from(decode(EMPTY, true));
      lines.finish(rest.length);
      return rest;
    },
    measure: (bytes, from, to) => lines.measure(bytes, from, to),
    text: (bytes, from, to) => bytes.toString('utf8', from, to),
    valid: (bytes) => !bytes.includes(REPLACEMENT),
  };
}

type Decode = (bytes: Buffer, last: boolean) => string;

function streamDecoder(encoding: Encoding): Decode {
  const decoder = new TextDecoder(encoding);
  const wrong = NOT_LETTERS[encoding];
  /**
   * The beginning of an incomplete line. The platform decodes a damaged character differently when its bytes come one by one, so lines are
   * decoded as one.
   */
  let held: Buffer[] = [];
  let heldBytes = 0;
  return (bytes, last) => {
    held.push(bytes);
    heldBytes += bytes.length;
    const lineEnd = Math.max(bytes.lastIndexOf(LF), bytes.lastIndexOf(CR));
    if (lineEnd === -1 && !last && heldBytes < MOST_HELD_BYTES) return '';
    const all = Buffer.concat(held);
    const upTo = last || lineEnd === -1 ? all.length : all.length - bytes.length + lineEnd + 1;
    const rest = all.subarray(upTo);
    held = rest.length === 0 ? [] : [Buffer.from(rest)];
    heldBytes = rest.length;
    const text = decoder.decode(all.subarray(0, upTo), { stream: !last });
    return wrong === undefined ? text : text.replaceAll(wrong, '\ufffd');
  };
}

/** Decodes line by line, so that reading may begin at any line. A line that does not end in ASCII is invalid. */
function lineDecoder(): Decode {
  const decoder = new TextDecoder(ESCAPED);
  /** The last escape sequence of the line so far, possibly incomplete. */
  let escape = '';
  const note = (bytes: Buffer): void => {
    for (const byte of bytes) {
      if (byte === 0x1b) escape = '\x1b';
      else if (escape.startsWith('\x1b') && escape.length < 3) escape += String.fromCharCode(byte);
    }
  };
  const endLine = (bytes: Buffer): string => {
    note(bytes);
    const text = decoder.decode(bytes);
    const inAscii = escape === '' || escape === '\x1b(B' || escape === '\x1b(J';
    escape = '';
    return inAscii ? text : `${text}\ufffd`;
  };
  return (bytes, last) => {
    let text = '';
    let from = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte !== LF && byte !== CR) continue;
      text += endLine(bytes.subarray(from, at)) + String.fromCharCode(byte);
      from = at + 1;
    }
    if (last) return text + endLine(bytes.subarray(from));
    note(bytes.subarray(from));
    return text + decoder.decode(bytes.subarray(from), { stream: true });
  };
}

/**
 * Pairs of line ends in the source and in the UTF-8. Both have the same number, in the same order, because no character of these encodings
 * contains a line-end byte. Holds one number for each line end that is not measured yet.
 */
class LineEnds {
  #ends: number[] = [];
  #next = 0;
  #source = 0;
  #framed = 0;
  #measuredFramed = 0;
  #measuredSource = 0;
  #finished = false;

  converted(bytes: Buffer, framed: number): void {
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte === LF || byte === CR) this.#ends.push(this.#source + at + 1);
    }
    this.#source += bytes.length;
    this.#framed += framed;
  }

  finish(framed: number): void {
    this.#framed += framed;
    this.#finished = true;
  }

  /** Exact for a range that ends with a line or with the file. Bytes within a line are counted at the line's end. */
  measure(bytes: Buffer, from: number, to: number): number {
    let upTo = this.#measuredSource;
    for (let at = from; at < to; at++) {
      const byte = bytes[at];
      if (byte === LF || byte === CR) upTo = this.#ends[this.#next++] ?? upTo;
    }
    if (this.#next > 4_096) {
      this.#ends = this.#ends.slice(this.#next);
      this.#next = 0;
    }
    this.#measuredFramed += to - from;
    // The last line may end with the file. Escape sequences after the last line end belong to no record.
    const last = bytes[to - 1];
    if (this.#finished && this.#measuredFramed === this.#framed && to > from && last !== LF && last !== CR) upTo = this.#source;
    const length = upTo - this.#measuredSource;
    this.#measuredSource = upTo;
    return length;
  }
}
