/** Damages the file of a store like a failing disk, page by page. */
import { closeSync, fstatSync, openSync, readSync, truncateSync, writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** The page size by the header of the file. */
function pageBytesOf(file: number): number {
  const header = Buffer.alloc(18);
  readSync(file, header, 0, 18, 0);
  return header.readUInt16BE(16);
}

/** Pages of a table or an index in the order of its B-tree, the root first. */
export function pagesOf(path: string, name: string): { readonly root: number; readonly leaves: readonly number[] } {
  const store = new DatabaseSync(path);
  const root = Number(store.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(name)?.['rootpage']);
  store.close();
  const leaves: number[] = [];
  const file = openSync(path, 'r');
  const pageBytes = pageBytesOf(file);
  const visit = (number: number): void => {
    const page = Buffer.alloc(pageBytes);
    readSync(file, page, 0, pageBytes, (number - 1) * pageBytes);
    // 2 and 5 are inner pages, with the numbers of their child pages.
    if (page[0] !== 2 && page[0] !== 5) {
      leaves.push(number);
      return;
    }
    for (let cell = 0; cell < page.readUInt16BE(3); cell++) visit(page.readUInt32BE(page.readUInt16BE(12 + 2 * cell)));
    visit(page.readUInt32BE(8));
  };
  visit(root);
  closeSync(file);
  return { root, leaves };
}

/** Changes a page in place. */
export function damagePage(path: string, number: number, damage: (page: Buffer) => void): void {
  const file = openSync(path, 'r+');
  const pageBytes = pageBytesOf(file);
  const page = Buffer.alloc(pageBytes);
  readSync(file, page, 0, pageBytes, (number - 1) * pageBytes);
  damage(page);
  writeSync(file, page, 0, pageBytes, (number - 1) * pageBytes);
  closeSync(file);
}

export function zeroPage(path: string, number: number): void {
  damagePage(path, number, (page) => page.fill(0));
}

/** Flips all bits of some bytes. */
export function flip(path: string, number: number, from: number, to: number): void {
  damagePage(path, number, (page) => {
    for (let at = from; at < to; at++) page[at] = (page[at] ?? 0) ^ 0x55;
  });
}

/** Truncates the file by a share of its length. */
export function cutShort(path: string, share: number): void {
  const file = openSync(path, 'r');
  const { size } = fstatSync(file);
  closeSync(file);
  truncateSync(path, Math.floor(size * (1 - share)));
}
