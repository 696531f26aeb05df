/** The columns that Millrace adds, and how each is read from a result. Pure. */
import { COMPANY_FIELDS, type FieldType } from '../client/answer-fields.ts';
import { isObject } from '../util/is-object.ts';
import type { CompiledJob } from '../definition/compiled-job.ts';
import type { RecordResult } from '../processor/result.ts';
import { jsonlValues } from '../formats/jsonl/jsonl-records.ts';
import type { InputManifest, InputRecord } from '../formats/input-record.ts';
import { TEXT, type Cell, type ColumnType } from '../formats/parquet/column-type.ts';
import type { WrittenColumn } from '../formats/parquet/row-groups.ts';
import type { StepSpec } from '../steps/step-spec.ts';
import { eachStep, isStandard, SPECS, specOf, STEPS, type Step } from '../steps/registry.ts';

type Read = (result: RecordResult, record: InputRecord) => unknown;

const INPUT = 'input.';

/** Paths that are read in a way of their own. */
const OWN: Readonly<Record<string, Read>> = {
  'result.outcome': (r) => r.outcome,
  'result.error': (r) => r.error,
  'result.did_you_mean': (r) => r.didYouMean ?? null,
  'verify.did_you_mean': (r) => r.answers['verify']?.record['did_you_mean'] ?? r.didYouMean,
};

/** The standard columns of each step. */
const COLUMNS = eachStep(({ name, columns }) => columns.map((path) => `${name}.${path}`));

/** Which provider a step's values are from, where the job names its providers. @param shown paths of all columns of a row */
function sourceColumn(step: Step, shown: readonly string[]): Read {
  const read = specOf(step).verdicts === null ? sourceReader(step, shown) : (source: unknown) => source;
  return (r) => read(r.answers[step]?.record['source']);
}

/** Reads `title=pdl`, `company.name=hunter`, for the fields that a row of a table shows. Most records of a provider share their sources. */
function sourceReader(step: Step, shown: readonly string[]): (sources: unknown) => readonly string[] | undefined {
  const fields = new Set(shown.filter((path) => path.startsWith(`${step}.`)).map((path) => path.slice(step.length + 1)));
  const known = new WeakMap<object, readonly string[]>();
  return (sources) => {
    if (!isObject(sources)) return undefined;
    let texts = known.get(sources);
    if (texts === undefined) {
      texts = Object.keys(sources)
        .filter((field) => fields.has(field))
        .map((field) => `${field}=${String(sources[field])}`);
      known.set(sources, texts);
    }
    return texts;
  };
}

/** Separates the items of a list in one cell. */
const LIST_SEPARATOR = ';';

interface ResultColumns {
  readonly names: readonly string[];
  /** One cell a column. Null is empty, booleans are `true` / `false`, lists are joined by `;`, objects are JSON. */
  read(result: RecordResult, record: InputRecord): string[];
}

/** The parts of a job that decide its columns: its steps and configured fields. */
type Columns = Pick<CompiledJob, 'steps' | 'ownSteps' | 'namesProviders'> & { readonly output: Pick<CompiledJob['output'], 'fields'> };

/** The names of the columns that a job adds. */
export function resultColumnNames(job: Columns): readonly string[] {
  return job.output.fields === null ? standardColumns(job) : Object.keys(job.output.fields);
}

/** A job as far as it decides which fields a table shows. */
type Shown = Columns & Pick<CompiledJob, 'waterfalls' | 'providers'> & { readonly output: { readonly format: string } };

/** Fields that the steps ask provider after provider for, such as `enrich.mobile`, and that no column of a table shows. */
export function unshownFields(job: Shown): string[] {
  return wantedFields(job).filter(isUnshown(job));
}

/**
 * Fields, such as `enrich.seniority`, that the definitions of a job's providers find and that no column of a table shows. Those of
 * `until` are left out, and all where the job names its columns.
 */
export function unshownFinds(job: Shown): string[] {
  if (job.output.fields !== null || !job.namesProviders) return [];
  const found = job.steps.map(specOf).flatMap(({ name, verdicts, keys }) =>
    job.providers
      .filter((provider) => provider.definition.client !== 'built-in' && job.waterfalls[name]?.from.includes(provider.name) === true)
      .flatMap(({ definition }) => definition.operations[name]?.fields ?? [])
      // A verdict repeats the address that it is about.
      .filter((field) => verdicts === null || keys.every((key) => key !== field))
      .map((field) => `${name}.${field}`),
  );
  const wanted = new Set(wantedFields(job));
  return [...new Set(found)].filter(isUnshown(job)).filter((field) => !wanted.has(field));
}

function wantedFields({ waterfalls }: Pick<CompiledJob, 'waterfalls'>): string[] {
  return Object.entries(waterfalls).flatMap(([step, { until }]) =>
    specOf(step).verdicts === null ? until.map((field) => `${step}.${field}`) : [],
  );
}

/** Whether a field has no column; JSON lines have them all. */
function isUnshown(job: Shown): (field: string) => boolean {
  const shown = Object.values(pathsOf(job));
  return (field) =>
    job.output.format !== 'jsonl' && !shown.some((path) => path === field || path.startsWith(`${field}.`) || field.startsWith(`${path}.`));
}

/** The configured columns, or the standard ones. @param columns of the input */
export function resultColumns(job: Columns, columns: readonly string[]): ResultColumns {
  const readers = fieldReaders(pathsOf(job), columns);
  return {
    names: readers.map(([name]) => name),
    read: (result, record) => readers.map(([, read]) => toCell(read(result, record))),
  };
}

/** The path of each column by its name. */
function pathsOf(job: Columns): Readonly<Record<string, string>> {
  return job.output.fields ?? Object.fromEntries(standardColumns(job).map((name) => [name, name]));
}

const TYPES: Readonly<Partial<Record<FieldType, ColumnType>>> = {
  number: { type: 'INT64' },
  decimal: { type: 'DOUBLE' },
  percent: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
};

/** Standard columns that are not text in a Parquet output. */
const TYPED = new Map(SPECS.flatMap(typesOf));

function typesOf({ name, columns, fields }: StepSpec): [string, ColumnType][] {
  return columns.flatMap((path): [string, ColumnType][] => {
    const type = TYPES[(path.startsWith('company.') ? COMPANY_FIELDS : fields).get(path.replace('company.', '')) ?? 'any'];
    return type === undefined ? [] : [[`${name}.${path}`, type]];
  });
}

/** The columns of a Parquet output that are not of its input. A number or a switch of another kind than the column's is left out. */
export function typedResultColumns(
  job: Columns,
  { columns, types = [] }: Pick<InputManifest, 'columns' | 'types'>,
): { readonly columns: readonly WrittenColumn[]; read(result: RecordResult, record: InputRecord): Cell[] } {
  const fields = pathsOf(job);
  const ofOwn = new Map(job.ownSteps.flatMap(typesOf));
  const made = fieldReaders(fields, columns).map(([name, value]) => {
    const path = fields[name] ?? name;
    const at = path.startsWith(INPUT) ? columns.indexOf(path.slice(INPUT.length)) : -1;
    const type = at === -1 ? (TYPED.get(path) ?? ofOwn.get(path)) : (types[at] ?? undefined);
    const kept = at !== -1 && type !== undefined;
    return { name, type: type ?? TEXT, read: kept ? ({ cells }: InputRecord): Cell => cells?.[at] ?? null : null, value };
  });
  return {
    columns: made.map(({ name, type }) => ({ name, type })),
    read: (result, record) => made.map(({ type, read, value }) => (read === null ? toTyped(value(result, record), type) : read(record))),
  };
}

function toTyped(value: unknown, { type }: ColumnType): Cell {
  switch (type) {
    case 'BOOLEAN':
      return typeof value === 'boolean' ? value : null;
    case 'DOUBLE':
      return typeof value === 'number' ? value : null;
    case 'INT64':
      return Number.isSafeInteger(value) || (typeof value === 'string' && /^-?\d{1,15}$/.test(value))
        ? BigInt(value as number | string)
        : null;
    default:
      return toCell(value) || null;
  }
}

function standardColumns({ steps, ownSteps, namesProviders }: Columns): readonly string[] {
  const standard = SPECS.flatMap(({ name, isUsual }) => (isUsual || steps.includes(name) ? COLUMNS[name] : []));
  const own = ownSteps.flatMap(({ name, columns }) => columns.map((path) => `${name}.${path}`));
  const sources = namesProviders ? stepsOfRow(steps).map((step) => `${step}.source`) : [];
  return ['result.outcome', 'result.error', ...standard, ...own, ...sources];
}

/** The steps of a job in the order of a row: the standard ones as always, then custom ones as the job has them. */
export function stepsOfRow(steps: readonly Step[]): readonly Step[] {
  return [...STEPS.filter((step) => steps.includes(step)), ...steps.filter((step) => !isStandard(step))];
}

/** Columns that any job may have. */
const STANDARD = SPECS.flatMap(({ name }) => COLUMNS[name]);

/** Reads the columns that a job has instead of the standard ones. @param fields the path of each column by its name */
export function fieldReaders(
  fields: Readonly<Record<string, string>>,
  columns: readonly string[],
): readonly (readonly [name: string, read: Read])[] {
  const shown = [...STANDARD, ...Object.values(fields)];
  return Object.entries(fields).map(([name, path]) => [name, readPath(path, columns, shown)]);
}

/**
 * Reads a dotted path such as `enrich.company.hq.city`, `verify.flags.role`, `result.outcome` or `input.<column>`.
 * The path of a standard column reads the value of that column.
 */
export function readPath(path: string, columns: readonly string[], shown: readonly string[] = STANDARD): Read {
  if (path.startsWith(INPUT)) return readInput(path.slice(INPUT.length), columns);
  const own = OWN[path];
  if (own !== undefined) return own;
  const [step = '', ...rest] = path.split('.');
  const [field = '', ...inner] = rest;
  if (field === 'source' && inner.length === 0) return sourceColumn(step, shown);
  // Looking for an own field costs more than reading it. Few names are inherited by an object or a list.
  const mayInherit = rest.some((part) => part in []);
  if (!mayInherit && inner.length === 0) return (result) => result.answers[step]?.record[field];
  return (result) => {
    let value: unknown = result.answers[step]?.record;
    for (const part of rest) {
      if (typeof value !== 'object' || value === null || (mayInherit && !Object.hasOwn(value, part))) return undefined;
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
      if (Array.isArray(value)) return listCell(value);
      return JSON.stringify(value) ?? '';
  }
}

function listCell(members: readonly unknown[]): string {
  let text = '';
  for (const [index, member] of members.entries()) {
    const cell = typeof member === 'object' && member !== null ? JSON.stringify(member) : toCell(member);
    text = index === 0 ? cell : `${text}${LIST_SEPARATOR}${cell}`;
  }
  return text;
}
