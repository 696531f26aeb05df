/** Names, numbers and times as the page shows them: HTML. Pure. */
import { escape } from '../../../util/html.ts';
import { printable } from '../../../util/display.ts';

/** Longer names are cut, because a page must stay small. */
const LONGEST_NAME = 200;
/** Characters that change the direction of the text around them (UAX 9), or end its line. */
const TURNING = /[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A name from outside, such as a column or an error code. */
export function named(text: string): string {
  return shown(text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME - 1)}…` : text);
}

/** A text from outside whose length is bounded already. */
export function shown(whole: string): string {
  return escape(printable(whole.toWellFormed()).replaceAll(TURNING, '\ufffd'));
}

export function codeElement(text: string): string {
  return `<code>${named(text)}</code>`;
}

/** A link to a file beside the page. @param uri of that file */
export function linkBeside(uri: string): string {
  const name = uri.slice(uri.lastIndexOf('/') + 1);
  return `<a href="./${escape(encodeURIComponent(name.toWellFormed()))}">${codeElement(name)}</a>`;
}

/** `12.3 %`; empty when `of` is 0. */
export function share(part: number, of: number): string {
  return of === 0 ? '' : `${((part / of) * 100).toFixed(1)} %`;
}

/** The change of a share in percentage points: `+1.2`. */
export function points(change: number): string {
  const rounded = Math.abs(change * 100).toFixed(1);
  return `${Number(rounded) === 0 ? '±' : change > 0 ? '+' : '−'}${rounded}`;
}

export function bytes(n: number): string {
  const power = Math.min(4, Math.max(0, Math.floor(Math.log10(Math.max(1, n)) / 3)));
  return power === 0 ? `${n} B` : `${(n / 1_000 ** power).toFixed(1)} ${['B', 'kB', 'MB', 'GB', 'TB'][power]}`;
}

export function milliseconds(ms: number): string {
  if (ms >= 10_000) return `${(ms / 1_000).toFixed(0)} s`;
  return ms >= 1_000 ? `${(ms / 1_000).toFixed(1)} s` : `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
}

/** `2026-11-22 13:20:58`, in UTC. */
export function moment(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? '?' : date.toISOString().slice(0, 19).replace('T', ' ');
}
