/** The columns that Millrace adds, and how each is read from a result. Pure. */
import type { Step } from '../job/types.ts';
import type { RecordResult } from '../processor/result.ts';

type Read = (result: RecordResult) => unknown;

const STANDARD: readonly (readonly [string, Read])[] = [
  ['result.outcome', (r) => r.outcome],
  ['result.error', (r) => r.error],
  ['enrich.email', (r) => r.enrich?.record.email],
  ['enrich.name', (r) => r.enrich?.record.name],
  ['enrich.title', (r) => r.enrich?.record.title],
  ['enrich.company.name', (r) => r.enrich?.record.company?.name],
  ['enrich.company.employees', (r) => r.enrich?.record.company?.employees],
  ['enrich.company.revenue', (r) => r.enrich?.record.company?.revenue],
  ['enrich.company.stack', (r) => r.enrich?.record.company?.stack],
  ['enrich.verified', (r) => r.enrich?.record.verified],
  ['verify.result', (r) => r.verify?.record.result],
  ['verify.confidence', (r) => r.verify?.record.confidence],
  ['verify.reason', (r) => r.verify?.record.reason],
];

/** What joins the members of a list in one cell. */
const LIST_SEPARATOR = ';';

export interface ResultColumns {
  readonly names: readonly string[];
  /** One cell a column. Null is empty, booleans `true` / `false`, lists joined by `;`, objects as JSON. */
  read(result: RecordResult): string[];
}

/** Names of the columns that a job adds. */
export function resultColumnNames(fields: Readonly<Record<string, string>> | null): readonly string[] {
  return fields === null ? STANDARD.map(([name]) => name) : Object.keys(fields);
}

/** The standard columns, or the configured ones. */
export function resultColumns(fields: Readonly<Record<string, string>> | null): ResultColumns {
  const readers: readonly Read[] = fields === null ? STANDARD.map(([, read]) => read) : Object.values(fields).map((path) => readPath(path));
  return {
    names: resultColumnNames(fields),
    read: (result) => readers.map((read) => toCell(read(result))),
  };
}

/** The value at a dotted path such as `enrich.company.hq.city`, `verify.flags.role` or `result.outcome`. */
export function readPath(path: string): Read {
  const [root, ...rest] = path.split('.');
  return (result) => {
    let value: unknown = root === 'result' ? { outcome: result.outcome, error: result.error } : root === 'enrich' || root === 'verify' ? result[root as Step]?.record : undefined;
    for (const part of rest) {
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
      value = (value as Record<string, unknown>)[part];
    }
    return value;
  };
}

/** One value as the text of a cell. */
export function toCell(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'undefined':
      return '';
    case 'number':
    case 'boolean':
    case 'bigint':
      return String(value);
    default:
      if (value === null) return '';
      if (Array.isArray(value)) return value.map((member) => (typeof member === 'object' && member !== null ? JSON.stringify(member) : toCell(member))).join(LIST_SEPARATOR);
      return JSON.stringify(value) ?? '';
  }
}
