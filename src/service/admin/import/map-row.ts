/** Stage 2 of an import row, mapping: values by target, for any column names. Pure. */
import { memberNames, type MemberName } from '../../http/member-names.ts';
import type { SparseRecord } from '../../records/whole-record.ts';
import { isObject } from '../../../util/is-object.ts';
import { isBlank, isBlankText } from '../../records/empty-words.ts';
import { addItem } from './list-items.ts';
import { boughtOf, columnsIn, meaning, type Bought, type Column, type MeaningOf } from './column-layout.ts';
import { nameTable, type ImportKind, type ListItem, type NameMeaning, type NameTable, type Target } from './column-names.ts';
import type { OnUnknown } from './unknown-names.ts';

/** A row's values by target. Undefined means no value. The caller may change the values. */
export interface MappedRow {
  readonly values: Record<Target, unknown>;
  /** The address of the input row, when the bought record has another. */
  readonly ownEmail: unknown;
  /** Whether the row is from an enriched output of Millrace. Its targets are those of a contact, for every kind. */
  readonly isOutput: boolean;
  readonly bought: Bought;
}

/** Maps the rows of files of one kind. */
export interface RowMapper {
  /** Maps a table row. @param onUnknown not called for an enriched output, because that has any columns of its input */
  mapCells(cells: readonly string[], header: readonly string[], onUnknown?: OnUnknown): MappedRow;
  /** Maps an object, which is changed in place. @param onUnknown as in `mapCells` */
  mapObject(object: Record<string, unknown>, onUnknown?: OnUnknown): MappedRow;
  /** The columns without a meaning for this kind. */
  unknown(header: readonly string[]): string[];
  /** The columns that are used only when a better column of the same field is empty. */
  secondBest(header: readonly string[]): string[];
}

type Names = MemberName<NameMeaning | null>;

const IGNORE: OnUnknown = () => undefined;
const OUTCOME = 'result.outcome';

/** The mapper of one kind of rows. @param columns columns chosen by the user, by target, for all kinds */
export function rowMapperOf(kind: ImportKind, columns: ReadonlyMap<Target, string>): RowMapper {
  const table = nameTable(kind);
  const mapper = rowMapper(table, new Map([...columns].filter(([target]) => table.targets.includes(target))));
  if (kind !== 'companies') return mapper;
  return companyMapper(mapper, rowMapperOf('contacts', new Map([...columns].map(([target, column]) => [`company.${target}`, column]))));
}

/** In an enriched output, a company has the same columns as a contact's company. */
function companyMapper(companies: RowMapper, outputs: RowMapper): RowMapper {
  const mapperFor = (header: readonly string[]): RowMapper => (header.includes(OUTCOME) ? outputs : companies);
  return {
    mapCells: (cells, header, onUnknown) => mapperFor(header).mapCells(cells, header, onUnknown),
    mapObject: (object, onUnknown) => (millraceOutput(object) === null ? companies : outputs).mapObject(object, onUnknown),
    unknown: (header) => mapperFor(header).unknown(header),
    secondBest: (header) => mapperFor(header).secondBest(header),
  };
}

function rowMapper(table: NameTable, chosen: ReadonlyMap<Target, string>): RowMapper {
  const meaningOf: MeaningOf = (name) => meaning(name, table, chosen);
  const names = memberNames(null, meaningOf);
  const copyOf = memberMapper(table, names);
  const valuesOf = (object: Record<string, unknown>, onUnknown: OnUnknown): Record<Target, unknown> =>
    plainValues(object, names) ?? copyOf(object, onUnknown);
  let layout: { header: readonly string[]; columns: readonly Column[]; unknown: readonly number[]; isOutput: boolean } | null = null;
  const layoutOf = (header: readonly string[]): NonNullable<typeof layout> => {
    if (layout?.header !== header)
      layout = {
        header,
        columns: columnsIn(header, meaningOf),
        unknown: header.flatMap((name, at) => (meaningOf(name) === null ? [at] : [])),
        isOutput: header.includes(OUTCOME),
      };
    return layout;
  };
  return {
    mapCells(cells, header, onUnknown = IGNORE) {
      const values: Record<Target, unknown> = {};
      let ownEmail: unknown;
      let bought: Bought = null;
      const { columns, unknown, isOutput } = layoutOf(header);
      for (const { at, target, further, bought: boughtThing, isOwnEmail } of columns) {
        const cell = unguarded(cells[at]?.trim() ?? '');
        if (isBlankText(cell)) continue;
        if (further !== null && (further.list === target || values[target] !== undefined)) addItem(values, target, further, cell);
        else values[target] ??= cell;
        if (bought !== 'person') bought = boughtThing ?? bought;
        if (isOwnEmail) ownEmail ??= cell;
      }
      if (!isOutput) for (const at of unknown) if (!isBlankText(cells[at] ?? '')) onUnknown(header[at] as string);
      return { values, ownEmail, isOutput, bought };
    },
    mapObject(object, onUnknown = IGNORE) {
      const output = millraceOutput(object);
      const { email } = object;
      if (output === null) return { values: valuesOf(object, onUnknown), ownEmail: email, isOutput: false, bought: null };
      const { input, bought, verify, outcome } = output;
      const asked = copyOf(input, IGNORE);
      const record = copyOf(bought, IGNORE);
      const { company } = record;
      // A bought field replaces the input's field.
      if (isObject(company)) for (const field of Object.keys(known(company))) asked[`company.${field}`] = undefined;
      const boughtThing = Object.keys(record).reduce<Bought>(
        (most, target) => (most === 'person' ? most : (boughtOf(target) ?? most)),
        null,
      );
      // A verdict belongs to the address that it names.
      return {
        values: { ...asked, ...record, [OUTCOME]: outcome, ...verify },
        ownEmail: verify['verify.email'] ?? asked['email'],
        isOutput: true,
        bought: boughtThing,
      };
    },
    unknown: (header) => header.filter((name) => meaningOf(name) === null),
    secondBest: (header) =>
      columnsIn(header, meaningOf).flatMap(({ name, isSecondBest, further }) => (isSecondBest && further === null ? [name] : [])),
  };
}

/** The cell without the apostrophe that keeps a spreadsheet from running it as a formula (`'+12125550100`). */
function unguarded(cell: string): string {
  return cell.startsWith("'") && /^'+[=+\-@＝＋－＠]/.test(cell) ? cell.slice(1) : cell;
}

interface MillraceOutput {
  readonly input: SparseRecord;
  readonly bought: SparseRecord;
  readonly verify: Readonly<Record<Target, unknown>>;
  readonly outcome: unknown;
}

/** The parts of an object from an enriched JSONL output of Millrace; null for any other object. */
function millraceOutput(object: SparseRecord): MillraceOutput | null {
  const { input, result, enrich, reveal, verify, company } = object;
  if (!isObject(input) || !isObject(result) || typeof result['outcome'] !== 'string') return null;
  const verdict = isObject(verify) ? verify : {};
  return {
    input,
    bought: { ...(isObject(enrich) ? enrich : {}), ...(isObject(company) ? { company } : {}), ...(isObject(reveal) ? known(reveal) : {}) },
    verify: {
      'verify.result': verdict['result'],
      'verify.confidence': verdict['confidence'],
      'verify.email': verdict['normalized'] ?? verdict['email'],
      'verify.verified_at': verdict['verified_at'] ?? verdict['checked_at'],
    },
    outcome: result['outcome'],
  };
}

/** The members that have a value. */
function known(record: SparseRecord): SparseRecord {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => !isBlank(value)));
}

/**
 * The fast path, for an object whose names are mostly those of their targets. It changes the object in place, several times as fast as
 * building another. Empty values become undefined. Returns null, with no change, when the general path is needed.
 */
function plainValues(object: Record<string, unknown>, names: Names): Record<Target, unknown> | null {
  /** Alternating names and targets, where the two differ. */
  const renamed: string[] = [];
  let isAnyEmpty = false;
  let at = names;
  for (const name in object) {
    at = at.to(name);
    const value = object[name];
    if (isBlank(value)) {
      isAnyEmpty = true;
      continue;
    }
    const target = targetOf(at.means, value);
    if (target === name) continue;
    // A renamed member moves to the end, which is harmless for fields of a company or place. With two values for one target, ranks decide.
    if (target === null || !target.includes('.') || target in object || renamed.includes(target)) return null;
    renamed.push(name, target);
  }
  for (let pair = 0; pair < renamed.length; pair += 2) {
    const [name, target] = [renamed[pair] as string, renamed[pair + 1] as Target];
    object[target] = object[name];
    object[name] = undefined;
  }
  if (isAnyEmpty) for (const name in object) if (isBlank(object[name])) object[name] = undefined;
  return object;
}

/** `company` is an object, or a text with the company's name. */
function targetOf(means: NameMeaning | null, value: unknown): Target | null {
  return means?.target === 'company.name' && typeof value === 'object' ? 'company' : (means?.target ?? null);
}

/** Maps the members of objects to values by target. */
function memberMapper(table: NameTable, names: Names): (object: SparseRecord, onUnknown: OnUnknown) => Record<Target, unknown> {
  const slots = new Map(table.targets.map((target, slot) => [target, slot]));
  /** The rank of the name that gave each value of the current object, by the target's slot. */
  const ranks = new Int32Array(table.targets.length);
  return (object, onUnknown) => {
    const values: Record<Target, unknown> = {};
    const listed: { readonly means: NameMeaning; readonly further: ListItem; readonly value: unknown }[] = [];
    let at = names;
    for (const name in object) {
      at = at.to(name);
      const value = object[name];
      const { means } = at;
      if (isBlank(value)) continue;
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
    for (const {
      means: { target },
      further,
      value,
    } of listed) {
      if (further.list === target || values[target] !== undefined) addItem(values, target, further, value);
      else values[target] = value;
    }
    return values;
  };
}
