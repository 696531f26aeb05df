/** Parses a line of a job into the params of its operation, or an error. Pure. */
import { isUtf8 } from 'node:buffer';
import { splitStrictly } from '../../formats/csv/split-cells.ts';
import { ServiceError, type ErrorCode } from '../http/problem.ts';
import { LOOKUP_FIELDS } from '../lookups/find-person.ts';
import { nearest } from '../../util/nearest.ts';
import type { BatchFormat, BatchOperation } from './batch-operations.ts';
import { ENRICH_BODY } from '../lookups/enrich-operations.ts';
import { REVEAL_BODY } from '../lookups/reveal-operation.ts';
import { isObject } from '../../util/is-object.ts';
import { MAX_CUSTOM_ID, MAX_LINE_BYTES } from './batch-limits.ts';

export interface Line {
  readonly customId: string | null;
  /** The body of the operation's own call, or the error of the line. */
  readonly params: Readonly<Record<string, unknown>> | ServiceError;
}

/** The columns of a CSV job, by operation: its lookup fields. Lists and flags are allowed in `options` only. */
const COLUMNS: Readonly<Record<BatchOperation, readonly string[]>> = {
  enrich: lookupFieldsOf(ENRICH_BODY.properties),
  reveal: lookupFieldsOf(REVEAL_BODY.properties),
  verify: ['email'],
  company: ['domain'],
};

function lookupFieldsOf(properties: object): readonly string[] {
  return Object.keys(LOOKUP_FIELDS).filter((name) => Object.hasOwn(properties, name));
}

/** The columns of a header, or its problem. */
export function readHeader(text: string, operation: BatchOperation): readonly string[] | { readonly wrong: string } {
  const cells = splitStrictly(text);
  if ('wrong' in cells) return { wrong: `of the header ${cells.wrong}` };
  const columns = namesIn(cells);
  const known = [...COLUMNS[operation], 'custom_id'];
  const unknown = columns.find((column) => !known.includes(column));
  if (unknown !== undefined) {
    const near = nearest(unknown, known);
    return {
      wrong:
        `unknown column ${JSON.stringify(unknown.slice(0, 64))} for ${operation}; ` +
        (near === null ? `known are ${known.join(', ')}` : `did you mean ${near}?`),
    };
  }
  if (new Set(columns).size < columns.length) return { wrong: 'a column is there twice' };
  return columns.some((column) => column !== 'custom_id')
    ? columns
    : { wrong: `no column says what to look up: give one of ${COLUMNS[operation].join(', ')}` };
}

/** Column names in normalised form, to compare them. */
export function namesIn(cells: readonly string[]): string[] {
  return cells.map((cell) => cell.trim().toLowerCase());
}

/** Error: a line cannot be parsed at all. */
class Unreadable extends ServiceError {}

/** The error code of a line that is not in its format. */
const BROKEN = { ndjson: 'invalid_json', csv: 'validation_failed' } as const satisfies Record<BatchFormat, ErrorCode>;
export const TOO_LONG_LINE: Line = unreadable('payload_too_large', `the line has more than ${MAX_LINE_BYTES} bytes`);

/** Parses the bytes of a line. @param header the columns of a CSV job; null for ndjson */
export function readLine(bytes: Buffer, format: BatchFormat, header: readonly string[] | null): Line {
  if (!isUtf8(bytes)) return unreadable(BROKEN[format], 'the line is not UTF-8');
  const text = bytes.toString('utf8');
  return format === 'csv' ? readRow(text, header ?? []) : readObject(text);
}

function readRow(text: string, header: readonly string[]): Line {
  const cells = splitStrictly(text);
  if ('wrong' in cells) return unreadable(BROKEN.csv, cells.wrong);
  const params: Record<string, unknown> = {};
  for (const [at, column] of header.entries()) if (cells[at] !== undefined && cells[at] !== '') params[column] = cells[at];
  const line = withCustomId(params);
  const surplus = cells.slice(header.length).some((cell) => cell !== '');
  return surplus
    ? { ...line, params: new ServiceError('validation_failed', `the line has ${cells.length} cells, and the header ${header.length}`) }
    : line;
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
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined)
    return {
      ...line,
      params: refusal(
        `/${unknown.slice(0, 64)}`,
        'unknown_field',
        `beside params there is only custom_id, not ${JSON.stringify(unknown.slice(0, 64))}`,
      ),
    };
  if (line.params instanceof ServiceError) return line;
  return { ...line, params: isObject(params) ? params : refusal('/params', 'type', 'params must be an object') };
}

function withCustomId({ custom_id: id, ...params }: Readonly<Record<string, unknown>>): Line {
  if (id === undefined || id === null) return { customId: null, params };
  const isValid = typeof id === 'string' && id.length <= MAX_CUSTOM_ID;
  return isValid
    ? { customId: id, params }
    : refused(
        '/custom_id',
        typeof id === 'string' ? 'too_long' : 'type',
        `custom_id must be a string of at most ${MAX_CUSTOM_ID} characters`,
      );
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

/** Whether a line could be parsed, even when its params are refused. */
export function isParsed({ params }: Line): boolean {
  return !(params instanceof Unreadable);
}
