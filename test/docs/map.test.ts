/** Keeps the map, GLOSSARY.md, data-on-disk.md, CONTRIBUTING.md and the decisions true: paths, names, imports, tables and links. */
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it } from 'vitest';
import { ClaimsFile } from '../../src/ledger/claims/claims-file.ts';
import { prepareLedger } from '../../src/ledger/schema.ts';
import { WorkingFile } from '../../src/ledger/working-file.ts';
import { booksOf } from '../../src/service/store/owner/store-name.ts';
import { openStore } from '../../src/service/store/open-store.ts';
import { FEATURES, ROOMS } from '../support/rooms.ts';

const PAGES = ['docs/ARCHITECTURE.md', 'docs/GLOSSARY.md', 'docs/data-on-disk.md', 'docs/CONTRIBUTING.md'] as const;
const read = (page: (typeof PAGES)[number]): string => readFileSync(page, 'utf8');

/** The rows below each table header of a page that begins with these cells. Cells are trimmed. */
function rowsBelow(text: string, ...header: readonly string[]): string[][] {
  const cellsOf = (line: string): string[] =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
  const tables = text.split(/\n(?!\|)/).map((block) =>
    block
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .map(cellsOf),
  );
  return tables.filter(([first]) => header.every((name, at) => first?.[at] === name)).flatMap((rows) => rows.slice(2));
}

/** Names of other programs in the pages of decisions. */
const OF_OTHERS: ReadonlySet<string> = new Set(['EventTarget', 'ListObjects', 'UploadPartCopy', 'GetObject', 'PutObject']);

/** All code of src/ and clients/, without comments. */
const code = globSync('{src,clients}/**/*.ts')
  .map((file) => readFileSync(file, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, ''))
  .join('\n');

const quoted = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

describe.each(PAGES)('%s', (page) => {
  const text = read(page);

  it('names only files and folders that exist', () => {
    const named = [...text.matchAll(/(?<![\w./-])(?:src|test|docs|bench|fixtures|jobs|\.ci|\.github)\/[\w./-]*/g)].map(([path]) =>
      path.replace(/\.$/, ''),
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((path) => !existsSync(path))).toEqual([]);
  });

  it('links only to pages that exist', () => {
    const links = [...text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, target = '']) => join('docs', target));
    expect(links.filter((path) => !existsSync(path))).toEqual([]);
  });

  it('has at most 260 lines', () => {
    expect(text.split('\n').length).toBeLessThanOrEqual(260);
  });
});

describe.each(readdirSync('docs/decisions'))('docs/decisions/%s', (name) => {
  const text = readFileSync(join('docs/decisions', name), 'utf8');

  it('names only files that exist', () => {
    const isThere = (path: string): boolean => ['', 'src', 'src/service', 'docs'].some((root) => existsSync(join(root, path)));
    const named = quoted(text).filter((word) => /^(?:[\w.-]+\/)+[\w.-]+\.(?:ts|md|yaml)$/.test(word));
    expect(named.filter((path) => !isThere(path))).toEqual([]);
  });

  it('names only types and classes that the code has', () => {
    const named = quoted(text).filter((word) => /^(?:[A-Z][a-z]+){2,}$/.test(word) && !OF_OTHERS.has(word));
    expect(named.filter((word) => !new RegExp(`\\b${word}\\b`).test(code))).toEqual([]);
  });
});

describe('the folders in docs/ARCHITECTURE.md', () => {
  const text = read('docs/ARCHITECTURE.md');
  const folder = (row: readonly string[]): string => quoted(row[0] ?? '')[0] ?? '';
  const foldersOf = (parent: string): string[] =>
    readdirSync(parent, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `${parent}/${name}/`)
      .sort();
  const namedBelow = (header: string): string[] => rowsBelow(text, header, 'does').map(folder);

  it('include every folder of src/, each in one row', () => {
    expect(namedBelow('room').sort()).toEqual(foldersOf('src'));
  });

  it('include every folder of src/service/, each in one row', () => {
    expect(namedBelow('folder').sort()).toEqual(foldersOf('src/service'));
  });

  it('stand in the order in which they may import each other', () => {
    expect(namedBelow('room')).toEqual(ROOMS.filter((room) => room !== 'index.ts').map((room) => `src/${room}/`));
    expect(namedBelow('folder')).toEqual(FEATURES.map((feature) => `src/service/${feature}/`));
  });

  it('include the files directly in src/', () => {
    expect(readdirSync('src').filter((name) => name.endsWith('.ts') && !text.includes(`\`src/${name}\``))).toEqual([]);
  });
});

it('each name in the column "in the code" of docs/GLOSSARY.md is a name in the code of the file of its row', () => {
  const rows = rowsBelow(read('docs/GLOSSARY.md'), 'word', 'means', 'file', 'in the code');
  expect(rows.length).toBeGreaterThan(50);
  const missing = rows.flatMap(([, , file = '', names = '']) => {
    const [path = ''] = quoted(file);
    const code = readFileSync(path, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, '');
    return quoted(names)
      .filter((name) => !new RegExp(`(?<!\\w)${name.replaceAll(/[.*+?^$()|[\]{}\\]/g, '\\$&')}(?!\\w)`).test(code))
      .map((name) => `${name} in ${path}`);
  });
  expect(missing).toEqual([]);
});

describe('the tables in docs/data-on-disk.md', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-map-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const sections = read('docs/data-on-disk.md').split(/^(?=## )/m);
  const [ledger = '', store = ''] = ['## The ledger', "## The service's store"].map(
    (title) => sections.find((section) => section.startsWith(title)) ?? '',
  );
  const named = (section: string, header: string): string[] =>
    rowsBelow(section, header)
      .flatMap(([cell = '']) => quoted(cell))
      .sort();
  const tablesOf = (path: string): string[] => {
    const db = new DatabaseSync(path, { readOnly: true });
    const rows = db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name")
      .all();
    db.close();
    return rows.map(({ name }) => String(name));
  };

  it('equal those of a fresh ledger', () => {
    const path = join(folder, 'ledger');
    const db = new DatabaseSync(path);
    prepareLedger(db);
    db.close();
    expect(named(ledger, 'table')).toEqual(tablesOf(path));
  });

  it('equal those of a fresh claims file', () => {
    ClaimsFile.open(join(folder, 'claimed'))?.close();
    expect(named(ledger, 'table of the claims file')).toEqual(tablesOf(join(folder, 'claimed-claims')));
  });

  it('equal those that a fresh working file adds to the tables of a ledger', () => {
    const path = join(folder, 'working');
    WorkingFile.open({ path, job: 'job', run: 'run', maxAgeDays: 0, now: Date.now }, { mark: '', segments: new Map() }).ledger.close();
    expect(named(ledger, 'table of the working file')).toEqual(tablesOf(path).filter((name) => !named(ledger, 'table').includes(name)));
  });

  it('equal those of a fresh store', () => {
    const path = join(folder, 'store.sqlite');
    openStore(path).close();
    expect(named(store, 'table of the directory')).toEqual(tablesOf(path));
    expect(named(store, 'table of the books')).toEqual(tablesOf(booksOf(path)));
  });
});
