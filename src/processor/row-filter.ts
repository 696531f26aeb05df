/** Applies `input.where` to records. Pure. */
import { comparable, type Conditions } from '../definition/conditions.ts';
import { normaliseColumnName } from '../formats/header-aliases.ts';
import type { InputManifest, InputRecord, KeyColumn, PersonColumn } from '../formats/input-record.ts';
import { jsonlValues } from '../formats/jsonl/jsonl-records.ts';
import { isBlank } from '../verification/clean-keys.ts';

/** True when the job looks a record up; false when it skips it. */
export type RowFilter = (record: InputRecord) => boolean;

type ReadCell = (record: InputRecord) => string;

const KEY_CELLS = {
  email: ({ email }) => email,
  domain: ({ domain }) => domain,
  linkedin_url: ({ linkedinUrl }) => linkedinUrl,
  name: ({ person }) => person?.name ?? '',
  company: ({ person }) => person?.company ?? '',
  phone: ({ person }) => person?.phone ?? '',
} satisfies Partial<Record<KeyColumn | PersonColumn, ReadCell>>;

/**
 * A name means the column of this name, else the column that differs in case, spaces, `_` and `-` only, else the column of this key. A file
 * without such a column has empty cells in it.
 */
export function rowFilter(manifest: InputManifest, conditions: Conditions | null): RowFilter {
  if (conditions === null) return () => true;
  const wanted = Object.entries(conditions);
  const readers = new Map<number, readonly ReadCell[]>();
  return (record) => {
    let cells = readers.get(record.file);
    if (cells === undefined) {
      cells = wanted.map(([name]) => (manifest.format === 'jsonl' ? readMember(name) : readColumn(name, record.file, manifest)));
      readers.set(record.file, cells);
    }
    return wanted.every(([, { isNot, values }], index) => {
      const cell = cells[index]?.(record) ?? '';
      return values.includes(isBlank(cell) ? '' : comparable(cell)) !== isNot;
    });
  };
}

function readColumn(name: string, file: number, { files, columns }: InputManifest): ReadCell {
  const column = columnMeant(name, files[file]?.header ?? []);
  if (column === null) return keyCell(name) ?? (() => '');
  const at = columns.indexOf(column);
  return ({ values }) => values?.[at] ?? '';
}

/** Members of JSON objects are named to the letter. */
function readMember(name: string): ReadCell {
  const ofKey = keyCell(name);
  return (record) => {
    const json = record.json ?? '{}';
    const [text = ''] = jsonlValues(json, [name]);
    return text === '' && ofKey !== null && !Object.hasOwn(JSON.parse(json) as object, name) ? ofKey(record) : text;
  };
}

/** The first of the names in `conditions` that no file of a table has; null when each has a column or is a key with one. */
export function unknownColumn({ files, keyName }: InputManifest, conditions: Conditions | null): string | null {
  const isKnown = (name: string): boolean =>
    files.some(({ header, keys }) => columnMeant(name, header) !== null || (isKey(name) && (keys[name] ?? null) !== null)) ||
    (isKey(name) && (keyName[name] ?? null) !== null);
  return Object.keys(conditions ?? {}).find((name) => !isKnown(name)) ?? null;
}

function columnMeant(name: string, header: readonly string[]): string | null {
  if (header.includes(name)) return name;
  const plain = normaliseColumnName(name);
  return header.find((column) => normaliseColumnName(column) === plain) ?? null;
}

function isKey(name: string): name is keyof typeof KEY_CELLS {
  return Object.hasOwn(KEY_CELLS, name);
}

function keyCell(name: string): ReadCell | null {
  return isKey(name) ? KEY_CELLS[name] : null;
}
