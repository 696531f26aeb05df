/** JSON Lines: one object per line, kept verbatim, with its keys, and its values as text for a CSV output. */
import { detached, type FramedRecord } from '../framed-records.ts';
import { MAX_RAW_CHARS } from '../limits.ts';
import { personCells } from '../person-cells.ts';
import { keyText } from './key-text.ts';
import type { InputRecord, KeyNames } from '../input-record.ts';

/** JSON's own white space (RFC 8259, 2). `trim` removes more characters. */
const SPACES = ' \t\r\n';

const MAX_DEPTH = 100;

type JsonObject = Record<string, unknown>;

/** Parses a line as `parseObject` does. */
export type ParseLine = (text: string) => JsonObject | string;

/** Begins each part of a file that was made of several files, one after the other. */
const BYTE_ORDER_MARK = '\ufeff';

/** The text without a byte order mark at its start and without surrounding white space; '' for a blank line. */
export function trimJson(text: string): string {
  // Without a regular expression: one for the end would try every run of spaces, which is quadratic for a hostile line.
  let from = text.startsWith(BYTE_ORDER_MARK) ? 1 : 0;
  let to = text.length;
  while (from < to && SPACES.includes(text.charAt(from))) from += 1;
  while (to > from && SPACES.includes(text.charAt(to - 1))) to -= 1;
  return from === 0 && to === text.length ? text : text.slice(from, to);
}

/** The object on a line, or the reason why it is not one. */
export function parseObject(text: string): JsonObject | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'not valid JSON';
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : 'not a JSON object';
}

/** Framed records as input records, with their objects if `parse` is given. Blank lines are skipped. */
export function* readJsonlRecords(
  framed: readonly FramedRecord[],
  keys: KeyNames,
  parse: ParseLine | null = null,
): Generator<InputRecord[], void, void> {
  const batch: InputRecord[] = [];
  for (const record of framed) {
    const text = trimJson(record.text);
    if (text === '') continue;
    batch.push(toRecord(record, text, keys, parse));
  }
  if (batch.length > 0) yield batch;
}

function toRecord(record: FramedRecord, text: string, keys: KeyNames, parse: ParseLine | null): InputRecord {
  const { end } = record;
  const read =
    record.kind === 'overlong'
      ? 'longer than 4 MiB'
      : record.valid
        ? (parse ?? parseObject)(text)
        : 'not valid in the encoding of its file';
  // Flat strings: the caller passes parsed objects between threads.
  const parsed = parse !== null && typeof read === 'object' && isNestedDeeply(text) ? `nested more than ${MAX_DEPTH} levels deep` : read;
  const bad = typeof parsed === 'string' ? parsed : null;
  const object = typeof parsed === 'string' ? null : parsed;
  // Only the beginning of an overlong line is in memory, which is never a complete object.
  const line = record.kind === 'overlong' ? detached(record.text.slice(0, MAX_RAW_CHARS)) : record.text;
  const person = personCells(keys, (name) => keyOf(object, name ?? null));
  return {
    file: end.file,
    line: record.line,
    end,
    values: null,
    json: bad === null ? text : JSON.stringify(line),
    email: keyOf(object, keys.email),
    domain: keyOf(object, keys.domain),
    linkedinUrl: keyOf(object, keys.linkedin_url),
    ...(person === null ? {} : { person }),
    bad,
    raw: bad === null ? null : line.slice(0, MAX_RAW_CHARS),
    surplus: false,
    ...(parse !== null && object !== null ? { object } : {}),
  };
}

/** Whether a valid JSON text is nested deeper than `MAX_DEPTH`. Nearly all texts have too few brackets for that. */
function isNestedDeeply(json: string): boolean {
  let brackets = 0;
  for (const bracket of '{[')
    for (let at = json.indexOf(bracket); at !== -1 && brackets <= MAX_DEPTH; at = json.indexOf(bracket, at + 1)) brackets++;
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
  if (object === null || name === null) return '';
  const text = Object.hasOwn(object, name) ? textOf(object[name]) : '';
  if (text.trim() !== '') return text;
  // Another program may have written this object, with its own case.
  for (const twin in object) {
    if (twin.length !== name.length || twin === name || twin.toLowerCase() !== name.toLowerCase()) continue;
    const other = textOf(object[twin]);
    if (other.trim() !== '') return other;
  }
  return text;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : keyText(value);
}

/**
 * The values of a JSON object's text under the given top-level keys, as cells of a CSV row. Strings are decoded, null and absent keys are
 * '', and all other values (numbers to the last digit, objects) are copied as JSON. A text that is not an object has no values.
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
 * The raw text of each top-level member's value, for a text that is a valid JSON object. Parsing and printing again would round long
 * numbers and recurse into deep nesting.
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

/** The index after the string that begins at `open`. */
function stringEnd(json: string, open: number): number {
  let at = open + 1;
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return at + 1;
}
