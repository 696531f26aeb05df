/** JSON Lines: one object a line, kept verbatim; its keys, and its values as text for a csv output. */
import { detached, type FramedRecord } from './framed.ts';
import { MAX_RAW_CHARS } from './limits.ts';
import type { KeyNames } from './aliases.ts';
import type { InputRecord } from './types.ts';

/** JSON's own white space (RFC 8259, 2), which is less than what `trim` takes off. */
const SPACES = ' \t\r\n';

const MAX_DEPTH = 100;

export type JsonObject = Record<string, unknown>;

/** The text without white space around it; '' for a blank line. */
export function trimJson(text: string): string {
  // By hand: a regular expression for the end looks at every run of spaces in between, which a hostile line makes quadratic.
  let from = 0;
  let to = text.length;
  while (from < to && SPACES.includes(text.charAt(from))) from += 1;
  while (to > from && SPACES.includes(text.charAt(to - 1))) to -= 1;
  return from === 0 && to === text.length ? text : text.slice(from, to);
}

/** The object that a line is, or why it is none. */
export function parseObject(text: string): JsonObject | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'not valid JSON';
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : 'not a JSON object';
}

/** Input records, with what was parsed of them or not. A blank line is none. */
export function* readJsonlRecords(framed: readonly FramedRecord[], keys: KeyNames, withObjects = false): Generator<InputRecord[], void, void> {
  const batch: InputRecord[] = [];
  for (const record of framed) {
    const text = trimJson(record.text);
    if (text === '') continue;
    batch.push(toRecord(record, text, keys, withObjects));
  }
  if (batch.length > 0) yield batch;
}

function toRecord(record: FramedRecord, text: string, keys: KeyNames, withObject: boolean): InputRecord {
  const { end } = record;
  const read = record.kind === 'overlong' ? 'longer than 4 MiB' : record.valid ? parseObject(text) : 'not valid in the encoding of its file';
  // Whoever takes objects walks through them, and hands them from thread to thread.
  const parsed = withObject && typeof read === 'object' && isNestedDeeply(text) ? `nested more than ${MAX_DEPTH} levels deep` : read;
  const bad = typeof parsed === 'string' ? parsed : null;
  const object = typeof parsed === 'string' ? null : parsed;
  // Lines end with \n here: what stands before it belongs to the line end where that is \r\n.
  // Of a line that is too long its beginning is kept: without its end it is no object.
  const shown = record.kind === 'overlong' ? detached(record.text.slice(0, MAX_RAW_CHARS)) : record.text;
  const line = shown.endsWith('\r') ? shown.slice(0, -1) : shown;
  return {
    file: end.file,
    line: record.line,
    end,
    values: null,
    json: bad === null ? text : JSON.stringify(line),
    email: keyOf(object, keys.email),
    domain: keyOf(object, keys.domain),
    linkedinUrl: keyOf(object, keys.linkedin_url),
    bad,
    raw: bad === null ? null : line.slice(0, MAX_RAW_CHARS),
    surplus: false,
    ...(withObject && object !== null ? { object } : {}),
  };
}

/** Whether a text that is known to be JSON is nested more than `MAX_DEPTH` levels deep. Nearly all have too few brackets for that. */
function isNestedDeeply(json: string): boolean {
  let brackets = 0;
  for (const bracket of '{[') for (let at = json.indexOf(bracket); at !== -1 && brackets <= MAX_DEPTH; at = json.indexOf(bracket, at + 1)) brackets++;
  if (brackets <= MAX_DEPTH) return false;
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const unit = json[at];
    if (unit === '"') at = stringEnd(json, at) - 1;
    else if (unit === '{' || unit === '[') {
      if (++depth > MAX_DEPTH) return true;
    } else if (unit === '}' || unit === ']') depth--;
  }
  return false;
}

function keyOf(object: JsonObject | null, name: string | null): string {
  if (object === null || name === null || !Object.hasOwn(object, name)) return '';
  const value = object[name];
  return typeof value === 'string' ? value : '';
}

/**
 * The values of a JSON object's text under the given top-level keys, as text for a csv row: strings as they are, null and absent keys '',
 * everything else (numbers to the last digit, booleans, objects, arrays) as its JSON stands. What is no object has no values.
 */
export function jsonlValues(json: string, columns: readonly string[]): string[] {
  const members = parseObject(json);
  if (typeof members === 'string') return columns.map(() => '');
  let texts: Map<string, string> | null = null;
  return columns.map((column) => {
    if (!Object.hasOwn(members, column)) return '';
    const value = members[column];
    if (typeof value === 'string') return value;
    if (value === null) return '';
    if (typeof value === 'boolean') return String(value);
    texts ??= memberTexts(json);
    return texts.get(column) ?? '';
  });
}

/**
 * Each top-level member's value as its text stands, of a text that is known to be a JSON object.
 * Parsing and printing again would round long numbers and recurse into deep nesting.
 */
function memberTexts(json: string): Map<string, string> {
  const texts = new Map<string, string>();
  let depth = 0;
  let key: string | null = null;
  let valueFrom = -1;
  for (let at = 0; at < json.length; at += 1) {
    const unit = json[at];
    if (unit === '"') {
      const end = stringEnd(json, at);
      if (depth === 1 && key === null) key = JSON.parse(json.slice(at, end)) as string;
      at = end - 1;
    } else if (unit === ':' && depth === 1 && valueFrom === -1) {
      valueFrom = at + 1;
    } else if (unit === '{' || unit === '[') {
      depth += 1;
    } else if (unit === '}' || unit === ']' || unit === ',') {
      if (depth === 1 && key !== null) {
        texts.set(key, trimJson(json.slice(valueFrom, at)));
        key = null;
        valueFrom = -1;
      }
      if (unit !== ',') depth -= 1;
    }
  }
  return texts;
}

/** The place after the string that begins at `open`. */
function stringEnd(json: string, open: number): number {
  let at = open + 1;
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return at + 1;
}
