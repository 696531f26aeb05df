/** Parses the replies of a mail server from a stream of bytes, in bounded memory. Pure. */
import { decodeReplyText } from './reply-text.ts';
import { spokenWords } from './reply-words.ts';

export interface Reply {
  /** 200 to 599. */
  readonly code: number;
  /** RFC 3463, such as `5.1.1`; null when the reply has none. */
  readonly enhanced: string | null;
  /** All lines joined by a space, without unprintable characters, at most 500 characters. */
  readonly text: string;
  /** The text of each line, without unprintable characters, at most 1,000 characters. */
  readonly lines: readonly string[];
}

/** RFC 5321 4.5.3.1.5 allows 512 octets; servers send more. */
const MAX_LINE_OCTETS = 4_096;
const MAX_LINES = 128;
const MAX_REPLY_OCTETS = 32_768;
const MAX_TEXT = 500;
const MAX_LINE_TEXT = 1_000;

const LF = 0x0a;
const LINE = /^([2-5]\d\d)(?:([ -])(.*))?$/s;
/** An enhanced code where RFC 2034 puts it, or nearly: `550  #5.1.1 ...`, `550 (5.1.1) ...`, `550 550 5.1.1 ...`. */
const ENHANCED = /^(?:(?=\S{0,99}\d|[0-9a-f]{8,99}\s)\S{1,99}\s+){0,4}?[\s#(]*([245]\.\d{1,3}\.\d{1,3})(?:[\s)]|$)/i;

/** The bytes are not a valid reply, or exceed the limits. The connection cannot be used again. */
export class ReplyError extends Error {
  override readonly name = 'ReplyError';
}

export class ReplyReader {
  #pending: Uint8Array[] = [];
  #pendingOctets = 0;
  #code = 0;
  #lines: string[] = [];
  #octets = 0;

  /** True when no bytes are left over from the replies so far. */
  get empty(): boolean {
    return this.#pendingOctets === 0 && this.#lines.length === 0;
  }

  /** Adds received bytes and returns the replies that are complete now. @throws ReplyError */
  push(chunk: Uint8Array): Reply[] {
    const replies: Reply[] = [];
    let from = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, from)) {
      const reply = this.#line(chunk.subarray(from, end));
      if (reply !== null) replies.push(reply);
      from = end + 1;
    }
    if (from < chunk.length) {
      this.#pending.push(chunk.slice(from));
      this.#pendingOctets += chunk.length - from;
      if (this.#pendingOctets > MAX_LINE_OCTETS) throw new ReplyError('a line without end');
    }
    return replies;
  }

  #line(end: Uint8Array): Reply | null {
    if (this.#pendingOctets + end.length > MAX_LINE_OCTETS) throw new ReplyError('a line without end');
    const bytes = this.#pendingOctets === 0 ? end : Buffer.concat([...this.#pending, end]);
    this.#pending = [];
    this.#pendingOctets = 0;
    this.#octets += bytes.length;
    if (this.#octets > MAX_REPLY_OCTETS || this.#lines.length >= MAX_LINES) throw new ReplyError('a reply without end');
    const [, code, separator = ' ', text = ''] = LINE.exec(decodeReplyText(bytes).replace(/\r$/, '')) ?? [];
    if (code === undefined) throw new ReplyError('something other than a reply');
    if (this.#lines.length > 0 && Number(code) !== this.#code) throw new ReplyError('a reply of several codes');
    this.#code = Number(code);
    this.#lines.push(printable(text));
    return separator === '-' ? null : this.#finish();
  }

  #finish(): Reply {
    const lines = this.#lines;
    const code = this.#code;
    this.#lines = [];
    this.#octets = 0;
    const found = lines.map(enhancedCodeOf).find((enhanced) => enhanced !== undefined) ?? null;
    return { code, enhanced: found, text: lines.join(' ').slice(0, MAX_TEXT), lines };
  }
}

/** The enhanced code of a line, also behind an address or a link. */
function enhancedCodeOf(line: string): string | undefined {
  return (ENHANCED.exec(line) ?? ENHANCED.exec(spokenWords(line).trimStart()))?.[1];
}

/** Server text for display to users: without control and bidirectional characters. */
function printable(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, MAX_LINE_TEXT);
}
