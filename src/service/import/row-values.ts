/** One row of a file as values by target, whatever its columns are called. Pure. */
import type { SparseRecord } from '../records.ts';
import { isEmpty, isObject } from '../values.ts';
import type { NameTable, Target } from './names.ts';

/** What a row says, by target. */
export interface RowValues {
  readonly values: Readonly<Record<Target, unknown>>;
  /** The address that the row came with, where what was bought for it has one of its own. */
  readonly ownEmail: unknown;
  /** It has something of a record that a run bought for it. */
  readonly hasBought: boolean;
}

/** Reads rows of files with one name table; `chosen` names the column of a target, and then no other is taken for it. */
export interface RowReader {
  /** A row of a table with this header. */
  readCells(cells: readonly string[], header: readonly string[]): RowValues;
  readObject(object: SparseRecord): RowValues;
  /** The columns that mean nothing here. */
  unknown(header: readonly string[]): string[];
}

interface Meaning {
  readonly target: Target;
  readonly rank: number;
}

const CHOSEN_RANK = -1;
/** Distinct names in JSON objects that are remembered; hostile files have a new one in every row. */
const MAX_NAMES = 10_000;
const BOUGHT = /^(?:enrich|reveal)\./;
const BOUGHT_OR_COMPANY = /^(?:enrich|reveal|company)\./;

export function rowReader(table: NameTable, plainName: (name: string) => string, chosen: ReadonlyMap<Target, string>): RowReader {
  const byName = new Map<string, Meaning | null>();
  const meaningOf = (name: string): Meaning | null => {
    const before = byName.get(name);
    if (before !== undefined) return before;
    const found = meaning(name, plainName(name), table, chosen, plainName);
    if (byName.size < MAX_NAMES) byName.set(name, found);
    return found;
  };
  let layout: { header: readonly string[]; columns: readonly { at: number; name: string; meaning: Meaning }[] } | null = null;
  const columnsOf = (header: readonly string[]): NonNullable<typeof layout>['columns'] => {
    if (layout?.header !== header) {
      const columns = header.flatMap((name, at) => {
        const means = meaningOf(name);
        return means === null ? [] : [{ at, name, meaning: means }];
      });
      layout = { header, columns: columns.sort((one, other) => one.meaning.rank - other.meaning.rank || one.at - other.at) };
    }
    return layout.columns;
  };
  return {
    readCells(cells, header) {
      const values: Record<Target, unknown> = {};
      let ownEmail: unknown;
      let hasBought = false;
      for (const { at, name, meaning: { target } } of columnsOf(header)) {
        const cell = cells[at]?.trim() ?? '';
        if (cell === '') continue;
        values[target] ??= cell;
        hasBought ||= BOUGHT_OR_COMPANY.test(name);
        if (target === 'email' && !BOUGHT.test(name)) ownEmail ??= cell;
      }
      return { values, ownEmail, hasBought };
    },
    readObject(object) {
      const output = millraceOutput(object);
      if (output === null) return { values: valuesOf(object, meaningOf), ownEmail: object['email'], hasBought: false };
      const { input, bought, verify, outcome } = output;
      const asked = valuesOf(input, meaningOf);
      // Verdicts are of the address that they name.
      return { values: { ...asked, ...valuesOf(bought, meaningOf), 'result.outcome': outcome, ...verify }, ownEmail: verify['verify.email'] ?? asked['email'], hasBought: Object.keys(known(bought)).length > 0 };
    },
    unknown: (header) => header.filter((name) => meaningOf(name) === null),
  };
}

function meaning(name: string, plain: string, table: NameTable, chosen: ReadonlyMap<Target, string>, plainName: (name: string) => string): Meaning | null {
  for (const [target, column] of chosen) if (column === name || plainName(column) === plain) return { target, rank: CHOSEN_RANK };
  const found = table.byPlainName.get(plain) ?? null;
  return found === null || chosen.has(found.target) ? null : found;
}

function valuesOf(object: SparseRecord, meaningOf: (name: string) => Meaning | null): Record<Target, unknown> {
  const values: Record<Target, unknown> = {};
  const ranks: Record<Target, number> = {};
  for (const [name, value] of Object.entries(object)) {
    const means = isEmpty(value) ? null : meaningOf(name);
    if (means === null) continue;
    // An object of its own, such as a company, stands under its field's own name; a text there is its name.
    const target = means.target === 'company.name' && typeof value === 'object' ? 'company' : means.target;
    if (target in values && (ranks[target] ?? 0) <= means.rank) continue;
    values[target] = value;
    ranks[target] = means.rank;
  }
  return values;
}

interface MillraceOutput {
  readonly input: SparseRecord;
  readonly bought: SparseRecord;
  readonly verify: Readonly<Record<Target, unknown>>;
  readonly outcome: unknown;
}

/** The parts of a row of an enriched JSONL output of Millrace, or null when it is none. */
function millraceOutput(object: SparseRecord): MillraceOutput | null {
  const { input, result, enrich, reveal, verify, company } = object;
  if (!isObject(input) || !isObject(result) || typeof result['outcome'] !== 'string') return null;
  const verdict = isObject(verify) ? verify : {};
  return {
    input,
    bought: { ...(isObject(enrich) ? enrich : {}), ...(isObject(company) ? { company } : {}), ...(isObject(reveal) ? known(reveal) : {}) },
    verify: { 'verify.result': verdict['result'], 'verify.confidence': verdict['confidence'], 'verify.email': verdict['normalized'] ?? verdict['email'], 'verify.verified_at': verdict['verified_at'] ?? verdict['checked_at'] },
    outcome: result['outcome'],
  };
}

function known(record: SparseRecord): SparseRecord {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => !isEmpty(value)));
}
