/** Finds key columns: by the configured name, else by a published list of aliases. Pure. */
import { InputError } from '../util/errors.ts';
import { didYouMean, nearest } from '../util/nearest.ts';
import { MAX_NAMES_SHOWN } from './limits.ts';
import type { KeyColumn } from './input-record.ts';

export const KEY_COLUMNS: readonly KeyColumn[] = ['email', 'domain', 'linkedin_url'];

/**
 * The column names for each key in exports, best first: when a file has several, the earliest in this list is used. A business address
 * comes before an unspecified one, and a personal one last, because the enriched person is a person at work. A test keeps docs/columns.md
 * equal to this list.
 */
export const ALIASES: Readonly<Record<KeyColumn, readonly string[]>> = {
  email: [
    'email',
    'email address',
    'work email',
    'work email address',
    'business email',
    'business email address',
    'corporate email',
    'company email',
    'professional email',
    'office email',
    'primary email',
    'contact email',
    'contact email address',
    'person email',
    'lead email',
    'user email',
    'customer email',
    'email work',
    'email 1',
    'email1',
    'emails',
    'mail',
    'mail address',
    'e mail 1 value',
    'email id',
    'e mail adresse',
    'mailadresse',
    'e mail geschäftlich',
    'geschäftliche e mail',
    'e mail dienstlich',
    'adresse e mail',
    'adresse email',
    'adresse électronique',
    'courriel',
    'adresse courriel',
    'e mail professionnel',
    'email professionnel',
    'correo electrónico',
    'correo',
    'dirección de correo',
    'dirección de correo electrónico',
    'correo de trabajo',
    'correo corporativo',
    'personal email',
    'home email',
    'e mail privat',
    'private e mail',
    'e mail personnel',
    'correo personal',
  ],
  domain: [
    'domain',
    'company domain',
    'company domain name',
    'domain name',
    'website domain',
    'email domain',
    'account domain',
    'organization domain',
    'web domain',
    'website',
    'company website',
    'company website url',
    'website url',
    'company url',
    'account website',
    'organization website',
    'web site',
    'web page',
    'homepage',
    'home page',
    'company homepage',
    'site',
    'web',
    'url',
    'domäne',
    'firmendomain',
    'webseite',
    'internetseite',
    'internetadresse',
    'firmenwebseite',
    'firmenwebsite',
    'unternehmenswebsite',
    'domaine',
    'nom de domaine',
    'site web',
    'site internet',
    "site de l'entreprise",
    'dominio',
    'dominio de la empresa',
    'sitio web',
    'página web',
    'web de la empresa',
  ],
  linkedin_url: [
    'linkedin url',
    'linkedin',
    'linkedin profile',
    'linkedin profile url',
    'linkedin link',
    'person linkedin url',
    'person linkedin',
    'contact linkedin url',
    'contact linkedin',
    'personal linkedin url',
    'linkedin public url',
    'linkedin public profile url',
    'linkedin page',
    'li url',
    'li profile url',
    'profile url',
    'linkedin profil',
    'profil linkedin',
    'url linkedin',
    'perfil de linkedin',
    'perfil linkedin',
  ],
};

/** The name without its case, accents, spaces, `_`, `-` and byte order mark. */
export function normaliseColumnName(name: string): string {
  return name
    .normalize('NFD')
    .replace(/[\s_\-\ufeff\p{M}]/gu, '')
    .toLowerCase();
}

const PLAIN_ALIASES: ReadonlySet<string> = new Set(KEY_COLUMNS.flatMap((key) => ALIASES[key].map(normaliseColumnName)));

/** Whether a column of this name is used for a key without configuration. */
export function isKeyName(name: string): boolean {
  return PLAIN_ALIASES.has(normaliseColumnName(name));
}

export type KeyNames = Readonly<Record<KeyColumn, string | null>>;

interface ConfiguredColumns {
  readonly email?: string;
  readonly domain?: string;
  readonly linkedin_url?: string;
}

/**
 * Finds the column of each key. A configured name must exist, else `input_no_columns`; with `mayLack`, for formats without a header, it is
 * used unseen. An alias matches in any case and with any spaces, `_` and `-`. The first of several columns with the same alias is used.
 */
export function findKeyColumns(columns: readonly string[], configured: ConfiguredColumns, mayLack = false): KeyNames {
  const byPlainName = new Map<string, string>();
  for (const column of columns) {
    const plain = normaliseColumnName(column);
    if (!byPlainName.has(plain)) byPlainName.set(plain, column);
  }
  const find = (key: KeyColumn): string | null => {
    const name = configured[key];
    if (name === undefined) {
      const alias = ALIASES[key].find((candidate) => byPlainName.has(normaliseColumnName(candidate)));
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
  return { email: find('email'), domain: find('domain'), linkedin_url: find('linkedin_url') };
}

/** The error for columns without a key. `where` names the file, or the input. For a table, the first row may not be a header. */
export function noKeyError(where: string, columns: readonly string[], isTable: boolean): InputError {
  return new InputError('input_no_columns', `${where}: found columns: ${listNames(columns)}; none is an email, domain or linkedin_url.`, {
    hint:
      'Map one with --input.columns.email NAME (or .domain, .linkedin_url). The names that are known are in docs/columns.md.' +
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
  for (const key of KEY_COLUMNS) {
    lines.push(`## ${key}`, '', ...ALIASES[key].map((alias, index) => `${index + 1}. \`${alias}\``), '');
  }
  return lines.join('\n');
}
