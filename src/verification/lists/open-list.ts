/** The address lists of the package, each read on first use. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { StorageError } from '../../util/errors.ts';
import { SortedLines } from './sorted-lines.ts';

/** The same relative path from `src` and from `dist`. `sources.json` in it names the source of each list. */
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
    throw new StorageError('lists_missing', `cannot read the list ${name}.txt in ${fileURLToPath(FOLDER)}`, {
      hint: 'reinstall the package',
      cause: error,
    });
  }
}
