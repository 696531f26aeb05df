/**
 * The stored form of results. Each line has its JSON, a tab (never part of JSON), the letter of its set, and the person's id as JSON if the
 * record lacks it. Pure.
 */
import { csvText } from '../../formats/csv/csv-row.ts';
import { guardFormula } from '../../util/formula-guard.ts';
import { ServiceError } from '../http/problem.ts';
import type { BatchFormat, ResultSet } from './batch-operations.ts';
import type { LineOutcome } from './execute.ts';

const LETTERS: Readonly<Record<ResultSet, string>> = { succeeded: 's', not_found: 'n', failed: 'f', unprocessed: 'u' };

/** The columns of results as CSV, in the order of the fields of a line. */
const COLUMNS = ['line', 'custom_id', 'status', 'record', 'error', 'credits'] as const;
const csvRowOf = csvText(',');
export const RESULT_HEADER = csvRowOf(COLUMNS);

export function statusOf({ found }: LineOutcome): Exclude<ResultSet, 'unprocessed'> {
  if (!(found instanceof ServiceError)) return 'succeeded';
  return found.code === 'no_match' ? 'not_found' : 'failed';
}

/** The stored text of a processed line, with its line end. */
export function storedOutcome(line: number, outcome: LineOutcome): string {
  const { customId, found } = outcome;
  return found instanceof ServiceError
    ? storedText(line, customId, statusOf(outcome), 'null', errorText(found), 0, null)
    : storedText(line, customId, 'succeeded', found.record, 'null', found.credits, found.person);
}

/** The stored text of an unprocessed line. @param why null when the job was cancelled */
export function storedUnprocessed(line: number, customId: string | null, why: ServiceError | null): string {
  return storedText(line, customId, 'unprocessed', 'null', why === null ? 'null' : errorText(why), 0, null);
}

function storedText(
  line: number,
  customId: string | null,
  status: ResultSet,
  record: string,
  error: string,
  credits: number,
  person: string | null,
): string {
  return (
    `{"line":${line},"custom_id":${JSON.stringify(customId)},"status":"${status}","record":${record},"error":${error},` +
    `"credits":${credits}}\t${LETTERS[status]}${person === null ? '' : JSON.stringify(person)}\n`
  );
}

function errorText({ code, message, errors }: ServiceError): string {
  return JSON.stringify({ code, detail: message, errors });
}

/** A stored line. */
export interface StoredLine {
  /** The complete line with its line end. */
  readonly text: string;
  /** The JSON only. */
  readonly json: string;
  readonly isOf: (set: ResultSet) => boolean;
  /** The person's id if the record lacks it. */
  readonly person: string | null;
}

export function parseStoredLine(bytes: Buffer): StoredLine {
  const text = bytes.toString('utf8');
  const tab = text.lastIndexOf('\t');
  const tail = text.slice(tab + 1);
  return {
    text: `${text}\n`,
    json: text.slice(0, tab),
    isOf: (set) => tail.startsWith(LETTERS[set]),
    person: tail.length > 1 ? (JSON.parse(tail.slice(1)) as string) : null,
  };
}

interface LineIds {
  readonly line: number;
  readonly custom_id: string | null;
}

/** The stored text of a line whose person was erased. */
export function storedErased(json: string, refusal: ServiceError): string {
  const { line, custom_id: customId } = JSON.parse(json) as LineIds;
  return storedText(line, customId, 'failed', 'null', errorText(refusal), 0, null);
}

/** The stored text of a line with another record. */
export function storedWith(json: string, record: unknown, person: string | null): string {
  const { line, custom_id: customId, credits } = JSON.parse(json) as LineIds & { readonly credits: number };
  return storedText(line, customId, 'succeeded', JSON.stringify(record), 'null', credits, person);
}

/** The format of results in an answer. */
export interface Shape {
  readonly format: BatchFormat;
  /** Puts an apostrophe before CSV cells that a spreadsheet would run as a formula. */
  readonly escapesFormulas: boolean;
}

/** A result line in an answer, with its line end. */
export function serialiseLine(json: string, { format, escapesFormulas }: Shape): string {
  if (format === 'ndjson') return `${json}\n`;
  const cells = succeededCells(json) ?? parsedCells(json);
  return csvRowOf(escapesFormulas ? cells.map(guardFormula) : cells);
}

function parsedCells(json: string): string[] {
  const line = JSON.parse(json) as Readonly<Record<string, unknown>>;
  return COLUMNS.map((column) => cellOf(line[column]));
}

/** The begin of a succeeded line as `storedText` writes it, up to its record. */
const SUCCEEDED = /^\{"line":(\d+),"custom_id":(null|"(?:[^"\\]|\\.)*"),"status":"succeeded","record":(?=\{)/s;
const AFTER_RECORD = ',"error":null,"credits":';

/**
 * The cells of a succeeded line; null for another line. Its record stays the text that it is: parsing and writing it again is most of the
 * work of a CSV, and most of its garbage.
 */
function succeededCells(json: string): string[] | null {
  const [head, line = '', customId = ''] = SUCCEEDED.exec(json) ?? [];
  const recordEnd = json.lastIndexOf(AFTER_RECORD);
  const credits = json.slice(recordEnd + AFTER_RECORD.length, -1);
  if (head === undefined || recordEnd === -1 || !/^\d+$/.test(credits)) return null;
  return [line, cellOf(JSON.parse(customId)), 'succeeded', json.slice(head.length, recordEnd), '', credits];
}

function cellOf(value: unknown): string {
  return value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);
}
