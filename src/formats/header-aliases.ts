/** Finds key columns: by the configured name, else by a published list of aliases. Pure. */
import { InputError } from '../util/errors.ts';
import { didYouMean, nearest } from '../util/nearest.ts';
import { MAX_NAMES_SHOWN } from './limits.ts';
import { ALIASES, KEY_COLUMNS, PERSON_ALIASES, PERSON_COLUMNS } from './alias-lists.ts';
import type { KeyColumn, KeyNames, PersonColumn } from './input-record.ts';

export { ALIASES, KEY_COLUMNS, PERSON_ALIASES, PERSON_COLUMNS };

/** The name without its case, accents, spaces, `_`, `-` and byte order mark. */
export function normaliseColumnName(name: string): string {
  return name
    .normalize('NFD')
    .replace(/[\s_\-\ufeff\p{M}]/gu, '')
    .toLowerCase();
}

const ALL_ALIASES = { ...ALIASES, ...PERSON_ALIASES };

const PLAIN_ALIASES: ReadonlySet<string> = new Set(KEY_COLUMNS.flatMap((key) => ALIASES[key].map(normaliseColumnName)));

/** Whether a column of this name is used for a key without configuration. */
export function isKeyName(name: string): boolean {
  return PLAIN_ALIASES.has(normaliseColumnName(name));
}

export type ConfiguredColumns = Readonly<Partial<Record<KeyColumn | PersonColumn, string>>>;

/**
 * Finds the column of each key. A configured name must exist, else `input_no_columns`; with `mayLack`, for formats without a header, it is
 * used unseen. An alias matches in any case and with any spaces, `_` and `-`. The first of several columns with the same alias is used.
 * @param wanted the columns of a person that the job uses
 */
export function findKeyColumns(
  columns: readonly string[],
  configured: ConfiguredColumns,
  mayLack = false,
  wanted: readonly PersonColumn[] = [],
): KeyNames {
  const byPlainName = new Map<string, string>();
  for (const column of columns) {
    const plain = normaliseColumnName(column);
    if (!byPlainName.has(plain)) byPlainName.set(plain, column);
  }
  const find = (key: KeyColumn | PersonColumn): string | null => {
    const name = configured[key];
    if (name === undefined) {
      const alias = ALL_ALIASES[key].find((candidate) => byPlainName.has(normaliseColumnName(candidate)));
      return alias === undefined ? null : (byPlainName.get(normaliseColumnName(alias)) ?? null);
    }
    if (columns.includes(name)) return name;
    // The reader removes what spreadsheets add to a name by accident, so the user need not write it.
    const near = byPlainName.get(normaliseColumnName(name));
    if (near !== undefined) return near;
    if (mayLack) return name;
    throw new InputError(
      'input_no_columns',
      `The input has no column ${JSON.stringify(name)} ` +
        `(input.columns.${key})${meantColumn(name, columns)} Found columns: ${listNames(columns)}.`,
      {
        hint: `Give one of these names with --input.columns.${key} NAME.`,
      },
    );
  };
  return {
    email: find('email'),
    domain: find('domain'),
    linkedin_url: find('linkedin_url'),
    ...Object.fromEntries(wanted.map((key) => [key, find(key)])),
  };
}

/** The key columns of `names`; where one is null, that of `others`. */
export function keysOr(names: KeyNames, others: KeyNames): KeyNames {
  const keys = { ...others };
  for (const key of [...KEY_COLUMNS, ...PERSON_COLUMNS]) {
    // A column that is looked for and not found is null: the job uses it.
    const name = names[key] ?? others[key] ?? names[key];
    if (name !== undefined) keys[key] = name;
  }
  return keys;
}

/** The error for columns without a key. `where` names the file, or the input. For a table, the first row may not be a header. */
export function noKeyError(where: string, columns: readonly string[], isTable: boolean, wanted: readonly PersonColumn[] = []): InputError {
  const keys = [...KEY_COLUMNS, ...wanted];
  const any = `${keys.slice(0, -1).join(', ')} or ${keys.at(-1)}`;
  return new InputError('input_no_columns', `${where}: found columns: ${listNames(columns)}; none is an ${any}.`, {
    hint:
      `Map one with --input.columns.email NAME (or ${keys
        .slice(1)
        .map((key) => `.${key}`)
        .join(', ')}). The names that are known are in docs/columns.md.` +
      (wanted.length === 0 ? ' People are looked up by name or phone where enrich.by or reveal.by says so.' : '') +
      (isTable ? ' What stands above the header must be removed.' : ''),
  });
}

/** `; did you mean "Work Email"?` with the nearest name that may be shown, or a full stop. */
export function meantColumn(name: string, columns: readonly string[]): string {
  const near = holdsData(columns) ? null : nearest(name, columns);
  return near === null ? '.' : didYouMean(JSON.stringify(near));
}

function holdsData(names: readonly string[]): boolean {
  return names.some((name) => DATA.test(name));
}

/**
 * An e-mail address, a URL or a phone number is not a column name. It is the personal data of the first row in a table without a header, so
 * it is not shown.
 */
const DATA = /[^\s@]@[^\s@]+\.[^\s@]|^\s*https?:\/\/|^[\s+(]*\d(?:[\s()./-]*\d){6,}\s*$/;

/** Names for an error message, limited in number and length. */
export function listNames(names: readonly string[]): string {
  if (names.length === 0) return '(none)';
  if (holdsData(names)) return `${names.length}, not shown here, for they look like somebody's data: the header may be missing`;
  const shown = names.slice(0, MAX_NAMES_SHOWN).map((name) => JSON.stringify(name.length > 60 ? `${name.slice(0, 60)}...` : name));
  return shown.join(', ') + (names.length > shown.length ? ` and ${names.length - shown.length} more` : '');
}

/** The complete text of docs/columns.md. */
export function describeAliases(): string {
  const lines = [
    '# Columns that are found by themselves',
    '',
    'Millrace looks for its keys in the header (for JSONL: in the top-level keys of the first 200 objects of each file).',
    'Upper and lower case, accents, spaces, `_` and `-` do not count: `Work E-Mail`, `work_email` and `WORKEMAIL` are one name.',
    '',
    'Where a file has several of these columns, the one that stands **earlier in the list** is used. Any other column is named by hand:',
    '`--input.columns.email "Primary contact"`, or `input.columns` in the job file; a name given so wins over the list.',
    '',
  ];
  const list = (key: KeyColumn | PersonColumn): void => {
    lines.push(`## ${key}`, '', ...ALL_ALIASES[key].map((alias, index) => `${index + 1}. \`${alias}\``), '');
  };
  KEY_COLUMNS.forEach(list);
  lines.push(
    '# Columns of a person',
    '',
    'These are looked for only where `enrich.by` or `reveal.by` has `name` or `phone`. A name is one column, or two: the first name and',
    'the last name are joined where a record has no full name.',
    '',
  );
  PERSON_COLUMNS.forEach(list);
  return lines.join('\n');
}
