/** Bytes of a part cut into its lines. Pure. */
import type { BatchFormat } from '../operations/batches.ts';
import { MAX_LINE_BYTES } from './limits.ts';

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
const COMMA = 0x2c;

/** A line, its end left out. */
export interface Framed {
  readonly start: number;
  readonly end: number;
  /** Where the next one begins. */
  readonly next: number;
  readonly kind: 'whole' | 'long';
}

/**
 * The line that begins at `from`; null when the bytes end before it does, and it may go on. With `isLast` there are no more, and the end ends it.
 * A line that is too long is told of as soon as its end is seen, or where more than a line's bytes are there and no end: `next` is then `bytes.length`, and what follows up to a line's end belongs to it.
 */
export function frameAt(bytes: Buffer, from: number, format: BatchFormat, isLast: boolean): Framed | null {
  const first = endOfRow(bytes, from, isLast);
  if (first === null) return bytes.length - from > MAX_LINE_BYTES + 1 ? { start: from, end: bytes.length, next: bytes.length, kind: 'long' } : null;
  const row = format === 'csv' && hasQuote(bytes, from, first.end) ? endOfRecord(bytes, from, first, isLast) : first;
  return row === null ? null : framed(bytes, from, row);
}

/** Where a record ends: within quotes it goes on behind its `first` row, unless they are not in order or do not close within a line's bytes. Then it is that row alone, for what is behind it may be well. Null: the bytes end before. */
function endOfRecord(bytes: Buffer, from: number, first: Row, isLast: boolean): Row | null {
  for (let at = from; ; ) {
    const end = endOfCell(bytes, at, isLast);
    if (end === null || end - from > MAX_LINE_BYTES) return first;
    if (end === bytes.length) return isLast ? { end, next: end } : null;
    if (bytes[end] === LF) return { end, next: end + 1 };
    at = end + 1;
  }
}

/** Where the comma or the line end is behind the cell that begins at `at`, or the end of the bytes. Null: its quotes are not in order. A quote within a cell that begins with none opens nothing. */
function endOfCell(bytes: Buffer, at: number, isLast: boolean): number | null {
  if (bytes[at] !== QUOTE) {
    let end = at;
    while (end < bytes.length && bytes[end] !== COMMA && bytes[end] !== LF) end++;
    return end;
  }
  let close = bytes.indexOf(QUOTE, at + 1);
  while (close !== -1 && bytes[close + 1] === QUOTE) close = bytes.indexOf(QUOTE, close + 2);
  if (close === -1) return isLast ? null : bytes.length;
  if (bytes[close + 1] === COMMA) return close + 1;
  const end = bytes[close + 1] === CR ? close + 2 : close + 1;
  return end >= bytes.length || bytes[end] === LF ? end : null;
}

interface Row {
  readonly end: number;
  readonly next: number;
}

function endOfRow(bytes: Buffer, from: number, isLast: boolean): Row | null {
  const at = bytes.indexOf(LF, from);
  if (at !== -1) return { end: at, next: at + 1 };
  return isLast ? { end: bytes.length, next: bytes.length } : null;
}

function framed(bytes: Buffer, start: number, { end, next }: Row): Framed {
  const last = end > start && bytes[end - 1] === CR ? end - 1 : end;
  return { start, end: last, next, kind: last - start > MAX_LINE_BYTES ? 'long' : 'whole' };
}

function hasQuote(bytes: Buffer, from: number, to: number): boolean {
  // Not `indexOf`: from a row without quotes it would look through all that follows, for each row again.
  for (let at = from; at < to; at++) if (bytes[at] === QUOTE) return true;
  return false;
}

/** Where the first line begins from `from` on that has something on it, as far as the bytes show it. Bytes are looked at and no lines made, for there may be millions of such lines and the thread is everybody's. */
export function afterBlanks(bytes: Buffer, from: number): number {
  let start = from;
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === LF) start = at + 1;
    else if (byte !== 0x20 && byte !== 0x09 && !(byte === CR && bytes[at + 1] === LF)) break;
  }
  return start;
}

/** Whether there is nothing on a line but blanks: such lines are passed over. */
export function isBlank(bytes: Buffer, { start, end }: Framed): boolean {
  for (let at = start; at < end; at++) if (bytes[at] !== 0x20 && bytes[at] !== 0x09) return false;
  return true;
}
