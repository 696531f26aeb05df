import { existsSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Folder } from '../support/cli.ts';

/** Cells with a delimiter, a tab, quotes and a line break in them. */
const PEOPLE = ['Ada, "the first"', 'Bob\tTab', 'Cleo;Semicolon', 'Dan\nLine'].map((name, n) => ({ email: `p${n}@acme.example`, name, title: name, skills: ['Go', 'dbt'] }));

let folder: Folder;
beforeAll(async () => {
  folder = await Folder.make();
  await writeFile(folder.at('people.jsonl'), PEOPLE.map((one) => `${JSON.stringify(one)}\n`).join(''));
  await folder.run(['import', '--store', 's.sqlite', '--contacts', 'people.jsonl', '--as-of', '2026-01-01']);
});
afterAll(() => folder.remove());

const exportTo = (path: string, store = 's.sqlite'): ReturnType<Folder['run']> => folder.run(['export', '--store', store, '--contacts', path]);

async function peopleIn(store: string): Promise<unknown[]> {
  return (await exportTo('-', store)).stdout.trimEnd().split('\n').map((line) => JSON.parse(line) as unknown);
}

async function plainText(path: string): Promise<string> {
  const bytes = await readFile(folder.at(path));
  return (path.endsWith('.gz') ? gunzipSync(bytes) : path.endsWith('.zst') ? zstdDecompressSync(bytes) : bytes).toString();
}

describe('an export', () => {
  it.each([...['csv', 'tsv', 'jsonl'].flatMap((format) => ['', '.gz', '.zst'].map((ending) => `${format}${ending}`)), 'ndjson'])('writes .%s, which imported elsewhere gives the same people', async (ending) => {
    const path = `out.${ending}`;
    expect(await exportTo(path)).toMatchObject({ code: 0, stdout: '{"contacts":4}\n' });
    expect((await stat(folder.at(path))).mode & 0o777).toBe(0o600);
    expect((await plainText(path)).startsWith(ending.startsWith('csv') ? 'id,email,name,' : ending.startsWith('tsv') ? 'id\temail\tname\t' : '{"')).toBe(true);
    const store = `${ending}.sqlite`;
    expect(JSON.parse((await folder.run(['import', '--store', store, '--contacts', path])).stdout)).toMatchObject({ contacts: { read: 4, added: 4, rejected: {}, dropped: {} } });
    expect(await peopleIn(store)).toEqual(await peopleIn('s.sqlite'));
  });

  it('makes the folders that are missing, and takes the place of an earlier one', async () => {
    for (const round of [1, 2]) expect({ round, ...(await exportTo('new/folder/out.csv')) }).toMatchObject({ code: 0 });
    expect((await folder.files()).filter((name) => name.startsWith('new/'))).toEqual(['new/folder/out.csv']);
  });

  it.each([
    ['out.xlsx', 64, 'the format of "out.xlsx" is not clear from its name'],
    ['out.constructor', 64, 'is not clear from its name'],
    ['s3://bucket/out.csv', 64, 'must be a file of this machine'],
    ['folder.csv', 65, 'folder.csv exists, and is no file that could be replaced'],
    ['people.jsonl/out.csv', 74, 'cannot write people.jsonl/out.csv'],
    ['/proc/no-such-process/out.csv', 74, 'cannot write /proc/no-such-process/out.csv'],
  ])('into %s: refused with %i, and nothing is made', async (path, code, words) => {
    await mkdir(folder.at('folder.csv'), { recursive: true });
    const before = await folder.files();
    expect(await exportTo(path)).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(words) });
    expect([await folder.files(), existsSync(folder.at('s3:'))]).toEqual([before, false]);
  });

  it('escapes formulas in tables alone', async () => {
    await writeFile(folder.at('formulas.jsonl'), '{"email":"eve@acme.example","title":"=1+1"}\n');
    await folder.run(['import', '--store', 'formulas.sqlite', '--contacts', 'formulas.jsonl']);
    const [table, lines] = await Promise.all(['formulas.csv', 'formulas.ndjson'].map((path) => folder.run(['export', '--store', 'formulas.sqlite', '--contacts', path, '--escape-formulas'])));
    expect([table?.code, await plainText('formulas.csv')]).toEqual([0, expect.stringContaining(",'=1+1,")]);
    expect(lines).toMatchObject({ code: 64, stderr: expect.stringContaining('--escape-formulas is for tables') });
  });
});
