/** Reads a cell of a record by the name that a condition has for it. Pure. */
import { normaliseColumnName } from '../formats/header-aliases.ts';
import type { InputManifest, InputRecord, KeyColumn, PersonColumn } from '../formats/input-record.ts';
import { jsonlValues } from '../formats/jsonl/jsonl-records.ts';

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
export function cellReader(manifest: InputManifest, name: string): ReadCell {
  const byFile = new Map<number, ReadCell>();
  return (record) => {
    let read = byFile.get(record.file);
    if (read === undefined) {
      read = manifest.format === 'jsonl' ? readMember(name) : readColumn(name, record.file, manifest);
      byFile.set(record.file, read);
    }
    return read(record);
  };
}

/** The first of the names that no file of a table has; null when each has a column or is a key with one. */
export function unknownColumn({ files, keyName }: InputManifest, names: readonly string[]): string | null {
  const isKnown = (name: string): boolean =>
    files.some(({ header, keys }) => columnMeant(name, header) !== null || (isKey(name) && (keys[name] ?? null) !== null)) ||
    (isKey(name) && (keyName[name] ?? null) !== null);
  return names.find((name) => !isKnown(name)) ?? null;
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
