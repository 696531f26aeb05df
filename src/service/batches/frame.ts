/** Bytes of a part cut into its lines. Pure. */
import type { BatchFormat } from '../operations/batches.ts';
import { MAX_LINE_BYTES } from './limits.ts';

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;

/** A line, its end left out. */
export interface Framed {
  readonly start: number;
  readonly end: number;
  /** Where the next one begins. */
  readonly next: number;
  /** `long`: it has more bytes than a line may. `unclosed`: a quote opens that does not close within a line's bytes, so that this is its first row alone. */
  readonly kind: 'whole' | 'long' | 'unclosed';
}

/**
 * The line that begins at `from`; null when the bytes end before it does, and it may go on. With `isLast` there are no more, and the end ends it.
 * A line that is too long is told of as soon as its end is seen, or where more than a line's bytes are there and no end: `next` is then `bytes.length`, and what follows up to a line's end belongs to it.
 */
export function frameAt(bytes: Buffer, from: number, format: BatchFormat, isLast: boolean): Framed | null {
  const first = endOfRow(bytes, from, isLast);
  if (first === null) return bytes.length - from > MAX_LINE_BYTES + 1 ? { start: from, end: bytes.length, next: bytes.length, kind: 'long' } : null;
  if (format === 'ndjson') return framed(bytes, from, first);
  let row = first;
  let quotes = countQuotes(bytes, from, row.end);
  while (quotes % 2 === 1) {
    const following = row.next < bytes.length ? endOfRow(bytes, row.next, isLast) : null;
    const reaches = following?.end ?? bytes.length;
    if (reaches - from > MAX_LINE_BYTES || (following === null && isLast)) return { ...framed(bytes, from, first), kind: 'unclosed' };
    if (following === null) return null;
    quotes += countQuotes(bytes, row.next, following.end);
    row = following;
  }
  return framed(bytes, from, row);
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

function countQuotes(bytes: Buffer, from: number, to: number): number {
  let count = 0;
  // Not `indexOf`: from a row without quotes it would look through all that follows, for each row again.
  for (let at = from; at < to; at++) if (bytes[at] === QUOTE) count++;
  return count;
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
