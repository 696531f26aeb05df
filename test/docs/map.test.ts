/** Keeps docs/ARCHITECTURE.md, GLOSSARY.md, data-on-disk.md and CONTRIBUTING.md true: paths, folders, imports, tables and links. */
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it } from 'vitest';
import { ClaimsFile } from '../../src/ledger/claims/claims-file.ts';
import { prepareLedger } from '../../src/ledger/schema.ts';
import { WorkingFile } from '../../src/ledger/working-file.ts';
import { openStore } from '../../src/service/store/open-store.ts';

const PAGES = ['docs/ARCHITECTURE.md', 'docs/GLOSSARY.md', 'docs/data-on-disk.md', 'docs/CONTRIBUTING.md'] as const;
const read = (page: (typeof PAGES)[number]): string => readFileSync(page, 'utf8');

/** The rows of all tables of a page whose header row begins with these cells, as trimmed cells. */
function rowsBelow(text: string, ...header: readonly string[]): string[][] {
  const cellsOf = (line: string): string[] => line.split('|').slice(1, -1).map((cell) => cell.trim());
  const tables = text.split(/\n(?!\|)/).map((block) => block.split('\n').filter((line) => line.startsWith('|')).map(cellsOf));
  return tables.filter(([first]) => header.every((name, at) => first?.[at] === name)).flatMap((rows) => rows.slice(2));
}

/** What a file imports of this repository, as paths below src/. */
function importsOf(file: string): string[] {
  const found = readFileSync(file, 'utf8').matchAll(/ from '(\.[^']+)'|import\('(\.[^']+)'\)/g);
  return [...found].map(([, statically, lazily]) => relative('src', join(dirname(file), statically ?? lazily ?? '')));
}

const quoted = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

describe.each(PAGES)('%s', (page) => {
  const text = read(page);

  it('names only files and folders that exist', () => {
    const named = [...text.matchAll(/(?<![\w./-])(?:src|test|docs|bench|fixtures|jobs|\.ci|\.github)\/[\w./-]*/g)].map(([path]) => path.replace(/\.$/, ''));
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((path) => !existsSync(path))).toEqual([]);
  });

  it('links only to pages that exist', () => {
    const links = [...text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, target = '']) => join('docs', target));
    expect(links.filter((path) => !existsSync(path))).toEqual([]);
  });

  it('has at most 220 lines', () => {
    expect(text.split('\n').length).toBeLessThanOrEqual(220);
  });
});

describe('the folders in docs/ARCHITECTURE.md', () => {
  const text = read('docs/ARCHITECTURE.md');
  const folder = (row: readonly string[]): string => quoted(row[0] ?? '')[0] ?? '';
  const foldersOf = (parent: string): string[] =>
    readdirSync(parent, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) => `${parent}/${name}/`).sort();
  const rooms = rowsBelow(text, 'folder', 'does', 'imports');

  it('are all folders of src/, each in one row', () => {
    expect(rooms.map(folder).sort()).toEqual(foldersOf('src'));
  });

  it('are all folders of src/service/, each in one row', () => {
    const named = rowsBelow(text, 'folder', 'does').map(folder).filter((path) => /^src\/service\/./.test(path));
    expect(named.sort()).toEqual(foldersOf('src/service'));
  });

  it.each(rooms.map((row) => [folder(row), quoted(row[2] ?? '')] as const))('%s imports the folders that its row names, and no others', (room, named) => {
    const targets = globSync(`${room}**/*.ts`).flatMap((file) => importsOf(file));
    const imported = new Set(targets.filter((path) => path.includes('/')).map((path) => path.split('/')[0] ?? ''));
    imported.delete(basename(room));
    expect([...imported].sort()).toEqual([...named].sort());
  });

  it('and files directly in src/ are named', () => {
    expect(readdirSync('src').filter((name) => name.endsWith('.ts') && !text.includes(`\`src/${name}\``))).toEqual([]);
  });
});

it('each name in the column "in the code" of docs/GLOSSARY.md stands in the file of its row', () => {
  const rows = rowsBelow(read('docs/GLOSSARY.md'), 'word', 'means', 'file', 'in the code');
  expect(rows.length).toBeGreaterThan(50);
  const missing = rows.flatMap(([, , file = '', names = '']) => {
    const [path = ''] = quoted(file);
    const code = readFileSync(path, 'utf8');
    return quoted(names).filter((name) => !code.includes(name)).map((name) => `${name} in ${path}`);
  });
  expect(missing).toEqual([]);
});

describe('the tables in docs/data-on-disk.md', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-map-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const sections = read('docs/data-on-disk.md').split(/^(?=## )/m);
  const [ledger = '', store = ''] = ['## The ledger', "## The service's store"].map((title) => sections.find((section) => section.startsWith(title)) ?? '');
  const named = (section: string, header: string): string[] => rowsBelow(section, header).flatMap(([cell = '']) => quoted(cell)).sort();
  const tablesOf = (path: string): string[] => {
    const db = new DatabaseSync(path, { readOnly: true });
    const rows = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name").all();
    db.close();
    return rows.map(({ name }) => String(name));
  };

  it('are those of a fresh ledger', () => {
    const path = join(folder, 'ledger');
    const db = new DatabaseSync(path);
    prepareLedger(db);
    db.close();
    expect(named(ledger, 'table')).toEqual(tablesOf(path));
  });

  it('are those of a fresh claims file', () => {
    ClaimsFile.open(join(folder, 'claimed'))?.close();
    expect(named(ledger, 'table of the claims file')).toEqual(tablesOf(join(folder, 'claimed-claims')));
  });

  it('are those that a fresh working file has beside the tables of a ledger', () => {
    const path = join(folder, 'working');
    WorkingFile.open({ path, job: 'job', run: 'run', maxAgeDays: 0, now: Date.now }, { mark: '', segments: new Map() }).ledger.close();
    expect(named(ledger, 'table of the working file')).toEqual(tablesOf(path).filter((name) => !named(ledger, 'table').includes(name)));
  });

  it('are those of a fresh store', () => {
    const path = join(folder, 'store.sqlite');
    openStore(path).close();
    expect(named(store, 'table')).toEqual(tablesOf(path));
  });
});
