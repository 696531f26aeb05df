/** The lists of the package, read when they are first asked for. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { StorageError } from '../../errors.ts';
import { SortedLines } from './sorted-lines.ts';

/** As far from `src/verification/lists` as from `dist/verification/lists`. `sources.json` there says where each list comes from. */
const FOLDER = new URL('../../../fixtures/lists/', import.meta.url);

export type ListName = 'disposable' | 'disposable-wide' | 'free' | 'relay' | 'role';

const opened = new Map<ListName, SortedLines>();

/** @throws StorageError when the package has lost its lists. */
export function openList(name: ListName): SortedLines {
  const known = opened.get(name);
  if (known !== undefined) return known;
  try {
    const list = new SortedLines(readFileSync(new URL(`${name}.txt`, FOLDER), 'latin1'));
    opened.set(name, list);
    return list;
  } catch (error) {
    throw new StorageError('lists_missing', `cannot read the list ${name}.txt in ${fileURLToPath(FOLDER)}`, { hint: 'reinstall the package', cause: error });
  }
}
