import { readFile, readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { EXIT } from '../../src/util/errors.ts';

const root = new URL('../../', import.meta.url);

/** Codes in the source: in the errors' constructors, and in the two helpers that make errors. */
const CODES = [
  /\b(?:Usage|Config|Input|Storage)Error\(\s*'([a-z0-9_]+)'/g,
  /\bMillraceError\(\s*EXIT\.\w+,\s*'([a-z0-9_]+)'/g,
  /\brefusal\(\s*[^,'\n]+,\s*'([a-z0-9_]+)'/g,
  /\bmissing\('([a-z0-9_]+)'/g,
];

async function codesOfSource(): Promise<Map<string, string>> {
  const codes = new Map<string, string>();
  for (const file of await readdir(new URL('src/', root), { recursive: true })) {
    if (!file.endsWith('.ts')) continue;
    const text = await readFile(new URL(`src/${file}`, root), 'utf8');
    for (const pattern of CODES) for (const [, code = ''] of text.matchAll(pattern)) codes.set(code, file);
  }
  return codes;
}

test('every error code of the source is in docs/exit-codes.md', async () => {
  const page = await readFile(new URL('docs/exit-codes.md', root), 'utf8');
  const codes = await codesOfSource();
  expect(codes.size).toBeGreaterThan(30);
  const missing = [...codes].filter(([code]) => !page.includes(`\`${code}\``)).map(([code, file]) => `${code} (${file})`);
  expect(missing).toEqual([]);
});

test('every error code of docs/exit-codes.md is in the source', async () => {
  const page = await readFile(new URL('docs/exit-codes.md', root), 'utf8');
  const rows = page.slice(page.indexOf('# Error codes')).matchAll(/^\| (`[^|]+) \|/gm);
  const documented = [...rows].flatMap(([, cell = '']) => [...cell.matchAll(/`([a-z0-9_]+)`/g)].map(([, code = '']) => code));
  expect(documented.length).toBeGreaterThan(30);
  const files = (await readdir(new URL('src/', root), { recursive: true })).filter((file) => file.endsWith('.ts'));
  const source = (await Promise.all(files.map((file) => readFile(new URL(`src/${file}`, root), 'utf8')))).join('\n');
  expect(documented.filter((code) => !source.includes(`'${code}'`))).toEqual([]);
});

test('every exit code is in docs/exit-codes.md', async () => {
  const page = await readFile(new URL('docs/exit-codes.md', root), 'utf8');
  const rows = [...page.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
  expect(rows).toEqual(Object.values(EXIT).toSorted((a, b) => a - b));
});
