/** A line of a job: what it asks for, or what is wrong with it. Pure. */
import { isUtf8 } from 'node:buffer';
import { ServiceError, type ErrorCode } from '../errors.ts';
import { LOOKUP_FIELDS } from '../lookup.ts';
import { nearest } from '../nearest.ts';
import type { BatchFormat, BatchOperation } from '../operations/batches.ts';
import { ENRICH_BODY } from '../operations/enrich.ts';
import { REVEAL_BODY } from '../operations/reveal.ts';
import { isObject } from '../values.ts';
import { readCells } from './csv.ts';
import { MAX_CUSTOM_ID, MAX_LINE_BYTES } from './limits.ts';

export interface Line {
  readonly customId: string | null;
  /** What the operation's own call takes, or why that is not known. */
  readonly params: Readonly<Record<string, unknown>> | ServiceError;
}

/** The columns that a table may have, by operation: what says what is looked up. Lists and flags are for `options`. */
const COLUMNS: Readonly<Record<BatchOperation, readonly string[]>> = {
  enrich: lookupFieldsOf(ENRICH_BODY.properties),
  reveal: lookupFieldsOf(REVEAL_BODY.properties),
  verify: ['email'],
  company: ['domain'],
};

function lookupFieldsOf(properties: object): readonly string[] {
  return Object.keys(LOOKUP_FIELDS).filter((name) => Object.hasOwn(properties, name));
}

/** The columns of a header; or, in words, what is wrong with it. */
export function readHeader(text: string, operation: BatchOperation): readonly string[] | { readonly wrong: string } {
  const cells = readCells(text);
  if ('wrong' in cells) return { wrong: `of the header ${cells.wrong}` };
  const columns = namesIn(cells);
  const known = [...COLUMNS[operation], 'custom_id'];
  const stray = columns.find((column) => !known.includes(column));
  if (stray !== undefined) {
    const near = nearest(stray, known);
    return { wrong: `unknown column ${JSON.stringify(stray.slice(0, 64))} for ${operation}; ${near === null ? `known are ${known.join(', ')}` : `did you mean ${near}?`}` };
  }
  if (new Set(columns).size < columns.length) return { wrong: 'a column is there twice' };
  return columns.some((column) => column !== 'custom_id') ? columns : { wrong: `no column says what to look up: give one of ${COLUMNS[operation].join(', ')}` };
}

/** Names of columns, as they are compared. */
export function namesIn(cells: readonly string[]): string[] {
  return cells.map((cell) => cell.trim().toLowerCase());
}

/** What nothing can be known of but that it is there. */
class Unreadable extends ServiceError {}

/** The code of a line that is not in its format. */
const BROKEN = { ndjson: 'invalid_json', csv: 'validation_failed' } as const satisfies Record<BatchFormat, ErrorCode>;
export const TOO_LONG: Line = unreadable('payload_too_large', `the line has more than ${MAX_LINE_BYTES} bytes`);

/** @param header of a table; null for JSON */
export function readLine(bytes: Buffer, format: BatchFormat, header: readonly string[] | null): Line {
  if (!isUtf8(bytes)) return unreadable(BROKEN[format], 'the line is not UTF-8');
  const text = bytes.toString('utf8');
  return format === 'csv' ? readRow(text, header ?? []) : readObject(text);
}

function readRow(text: string, header: readonly string[]): Line {
  const cells = readCells(text);
  if ('wrong' in cells) return unreadable(BROKEN.csv, cells.wrong);
  const params: Record<string, unknown> = {};
  for (const [at, column] of header.entries()) if (cells[at] !== undefined && cells[at] !== '') params[column] = cells[at];
  const line = withCustomId(params);
  const surplus = cells.slice(header.length).some((cell) => cell !== '');
  return surplus ? { ...line, params: new ServiceError('validation_failed', `the line has ${cells.length} cells, and the header ${header.length}`) } : line;
}

function readObject(text: string): Line {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return unreadable(BROKEN.ndjson, 'the line is no JSON');
  }
  if (!isObject(value)) return refused('', 'type', 'the line must be a JSON object');
  if (!Object.hasOwn(value, 'params')) return withCustomId(value);
  const { params, custom_id: customId, ...rest } = value;
  const line = withCustomId({ custom_id: customId });
  const [stray] = Object.keys(rest);
  if (stray !== undefined) return { ...line, params: refusal(`/${stray.slice(0, 64)}`, 'unknown_field', `beside params there is only custom_id, not ${JSON.stringify(stray.slice(0, 64))}`) };
  if (line.params instanceof ServiceError) return line;
  return { ...line, params: isObject(params) ? params : refusal('/params', 'type', 'params must be an object') };
}

function withCustomId({ custom_id: id, ...params }: Readonly<Record<string, unknown>>): Line {
  if (id === undefined || id === null) return { customId: null, params };
  const fine = typeof id === 'string' && id.length <= MAX_CUSTOM_ID;
  return fine ? { customId: id, params } : refused('/custom_id', typeof id === 'string' ? 'too_long' : 'type', `custom_id must be a string of at most ${MAX_CUSTOM_ID} characters`);
}

function unreadable(code: ErrorCode, detail: string): Line {
  return { customId: null, params: new Unreadable(code, detail) };
}

function refused(pointer: string, code: string, detail: string): Line {
  return { customId: null, params: refusal(pointer, code, detail) };
}

function refusal(pointer: string, code: string, detail: string): ServiceError {
  return new ServiceError('validation_failed', detail, { errors: [{ pointer, code, detail }] });
}

/** Whether a line could be read at all, whatever it asks for. */
export function isReadable({ params }: Line): boolean {
  return !(params instanceof Unreadable);
}
