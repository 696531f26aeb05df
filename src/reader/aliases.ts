/** How key columns are found: by the configured name, else by a published list of aliases. Pure. */
import { InputError } from '../errors.ts';
import { didYouMean, nearest } from '../job/definition/nearest.ts';
import { MAX_NAMES_SHOWN } from './limits.ts';
import type { KeyColumn } from './types.ts';

export const KEY_COLUMNS: readonly KeyColumn[] = ['email', 'domain', 'linkedin_url'];

/**
 * The names under which exports keep each key, best first: when a file has several, the one earlier in this list is used.
 * A business address stands before an unspecified other one, and a personal one last, for what is enriched is a person at work.
 * Published in docs/columns.md, which a test keeps equal to this list.
 */
export const ALIASES: Readonly<Record<KeyColumn, readonly string[]>> = {
  email: [
    'email', 'email address', 'work email', 'work email address', 'business email', 'business email address', 'corporate email', 'company email',
    'professional email', 'office email', 'primary email', 'contact email', 'contact email address', 'person email', 'lead email', 'user email',
    'customer email', 'email work', 'email 1', 'email1', 'emails', 'mail', 'mail address', 'e mail 1 value', 'email id', 'personal email', 'home email',
  ],
  domain: [
    'domain', 'company domain', 'company domain name', 'domain name', 'website domain', 'email domain', 'account domain', 'organization domain', 'web domain',
    'website', 'company website', 'company website url', 'website url', 'company url', 'account website', 'organization website', 'web site', 'web page',
    'homepage', 'home page', 'company homepage', 'site', 'web', 'url',
  ],
  linkedin_url: [
    'linkedin url', 'linkedin', 'linkedin profile', 'linkedin profile url', 'linkedin link', 'person linkedin url', 'person linkedin', 'contact linkedin url',
    'contact linkedin', 'personal linkedin url', 'linkedin public url', 'linkedin public profile url', 'linkedin page', 'li url', 'li profile url', 'profile url',
  ],
};

/** What is left of a name when case, spaces, `_`, `-` and a byte order mark do not count. */
export function plainName(name: string): string {
  return name.replace(/[\s_\-\ufeff]/g, '').toLowerCase();
}

const PLAIN_ALIASES: ReadonlySet<string> = new Set(KEY_COLUMNS.flatMap((key) => ALIASES[key].map(plainName)));

/** Whether a column of this name is taken for a key without being told. */
export function isKeyName(name: string): boolean {
  return PLAIN_ALIASES.has(plainName(name));
}

export type KeyNames = Readonly<Record<KeyColumn, string | null>>;

export interface ConfiguredColumns {
  readonly email?: string;
  readonly domain?: string;
  readonly linkedin_url?: string;
}

/**
 * Which of `columns` holds which key. A configured name wins and must be there, else `input_no_columns` (with `mayLack`, for formats
 * without a header, it stands although it was not seen). An alias matches whatever the case, spaces, `_` and `-`; of several columns with the same alias the first is taken.
 */
export function findKeyColumns(columns: readonly string[], configured: ConfiguredColumns, mayLack = false): KeyNames {
  const byPlainName = new Map<string, string>();
  for (const column of columns) {
    const plain = plainName(column);
    if (!byPlainName.has(plain)) byPlainName.set(plain, column);
  }
  const find = (key: KeyColumn): string | null => {
    const name = configured[key];
    if (name === undefined) {
      const alias = ALIASES[key].find((candidate) => byPlainName.has(plainName(candidate)));
      return alias === undefined ? null : (byPlainName.get(plainName(alias)) ?? null);
    }
    if (columns.includes(name)) return name;
    // The reader drops what spreadsheets add to a name by accident, so the user need not guess it.
    const near = byPlainName.get(plainName(name));
    if (near !== undefined) return near;
    if (mayLack) return name;
    throw new InputError('input_no_columns', `The input has no column ${JSON.stringify(name)} (input.columns.${key})${meantColumn(name, columns)} Found columns: ${listNames(columns)}.`, {
      hint: `Give one of these names with --input.columns.${key} NAME.`,
    });
  };
  return { email: find('email'), domain: find('domain'), linkedin_url: find('linkedin_url') };
}

/** The error for columns among which no key is. `where` names the file, or the input; of a table the header may have been taken for something else. */
export function noKeyError(where: string, columns: readonly string[], isTable: boolean): InputError {
  return new InputError('input_no_columns', `${where}: found columns: ${listNames(columns)}; none is an email, domain or linkedin_url.`, {
    hint: `Map one with --input.columns.email NAME (or .domain, .linkedin_url). The names that are known are in docs/columns.md.${isTable ? ' What stands above the header must be removed.' : ''}`,
  });
}

/** `; did you mean "Work Email"?` or a full stop: the nearest of the names that may be shown. */
export function meantColumn(name: string, columns: readonly string[]): string {
  const near = holdsData(columns) ? null : nearest(name, columns);
  return near === null ? '.' : didYouMean(JSON.stringify(near));
}

function holdsData(names: readonly string[]): boolean {
  return names.some((name) => DATA.test(name));
}

/** An e-mail address, a URL or a phone number: no column is called that. The first row of a table without a header has it, and is somebody's. */
const DATA = /[^\s@]@[^\s@]+\.[^\s@]|^\s*https?:\/\/|^[\s+(]*\d(?:[\s()./-]*\d){6,}\s*$/;

/** Names for an error message, capped in number and in length. */
export function listNames(names: readonly string[]): string {
  if (names.length === 0) return '(none)';
  if (holdsData(names)) return `${names.length}, not shown here, for they look like somebody's data: the header may be missing`;
  const shown = names.slice(0, MAX_NAMES_SHOWN).map((name) => JSON.stringify(name.length > 60 ? `${name.slice(0, 60)}...` : name));
  return shown.join(', ') + (names.length > shown.length ? ` and ${names.length - shown.length} more` : '');
}

/** docs/columns.md, whole. */
export function describeAliases(): string {
  const lines = [
    '# Columns that are found by themselves',
    '',
    'Millrace looks for its keys in the header (for JSONL: in the top-level keys of the first 200 objects of each file).',
    'Upper and lower case, spaces, `_` and `-` do not count: `Work E-Mail`, `work_email` and `WORKEMAIL` are one name.',
    '',
    'Where a file has several of these columns, the one that stands **earlier in the list** is used. Any other column is named by hand:',
    '`--input.columns.email "Primary contact"`, or `input.columns` in the job file; a name given so wins over the list.',
    '',
  ];
  for (const key of KEY_COLUMNS) {
    lines.push(`## ${key}`, '', ...ALIASES[key].map((alias, index) => `${index + 1}. \`${alias}\``), '');
  }
  return lines.join('\n');
}
