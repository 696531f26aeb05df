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
 * Says of each place in the bytes, asked for from the first on, which line begins there; null when the bytes end before it does, and it may go on. With `isLast` there are no more, and the end ends it.
 * A line that is too long is told of as soon as its end is seen, or where more than a line's bytes are there and no end: `next` is then `bytes.length`, and what follows up to a line's end belongs to it.
 */
export function framer(bytes: Buffer, format: BatchFormat, isLast: boolean): (from: number) => Framed | null {
  const endOfQuoted = format === 'csv' ? quotedRows(bytes, isLast) : null;
  return (from) => {
    const first = endOfRow(bytes, from, isLast);
    if (first === null) return bytes.length - from > MAX_LINE_BYTES + 1 ? { start: from, end: bytes.length, next: bytes.length, kind: 'long' } : null;
    const end = endOfQuoted?.(from, first.end) ?? first.end;
    if (end === bytes.length && !isLast) return bytes.length - from > MAX_LINE_BYTES + 1 ? framed(bytes, from, first) : null;
    const line = framed(bytes, from, { end, next: Math.min(end + 1, bytes.length) });
    return line.kind === 'whole' ? line : framed(bytes, from, first);
  };
}

/** A place behind the quote that opens a cell, or further within that cell. */
interface Within {
  readonly at: number;
}

/** Where a record ends, which is the end of the bytes where that comes first; null: its quotes are not in order. */
type End = number | null;

/**
 * Says where a record ends whose first row is given: within quotes it goes on behind it. Null where its quotes are not in order: then it is that row alone, for what is behind it may be well.
 * A line end that is passed is within quotes, or it would be the record's. So from any that one record has passed another one goes on as that one did, and what is behind is looked through once: rows may be made so that each of them seems to go on for a line's bytes.
 */
function quotedRows(bytes: Buffer, isLast: boolean): (from: number, rowEnd: number) => End {
  let passed: { readonly from: number; to: number; now: Within | End } = { from: 0, to: 0, now: null };
  return (from, rowEnd) => {
    let now: Within | End = hasQuote(bytes, from, rowEnd) ? fromCell(bytes, from) : rowEnd;
    while (isWithin(now) && now.at <= rowEnd) now = fromWithin(bytes, now, isLast);
    if (!isWithin(now)) return now;
    if (rowEnd < passed.from || rowEnd >= passed.to) passed = { from: rowEnd, to: now.at, now };
    // No further than a line and its end may: of what is there beyond it is not known whether it is wanted.
    while (isWithin(passed.now) && passed.now.at <= from + MAX_LINE_BYTES + 1) {
      passed.to = passed.now.at;
      passed.now = fromWithin(bytes, passed.now, isLast);
    }
    return isWithin(passed.now) ? null : passed.now;
  };
}

function isWithin(now: Within | End): now is Within {
  return typeof now === 'object' && now !== null;
}

/** From where a cell begins to the next quote that opens one, or to the end. A quote within a cell that begins with none opens nothing. */
function fromCell(bytes: Buffer, from: number): Within | number {
  let isBegin = true;
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === LF) return at;
    if (isBegin && byte === QUOTE) return { at: at + 1 };
    isBegin = byte === COMMA;
  }
  return bytes.length;
}

/** Over the next quote, be it one of two that are one, or one that closes the cell. */
function fromWithin(bytes: Buffer, { at }: Within, isLast: boolean): Within | End {
  const quote = bytes.indexOf(QUOTE, at);
  if (quote === -1) return isLast ? null : bytes.length;
  const behind = bytes[quote + 1];
  if (behind === QUOTE) return { at: quote + 2 };
  if (behind === COMMA) return fromCell(bytes, quote + 2);
  const end = behind === CR ? quote + 2 : quote + 1;
  return end >= bytes.length || bytes[end] === LF ? Math.min(end, bytes.length) : null;
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
