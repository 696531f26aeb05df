/** The columns that Millrace adds, and how each is read from a result. Pure. */
import { STEPS, type Step } from '../definition/steps.ts';
import type { CompiledJob } from '../definition/compiled-job.ts';
import type { RecordResult } from '../processor/result.ts';
import { jsonlValues } from '../formats/jsonl/jsonl-records.ts';
import type { InputRecord } from '../formats/input-record.ts';

type Read = (result: RecordResult, record: InputRecord) => unknown;

const INPUT = 'input.';

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
  ['verify.did_you_mean', (r) => r.verify?.record['did_you_mean'] ?? r.didYouMean],
];

/** The columns of a step that is configured. */
const OF_STEP: Readonly<Record<Step, readonly (readonly [string, Read])[]>> = {
  enrich: [],
  verify: [],
  company: [
    ['company.name', (r) => r.company?.record.name],
    ['company.domain', (r) => r.company?.record.domain],
    ['company.employees', (r) => r.company?.record.employees],
    ['company.revenue', (r) => r.company?.record.revenue],
    ['company.industry', (r) => r.company?.record.industry],
    ['company.stack', (r) => r.company?.record.stack],
  ],
  reveal: [
    ['reveal.email', (r) => r.reveal?.record.email],
    ['reveal.mobile', (r) => r.reveal?.record.mobile],
    ['reveal.linkedin_url', (r) => r.reveal?.record.linkedin_url],
  ],
};

/** Separates the items of a list in one cell. */
const LIST_SEPARATOR = ';';

interface ResultColumns {
  readonly names: readonly string[];
  /** One cell a column. Null is empty, booleans are `true` / `false`, lists are joined by `;`, objects are JSON. */
  read(result: RecordResult, record: InputRecord): string[];
}

/** The parts of a job that decide its columns: its steps and configured fields. */
type Columns = Pick<CompiledJob, 'steps'> & { readonly output: Pick<CompiledJob['output'], 'fields'> };

/** The names of the columns that a job adds. */
export function resultColumnNames({ steps, output: { fields } }: Columns): readonly string[] {
  return fields === null ? standardColumns(steps).map(([name]) => name) : Object.keys(fields);
}

/** The configured columns, or the standard ones. @param columns of the input */
export function resultColumns(job: Columns, columns: readonly string[]): ResultColumns {
  const {
    steps,
    output: { fields },
  } = job;
  const readers: readonly Read[] =
    fields === null ? standardColumns(steps).map(([, read]) => read) : Object.values(fields).map((path) => readPath(path, columns));
  return {
    names: resultColumnNames(job),
    read: (result, record) => readers.map((read) => toCell(read(result, record))),
  };
}

function standardColumns(steps: readonly Step[]): readonly (readonly [string, Read])[] {
  return [...STANDARD, ...steps.flatMap((step) => OF_STEP[step])];
}

/**
 * Reads a dotted path such as `enrich.company.hq.city`, `verify.flags.role`, `result.outcome` or `input.<column>`.
 * The path of a standard column reads the value of that column.
 */
export function readPath(path: string, columns: readonly string[]): Read {
  if (path.startsWith(INPUT)) return readInput(path.slice(INPUT.length), columns);
  const standard = STANDARD.find(([name]) => name === path)?.[1];
  if (standard !== undefined) return standard;
  const [root, ...rest] = path.split('.');
  const step = STEPS.find((name) => name === root);
  return (result) => {
    let value: unknown =
      step !== undefined
        ? result[step]?.record
        : root === 'result'
          ? { outcome: result.outcome, error: result.error, did_you_mean: result.didYouMean ?? null }
          : undefined;
    for (const part of rest) {
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
      value = (value as Record<string, unknown>)[part];
    }
    return value;
  };
}

/** Reads an input column by its exact name, unchanged. Empty for a row that could not be parsed. */
function readInput(name: string, columns: readonly string[]): Read {
  const at = columns.indexOf(name);
  return (_, record) => {
    if (record.values !== null) return at === -1 ? undefined : record.values[at];
    return record.bad === null ? jsonlValues(record.json ?? '{}', [name])[0] : undefined;
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
      if (Array.isArray(value))
        return value
          .map((member) => (typeof member === 'object' && member !== null ? JSON.stringify(member) : toCell(member)))
          .join(LIST_SEPARATOR);
      return JSON.stringify(value) ?? '';
  }
}
