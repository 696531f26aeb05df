/** Maps the columns of one header to targets, best column first. Pure. */
import { normaliseColumnName } from '../../../formats/header-aliases.ts';
import type { ListItem, NameMeaning, NameTable, Target } from './column-names.ts';

/** The thing that a run bought for a row: a value about a person, or only about a company; null when nothing was bought. */
export type Bought = 'person' | 'company' | null;

export type MeaningOf = (name: string) => NameMeaning | null;

/** A column with a target. */
export interface Column {
  readonly at: number;
  readonly name: string;
  readonly target: Target;
  /** The list for a value that is not the first of its field. */
  readonly further: ListItem | null;
  /** Whether a better column of the file has the same target. Bought columns do not count. */
  readonly isSecondBest: boolean;
  /** The bought thing that a value in this column proves. */
  readonly bought: Bought;
  /** Whether the column holds the address that the row came with. */
  readonly isOwnEmail: boolean;
}

const CHOSEN_RANK = -1;
const BOUGHT = /^(?:enrich|reveal)\./;
const BOUGHT_OR_COMPANY = /^(?:enrich|reveal|company)\./;

/** The meaning of a column name; null when it has no meaning. @param chosen columns chosen by the user, by target */
export function meaning(name: string, table: NameTable, chosen: ReadonlyMap<Target, string>): NameMeaning | null {
  const plain = normaliseColumnName(name);
  for (const [target, column] of chosen)
    if (column === name || normaliseColumnName(column) === plain)
      return { target, rank: CHOSEN_RANK, further: target === 'phones' ? { list: 'phones', type: null } : null };
  const found = table.byPlainName.get(plain) ?? null;
  return found === null || chosen.has(found.target) ? null : found;
}

/** The bought thing that a value of this target proves. `verified` proves nothing, because rows without a match have it too. */
export function boughtOf(target: Target): Bought {
  if (target === 'verified') return null;
  return target === 'company' || target.startsWith('company.') ? 'company' : 'person';
}

/** The columns of a header that have a meaning, best first. */
export function columnsIn(header: readonly string[], meaningOf: MeaningOf): readonly Column[] {
  const columns = header.flatMap((name, at) => {
    const means = meaningOf(name);
    return means === null
      ? []
      : [
          {
            at,
            name,
            ...means,
            bought: BOUGHT_OR_COMPANY.test(name) ? boughtOf(means.target) : null,
            isOwnEmail: means.target === 'email' && !BOUGHT.test(name),
          },
        ];
  });
  columns.sort((one, other) => one.rank - other.rank || one.at - other.at);
  // A bought value replaces the input's value, so a bought column is no rival to others.
  const own = new Set<Target>();
  return columns.map((column) => {
    const isSecondBest = column.bought === null && own.has(column.target);
    if (column.bought === null) own.add(column.target);
    return { ...column, isSecondBest, further: isSecondBest || column.further?.list === column.target ? column.further : null };
  });
}
