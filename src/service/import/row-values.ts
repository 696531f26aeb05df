/** One row of a file as values by target, whatever its columns are called. Pure. */
import { memberNames, type MemberName } from '../member-names.ts';
import type { SparseRecord } from '../records.ts';
import { isEmpty, isObject } from '../values.ts';
import { addItem } from './list-items.ts';
import { known, millraceOutput } from './millrace-output.ts';
import { nameTable, type ImportKind, type KeyAliases, type ListItem, type NameMeaning, type NameTable, type Target } from './names.ts';
import type { OnUnknown } from './unknown-names.ts';

/** What a row says, by target; undefined, and what is not there, says nothing. Whoever it is for may change the values. */
export interface RowValues {
  readonly values: Record<Target, unknown>;
  /** The address that the row came with, where what was bought for it has one of its own. */
  readonly ownEmail: unknown;
  /** It is of an enriched output of Millrace: then its values go by the targets of a contact, whatever the kind. */
  readonly isOutput: boolean;
  /** What a run bought for it: something of somebody, or of a company alone. */
  readonly bought: 'somebody' | 'company' | null;
}

/** Reads rows of files with one name table; `chosen` names the column of a target, and then no other is taken for it. */
export interface RowReader {
  /** A row of a table with this header. @param onUnknown not told of an enriched output, in which columns are anybody's */
  readCells(cells: readonly string[], header: readonly string[], onUnknown?: OnUnknown): RowValues;
  /** A row that is an object: it is changed, and of no use to others then. @param onUnknown as of a table's row */
  readObject(object: Record<string, unknown>, onUnknown?: OnUnknown): RowValues;
  /** The columns that mean nothing here. */
  unknown(header: readonly string[]): string[];
  /** Those of which a value is taken only where a better column of the same field has none. */
  secondBest(header: readonly string[]): string[];
}

type MeaningOf = (name: string) => NameMeaning | null;
type Names = MemberName<NameMeaning | null>;

/** A column that means something. */
interface Column {
  readonly at: number;
  readonly name: string;
  readonly target: Target;
  /** Where a value goes that is not the field's first, or is for a list. */
  readonly further: ListItem | null;
  /** A better column of the file is of the same field; what was bought is beside all of them. */
  readonly isSecondBest: boolean;
  /** What a value in it says was bought. */
  readonly bought: RowValues['bought'];
  /** It holds the address that the row came with. */
  readonly isOwnEmail: boolean;
}

const UNTOLD: OnUnknown = () => undefined;
const CHOSEN_RANK = -1;
const BOUGHT = /^(?:enrich|reveal)\./;
const BOUGHT_OR_COMPANY = /^(?:enrich|reveal|company)\./;
const OUTCOME = 'result.outcome';

/** The reader of one kind's rows. @param columns named by hand, by target, those of other kinds among them */
export function readerOf(kind: ImportKind, columns: ReadonlyMap<Target, string>, aliases: KeyAliases, plainName: (name: string) => string): RowReader {
  const table = nameTable(kind, aliases, plainName);
  const reader = rowReader(table, plainName, new Map([...columns].filter(([target]) => table.targets.includes(target))));
  return kind === 'companies' ? companyReader(reader, readerOf('contacts', new Map([...columns].map(([target, column]) => [`company.${target}`, column])), aliases, plainName)) : reader;
}

/** Companies stand in an enriched output as they do beside contacts. */
function companyReader(companies: RowReader, outputs: RowReader): RowReader {
  const readerFor = (header: readonly string[]): RowReader => (header.includes(OUTCOME) ? outputs : companies);
  return {
    readCells: (cells, header, onUnknown) => readerFor(header).readCells(cells, header, onUnknown),
    readObject: (object, onUnknown) => (millraceOutput(object) === null ? companies : outputs).readObject(object, onUnknown),
    unknown: (header) => readerFor(header).unknown(header),
    secondBest: (header) => readerFor(header).secondBest(header),
  };
}

function rowReader(table: NameTable, plainName: (name: string) => string, chosen: ReadonlyMap<Target, string>): RowReader {
  const meaningOf: MeaningOf = (name) => meaning(name, plainName(name), table, chosen, plainName);
  const names = memberNames(null, meaningOf);
  const copyOf = memberReader(table, names);
  const valuesOf = (object: Record<string, unknown>, onUnknown: OnUnknown): Record<Target, unknown> => plainValues(object, names) ?? copyOf(object, onUnknown);
  let layout: { header: readonly string[]; columns: readonly Column[]; unknown: readonly number[]; isOutput: boolean } | null = null;
  const layoutOf = (header: readonly string[]): NonNullable<typeof layout> => {
    if (layout?.header !== header) layout = { header, columns: columnsIn(header, meaningOf), unknown: header.flatMap((name, at) => (meaningOf(name) === null ? [at] : [])), isOutput: header.includes(OUTCOME) };
    return layout;
  };
  return {
    readCells(cells, header, onUnknown = UNTOLD) {
      const values: Record<Target, unknown> = {};
      let ownEmail: unknown;
      let bought: RowValues['bought'] = null;
      const { columns, unknown, isOutput } = layoutOf(header);
      for (const { at, target, further, bought: says, isOwnEmail } of columns) {
        const cell = unguarded(cells[at]?.trim() ?? '');
        if (cell === '') continue;
        if (further !== null && (further.list === target || values[target] !== undefined)) addItem(values, target, further, cell);
        else values[target] ??= cell;
        if (bought !== 'somebody') bought = says ?? bought;
        if (isOwnEmail) ownEmail ??= cell;
      }
      if (!isOutput) for (const at of unknown) if ((cells[at] ?? '') !== '') onUnknown(header[at] as string);
      return { values, ownEmail, isOutput, bought };
    },
    readObject(object, onUnknown = UNTOLD) {
      const output = millraceOutput(object);
      const { email } = object;
      if (output === null) return { values: valuesOf(object, onUnknown), ownEmail: email, isOutput: false, bought: null };
      const { input, bought, verify, outcome } = output;
      const asked = copyOf(input, UNTOLD);
      const record = copyOf(bought, UNTOLD);
      const { company } = record;
      // What was asked with comes after what was bought, field by field.
      if (isObject(company)) for (const field of Object.keys(known(company))) asked[`company.${field}`] = undefined;
      const says = Object.keys(record).reduce<RowValues['bought']>((most, target) => (most === 'somebody' ? most : (boughtOf(target) ?? most)), null);
      // Verdicts are of the address that they name.
      return { values: { ...asked, ...record, [OUTCOME]: outcome, ...verify }, ownEmail: verify['verify.email'] ?? asked['email'], isOutput: true, bought: says };
    },
    unknown: (header) => header.filter((name) => meaningOf(name) === null),
    secondBest: (header) => columnsIn(header, meaningOf).flatMap(({ name, isSecondBest, further }) => (isSecondBest && further === null ? [name] : [])),
  };
}

/** A cell that was kept from being run as a formula by an apostrophe (`'+12125550100`), as a run and others write it, as it was before. */
function unguarded(cell: string): string {
  return cell.startsWith("'") && /^'+[=+\-@＝＋－＠]/.test(cell) ? cell.slice(1) : cell;
}

function meaning(name: string, plain: string, table: NameTable, chosen: ReadonlyMap<Target, string>, plainName: (name: string) => string): NameMeaning | null {
  for (const [target, column] of chosen) if (column === name || plainName(column) === plain) return { target, rank: CHOSEN_RANK, further: target === 'phones' ? { list: 'phones', type: null } : null };
  const found = table.byPlainName.get(plain) ?? null;
  return found === null || chosen.has(found.target) ? null : found;
}

/** What a value of this target says was bought. That an address is not verified is said of nobody, too. */
function boughtOf(target: Target): RowValues['bought'] {
  if (target === 'verified') return null;
  return target === 'company' || target.startsWith('company.') ? 'company' : 'somebody';
}

/** Best first. */
function columnsIn(header: readonly string[], meaningOf: MeaningOf): readonly Column[] {
  const columns = header.flatMap((name, at) => {
    const means = meaningOf(name);
    return means === null ? [] : [{ at, name, ...means, bought: BOUGHT_OR_COMPANY.test(name) ? boughtOf(means.target) : null, isOwnEmail: means.target === 'email' && !BOUGHT.test(name) }];
  });
  columns.sort((one, other) => one.rank - other.rank || one.at - other.at);
  // What a row was asked with is replaced by what was bought for it, and is nothing more of the same.
  const own = new Set<Target>();
  return columns.map((column) => {
    const isSecondBest = column.bought === null && own.has(column.target);
    if (column.bought === null) own.add(column.target);
    return { ...column, isSecondBest, further: isSecondBest || column.further?.list === column.target ? column.further : null };
  });
}

/**
 * The values of an object whose names are mostly those of their targets: it is changed where it must be, which is several times as fast as putting
 * another together. What says nothing is undefined in it. Null: it is not so simple, and nothing was changed.
 */
function plainValues(object: Record<string, unknown>, names: Names): Record<Target, unknown> | null {
  /** By turns a name and its target, which is another. */
  const renamed: string[] = [];
  let isAnyEmpty = false;
  let at = names;
  for (const name in object) {
    at = at.to(name);
    const value = object[name];
    if (isEmpty(value)) {
      isAnyEmpty = true;
      continue;
    }
    const target = targetOf(at.means, value);
    if (target === name) continue;
    // It comes last then, which is nothing to fields of the company or the place. Where there is another value of that target, ranks tell which is better.
    if (target === null || !target.includes('.') || target in object || renamed.includes(target)) return null;
    renamed.push(name, target);
  }
  for (let pair = 0; pair < renamed.length; pair += 2) {
    const [name, target] = [renamed[pair] as string, renamed[pair + 1] as Target];
    object[target] = object[name];
    object[name] = undefined;
  }
  if (isAnyEmpty) for (const name in object) if (isEmpty(object[name])) object[name] = undefined;
  return object;
}

/** An object of its own, such as a company, stands under its field's own name; a text there is its name. */
function targetOf(means: NameMeaning | null, value: unknown): Target | null {
  return means?.target === 'company.name' && typeof value === 'object' ? 'company' : (means?.target ?? null);
}

/** Reads objects' members into values by target. */
function memberReader(table: NameTable, names: Names): (object: SparseRecord, onUnknown: OnUnknown) => Record<Target, unknown> {
  const slots = new Map(table.targets.map((target, slot) => [target, slot]));
  /** By the target's slot, the rank of the name from which its value is; of the object that is being read. */
  const ranks = new Int32Array(table.targets.length);
  return (object, onUnknown) => {
    const values: Record<Target, unknown> = {};
    const listed: { readonly means: NameMeaning; readonly further: ListItem; readonly value: unknown }[] = [];
    let at = names;
    for (const name in object) {
      at = at.to(name);
      const value = object[name];
      const { means } = at;
      if (isEmpty(value)) continue;
      if (means === null) {
        onUnknown(name);
        continue;
      }
      if (means.further !== null) {
        listed.push({ means, further: means.further, value });
        continue;
      }
      const target = targetOf(means, value) as Target;
      const slot = slots.get(target) as number;
      if (target in values && (ranks[slot] as number) <= means.rank) continue;
      values[target] = value;
      ranks[slot] = means.rank;
    }
    listed.sort((one, other) => one.means.rank - other.means.rank);
    for (const { means: { target }, further, value } of listed) {
      if (further.list === target || values[target] !== undefined) addItem(values, target, further, value);
      else values[target] = value;
    }
    return values;
  };
}
