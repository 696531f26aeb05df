/** Reads an error body of any style: RFC 9457 problem+json, `{error: {...}}`, `{error: '...'}`, `{message}`, plain text. Pure. */
import { isObject } from '../util/is-object.ts';

/** Details are for people: one line, and no more than this. */
const MAX_DETAIL_CHARS = 300;
export const MAX_REQUEST_ID_CHARS = 200;

/** A code goes into an output column and into logs: one word that starts with a letter. */
const CODE = /^[A-Za-z][\w.:-]{0,63}$/;
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;

export interface Problem {
  /** The service's own code, or null. */
  readonly code: string | null;
  /** One line, or '' when the body says nothing. Not yet cut. */
  readonly detail: string;
}

const NOTHING: Problem = { code: null, detail: '' };

/** Reads a parsed body, or the text that did not parse (`json` undefined). */
export function readProblem(json: unknown, text: string): Problem {
  if (json === undefined) return { code: null, detail: plainText(text) };
  if (typeof json === 'string') return { code: null, detail: json };
  if (!isObject(json)) return NOTHING;
  const inner = json['error'];
  const nested = isObject(inner) ? inner : null;
  const list = json['errors'];
  const entry: unknown = Array.isArray(list) ? list[0] : undefined;
  const firstError = isObject(entry) ? entry : null;
  const code = firstOf(isCode, json['code'], nested?.['code'], inner, nested?.['type'], json['error_code'], firstError?.['code']);
  const words = firstOf(
    isWords,
    json['detail'],
    nested?.['detail'],
    nested?.['message'],
    json['error_description'],
    json['message'],
    // `error: "no such user"` is a sentence; `error: "invalid_grant"` is the code already read.
    inner === code ? null : inner,
    json['title'],
  );
  const first = typeof entry === 'string' ? entry : firstOf(isWords, firstError?.['detail'], firstError?.['message']);
  const pointer = firstOf(isWords, firstError?.['pointer'], firstError?.['parameter'], firstError?.['field']);
  const more = first === null || first === words ? null : pointer === null ? first : `${pointer}: ${first}`;
  return { code, detail: [words, more].filter((part) => part !== null).join('; ') };
}

/** A request id from a body, else null. */
export function requestIdIn(json: unknown): string | null {
  if (!isObject(json)) return null;
  const nested = json['error'];
  return firstOf(isWords, json['request_id'], json['requestId'], isObject(nested) ? nested['request_id'] : null);
}

/** One printable line of at most `max` characters. */
export function oneLine(text: string, max = MAX_DETAIL_CHARS): string {
  // Cut before and after: a body may be a megabyte, and the ellipsis must still fit.
  const clean = text
    .slice(0, max * 8)
    .replace(CONTROL, ' ')
    .replace(/ {2,}/g, ' ')
    .trim();
  return clean.length <= max ? clean : `${clean.slice(0, max - 1).toWellFormed()}…`;
}

/** An error page says nothing to a reader but its title. */
function plainText(text: string): string {
  const start = text.slice(0, 4096);
  if (!start.trimStart().startsWith('<')) return start;
  return /<title[^>]{0,100}>([^<]{1,300})/i.exec(start)?.[1] ?? '';
}

function isCode(value: unknown): value is string {
  return typeof value === 'string' && CODE.test(value);
}

function isWords(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

function firstOf(is: (value: unknown) => value is string, ...values: readonly unknown[]): string | null {
  return values.find(is) ?? null;
}
