/**
 * Results as they are kept: for each line its JSON, a tab, the letter of its set and, where the record does not say it, the JSON of whose it is. No JSON has a tab in it. Pure.
 */
import { guardFormula } from '../../formula-guard.ts';
import { ServiceError } from '../errors.ts';
import type { BatchFormat, ResultSet } from '../operations/batches.ts';
import { writeCells } from './csv.ts';
import type { Outcome } from './perform.ts';

const LETTERS: Readonly<Record<ResultSet, string>> = { succeeded: 's', not_found: 'n', failed: 'f', unprocessed: 'u' };

/** The columns of a table, in the order of the fields of a line. */
const COLUMNS = ['line', 'custom_id', 'status', 'record', 'error', 'credits'] as const;
export const RESULT_HEADER = writeCells(COLUMNS);

export function statusOf({ found }: Outcome): Exclude<ResultSet, 'unprocessed'> {
  if (!(found instanceof ServiceError)) return 'succeeded';
  return found.code === 'no_match' ? 'not_found' : 'failed';
}

/** The kept text of a line that was performed, with its end. */
export function keptOutcome(line: number, outcome: Outcome): string {
  const { customId, found } = outcome;
  return found instanceof ServiceError
    ? kept(line, customId, statusOf(outcome), 'null', errorText(found), 0, null)
    : kept(line, customId, 'succeeded', found.record, 'null', found.credits, found.person);
}

/** The same of one that was not. @param why null: the job was cancelled */
export function keptUnprocessed(line: number, customId: string | null, why: ServiceError | null): string {
  return kept(line, customId, 'unprocessed', 'null', why === null ? 'null' : errorText(why), 0, null);
}

function kept(line: number, customId: string | null, status: ResultSet, record: string, error: string, credits: number, person: string | null): string {
  return `{"line":${line},"custom_id":${JSON.stringify(customId)},"status":"${status}","record":${record},"error":${error},"credits":${credits}}\t${LETTERS[status]}${person === null ? '' : JSON.stringify(person)}\n`;
}

function errorText({ code, message, errors }: ServiceError): string {
  return JSON.stringify({ code, detail: message, errors });
}

/** One kept line, its end left out. */
export interface Kept {
  /** As it is kept, with its end. */
  readonly text: string;
  /** Of the line alone. */
  readonly json: string;
  readonly isOf: (set: ResultSet) => boolean;
  /** Whose record it is, where the record does not say. */
  readonly person: string | null;
}

export function readKept(bytes: Buffer): Kept {
  const text = bytes.toString('utf8');
  const tab = text.lastIndexOf('\t');
  const tail = text.slice(tab + 1);
  return { text: `${text}\n`, json: text.slice(0, tab), isOf: (set) => tail.startsWith(LETTERS[set]), person: tail.length > 1 ? (JSON.parse(tail.slice(1)) as string) : null };
}

interface Shown {
  readonly line: number;
  readonly custom_id: string | null;
}

/** The kept text of a line whose person has asked to be removed. */
export function keptErased(json: string, refusal: ServiceError): string {
  const { line, custom_id: customId } = JSON.parse(json) as Shown;
  return kept(line, customId, 'failed', 'null', errorText(refusal), 0, null);
}

/** The kept text of a line with another record. */
export function keptWith(json: string, record: unknown, person: string | null): string {
  const { line, custom_id: customId, credits } = JSON.parse(json) as Shown & { readonly credits: number };
  return kept(line, customId, 'succeeded', JSON.stringify(record), 'null', credits, person);
}

/** In which form results are answered. */
export interface Shape {
  readonly format: BatchFormat;
  /** Of a table: no cell is one that a spreadsheet runs. */
  readonly escapesFormulas: boolean;
}

/** A line as it is answered, with its end. */
export function shownLine(json: string, { format, escapesFormulas }: Shape): string {
  if (format === 'ndjson') return `${json}\n`;
  const line = JSON.parse(json) as Readonly<Record<string, unknown>>;
  const cells = COLUMNS.map((column) => cellOf(line[column]));
  return writeCells(escapesFormulas ? cells.map(guardFormula) : cells);
}

function cellOf(value: unknown): string {
  return value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);
}
