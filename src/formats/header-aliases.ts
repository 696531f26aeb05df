/** Finds key columns: by the configured name, else by a published list of aliases. Pure. */
import { InputError } from '../util/errors.ts';
import { didYouMean, nearest } from '../util/nearest.ts';
import { MAX_NAMES_SHOWN } from './limits.ts';
import { ALIASES, KEY_COLUMNS, PERSON_ALIASES, PERSON_COLUMNS } from './alias-lists.ts';
import { bareColumnName, isPersonalName, readName, wordsOfName } from './column-names.ts';
import type { KeyColumn, KeyNames, PersonColumn } from './input-record.ts';

export { ALIASES, KEY_COLUMNS, PERSON_ALIASES, PERSON_COLUMNS };

/** The name without its case, accents, spaces, `_`, `-` and byte order mark. */
export function normaliseColumnName(name: string): string {
  return name
    .normalize('NFD')
    .replace(/[\s_\-\ufeff\p{M}]/gu, '')
    .toLowerCase();
}

/** The other columns whose names differ from this one in case only, such as `email` beside `Email`. */
export function twinsOf(name: string, columns: readonly string[]): readonly string[] {
  const lower = name.toLowerCase();
  return columns.filter((other) => other !== name && other.toLowerCase() === lower);
}

const ALL_ALIASES = { ...ALIASES, ...PERSON_ALIASES };
type Column = KeyColumn | PersonColumn;

/** The ranks of the aliases of each key, by the plain name and by the name without the prefixes of exports. */
const RANKS = Object.fromEntries(
  Object.entries(ALL_ALIASES).map(([key, aliases]) => [
    key,
    { plain: ranked(aliases.map(normaliseColumnName)), bare: ranked(aliases.map((alias) => wordsOfName(alias).join(''))) },
  ]),
) as Readonly<Record<Column, { readonly plain: ReadonlyMap<string, number>; readonly bare: ReadonlyMap<string, number> }>>;

function ranked(names: readonly string[]): ReadonlyMap<string, number> {
  return new Map(names.map((name, rank) => [name, rank] as const).toReversed());
}

/** Ranks behind those of the list of aliases: names that mean the key, and names of private addresses. */
const BEHIND = { read: 1_000, personal: 2_000 } as const;
const KEY_OF_WORD = { email: 'email', domain: 'domain', linkedin: 'linkedin_url', phone: 'phone' } as const;

/** A column whose name means a key. */
export interface NamedColumn {
  readonly name: string;
  /** Lower is better. */
  readonly rank: number;
  /** Whether the name is on the list of aliases, and not only read by its words. */
  readonly isListed: boolean;
}

/** The columns whose names mean this key, best first. */
export function columnsNamed(key: Column, columns: readonly string[]): readonly NamedColumn[] {
  return columns.flatMap((name) => nameFor(key, name) ?? []).toSorted((one, other) => one.rank - other.rank);
}

function nameFor(key: Column, name: string): NamedColumn | null {
  const { plain, bare } = RANKS[key];
  const listed = plain.get(normaliseColumnName(name));
  const personal = key !== 'linkedin_url' && isPersonalName(name) ? BEHIND.personal : 0;
  if (listed !== undefined) return { name, rank: listed + personal, isListed: true };
  const reading = readName(name);
  const known = bare.get(bareColumnName(name));
  // A name with a word of another meaning, such as `Email owner`, is not read even if a part of it is an alias.
  const isKey = reading !== null && KEY_OF_WORD[reading.key] === key;
  if (known !== undefined && (isKey || (reading === null && !READ_KEYS.includes(key))))
    return { name, rank: known + 0.5 + personal, isListed: false };
  return isKey ? { name, rank: BEHIND.read + reading.behind + personal, isListed: false } : null;
}

const READ_KEYS: readonly Column[] = Object.values(KEY_OF_WORD);

/** Whether a column of this name is used for a key without configuration. @param isListed only by the list of aliases */
export function isKeyName(name: string, isListed = false): boolean {
  return KEY_COLUMNS.some((key) => (isListed ? RANKS[key].plain.has(normaliseColumnName(name)) : nameFor(key, name) !== null));
}

export type ConfiguredColumns = Readonly<Partial<Record<KeyColumn | PersonColumn, string>>>;

/**
 * Finds the column of each key. A configured name must exist, else `input_no_columns`; with `mayLack`, for formats without a header, it is
 * used unseen. A column is found by the list of aliases, else by the words of its name. The first of several equal ones is used.
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
    if (name === undefined) return columnsNamed(key, columns)[0]?.name ?? null;
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
  // A country alone finds nobody.
  const keys = [...KEY_COLUMNS, ...wanted.filter((key) => key !== 'country')];
  const any = `${keys.slice(0, -1).join(', ')} or ${keys.at(-1)}`;
  return new InputError('input_no_columns', `${where}: found columns: ${listNames(columns)}; none is an ${any}.`, {
    hint:
      `Map one with --input.columns.email NAME (or ${keys
        .slice(1)
        .map((key) => `.${key}`)
        .join(', ')}). The names that are known are in docs/columns.md.` +
      (wanted.length === 0 ? ' People are looked up by name or phone where enrich.by or reveal.by says so.' : '') +
      (isTable ? ' Lines above the header: --input.skipLines N. A table without a header: --no-input.header.' : ''),
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
    'A name that is not on the list is read by its words, in about thirty languages. Punctuation, numbers and prefixes of exports do not',
    'count: `Lead: Email`, `properties.email`, `E-Mail (geschäftlich)`, `Adres e-mail (służbowy)`, `EMAIL_ADDRESS__c`. Each word must name',
    'the key, or say nothing about it: `Email status` and `Email owner` are no addresses. Such a column is used where at least a tenth of',
    'its cells have the form of the key. The words are in `src/formats/column-words.ts`.',
    '',
    '**Where no name fits, values decide.** A column most of whose first 1,000 cells are addresses is the address. Domains and profiles',
    'are found in this way too, and phone numbers with their country. Columns of owners, senders, logos and links into a CRM are not.',
    '',
    'Where a file has several of these columns, the one that stands **earlier in the list** is used. Another one takes its place where it',
    'has over a tenth more different keys in the first 1,000 records. A private address comes last. Files with the same columns are read',
    'alike. `millrace plan`, `run` and `init` show which columns are used, and name each column that looks like addresses and is not.',
    '',
    'Any other column is named by hand: `--input.columns.email "Primary contact"`, or `input.columns` in the job file. Such a name wins.',
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
    'the last name are joined where a record has no full name. A national phone number is read with the country of its row, else with',
    '`input.country`.',
    '',
  );
  PERSON_COLUMNS.forEach(list);
  return lines.join('\n');
}
