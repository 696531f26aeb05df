/** One row of a file as values by target, whatever its columns are called. Pure. */
import type { SparseRecord } from '../records.ts';
import { isEmpty, isObject } from '../values.ts';
import { nameTable, type ImportKind, type KeyAliases, type NameTable, type Target } from './names.ts';

/** What a row says, by target; undefined, and what is not there, says nothing. */
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

type MeaningOf = (name: string) => Meaning | null;

/** A column that means something. */
interface Column {
  readonly at: number;
  readonly target: Target;
  readonly isBought: boolean;
  /** It holds the address that the row came with. */
  readonly isOwnEmail: boolean;
}

const CHOSEN_RANK = -1;
/** Distinct names in JSON objects that are remembered; hostile files have a new one in every row. */
const MAX_NAMES = 10_000;
const BOUGHT = /^(?:enrich|reveal)\./;
const BOUGHT_OR_COMPANY = /^(?:enrich|reveal|company)\./;

/** The reader of one kind's rows. @param columns named by hand, by target, those of other kinds among them */
export function readerOf(kind: ImportKind, columns: ReadonlyMap<Target, string>, aliases: KeyAliases, plainName: (name: string) => string): RowReader {
  const table = nameTable(kind, aliases, plainName);
  return rowReader(table, plainName, new Map([...columns].filter(([target]) => table.targets.includes(target))));
}

function rowReader(table: NameTable, plainName: (name: string) => string, chosen: ReadonlyMap<Target, string>): RowReader {
  const byName = new Map<string, Meaning | null>();
  const meaningOf: MeaningOf = (name) => {
    const before = byName.get(name);
    if (before !== undefined) return before;
    const found = meaning(name, plainName(name), table, chosen, plainName);
    if (byName.size < MAX_NAMES) byName.set(name, found);
    return found;
  };
  const copyOf = memberReader(table, meaningOf);
  const valuesOf = (object: SparseRecord): Record<Target, unknown> => plainValues(object, meaningOf) ?? copyOf(object);
  let layout: { header: readonly string[]; columns: readonly Column[] } | null = null;
  const columnsOf = (header: readonly string[]): readonly Column[] => {
    if (layout?.header !== header) layout = { header, columns: columnsIn(header, meaningOf) };
    return layout.columns;
  };
  return {
    readCells(cells, header) {
      const values: Record<Target, unknown> = {};
      let ownEmail: unknown;
      let hasBought = false;
      for (const { at, target, isBought, isOwnEmail } of columnsOf(header)) {
        const cell = cells[at]?.trim() ?? '';
        if (cell === '') continue;
        values[target] ??= cell;
        hasBought ||= isBought;
        if (isOwnEmail) ownEmail ??= cell;
      }
      return { values, ownEmail, hasBought };
    },
    readObject(object) {
      const output = millraceOutput(object);
      if (output === null) return { values: valuesOf(object), ownEmail: object['email'], hasBought: false };
      const { input, bought, verify, outcome } = output;
      const asked = copyOf(input);
      // Verdicts are of the address that they name.
      return { values: { ...asked, ...copyOf(bought), 'result.outcome': outcome, ...verify }, ownEmail: verify['verify.email'] ?? asked['email'], hasBought: Object.keys(known(bought)).length > 0 };
    },
    unknown: (header) => header.filter((name) => meaningOf(name) === null),
  };
}

function meaning(name: string, plain: string, table: NameTable, chosen: ReadonlyMap<Target, string>, plainName: (name: string) => string): Meaning | null {
  for (const [target, column] of chosen) if (column === name || plainName(column) === plain) return { target, rank: CHOSEN_RANK };
  const found = table.byPlainName.get(plain) ?? null;
  return found === null || chosen.has(found.target) ? null : found;
}

/** Best first. */
function columnsIn(header: readonly string[], meaningOf: MeaningOf): readonly Column[] {
  const columns = header.flatMap((name, at) => {
    const means = meaningOf(name);
    return means === null ? [] : [{ at, rank: means.rank, target: means.target, isBought: BOUGHT_OR_COMPANY.test(name), isOwnEmail: means.target === 'email' && !BOUGHT.test(name) }];
  });
  return columns.sort((one, other) => one.rank - other.rank || one.at - other.at);
}

/**
 * The values of an object whose names are mostly those of their targets: a copy that is changed here and there is several times as fast as one that is put
 * together. What says nothing is undefined in it. Null: it is not so simple.
 */
function plainValues(object: SparseRecord, meaningOf: MeaningOf): Record<Target, unknown> | null {
  const values: Record<Target, unknown> = { ...object };
  for (const name in object) {
    const value = object[name];
    const target = isEmpty(value) ? null : targetOf(meaningOf(name), value);
    if (target === name) continue;
    if (!isEmpty(value)) {
      // It comes last now, which is nothing to fields of the company or the place. Where there is another value of that target, ranks tell which is better.
      if (target === null || !target.includes('.') || target in values) return null;
      values[target] = value;
    }
    values[name] = undefined;
  }
  return values;
}

/** An object of its own, such as a company, stands under its field's own name; a text there is its name. */
function targetOf(means: Meaning | null, value: unknown): Target | null {
  return means?.target === 'company.name' && typeof value === 'object' ? 'company' : (means?.target ?? null);
}

/** Reads objects' members into values by target. */
function memberReader(table: NameTable, meaningOf: MeaningOf): (object: SparseRecord) => Record<Target, unknown> {
  const slots = new Map(table.targets.map((target, slot) => [target, slot]));
  /** By the target's slot, the rank of the name from which its value is; of the object that is being read. */
  const ranks = new Int32Array(table.targets.length);
  return (object) => {
    const values: Record<Target, unknown> = {};
    for (const name in object) {
      const value = object[name];
      const means = isEmpty(value) ? null : meaningOf(name);
      if (means === null) continue;
      const target = targetOf(means, value) as Target;
      const slot = slots.get(target) as number;
      if (target in values && (ranks[slot] as number) <= means.rank) continue;
      values[target] = value;
      ranks[slot] = means.rank;
    }
    return values;
  };
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
