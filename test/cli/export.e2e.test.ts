import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BUNDLE, Folder } from '../support/cli.ts';
import { CRM } from './crm-file.ts';

/** Cells with a delimiter, a tab, quotes and a line break in them. */
const PEOPLE = ['Ada, "the first"', 'Bob\tTab', 'Cleo;Semicolon', 'Dan\nLine'].map((name, n) => ({
  email: `p${n}@acme.example`,
  name,
  title: name,
  skills: ['Go', 'dbt'],
}));

let folder: Folder;
beforeAll(async () => {
  folder = await Folder.make();
  await writeFile(folder.at('crm.csv'), CRM);
  await writeFile(folder.at('people.jsonl'), PEOPLE.map((one) => `${JSON.stringify(one)}\n`).join(''));
  await folder.run(['import', '--store', 's.sqlite', '--contacts', 'people.jsonl', '--as-of', '2026-01-01']);
});
afterAll(() => folder.remove());

const exportTo = (path: string, store = 's.sqlite'): ReturnType<Folder['run']> =>
  folder.run(['export', '--store', store, '--contacts', path]);

async function peopleIn(store: string): Promise<unknown[]> {
  return (await exportTo('-', store)).stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}

async function plainText(path: string): Promise<string> {
  const bytes = await readFile(folder.at(path));
  return (path.endsWith('.gz') ? gunzipSync(bytes) : path.endsWith('.zst') ? zstdDecompressSync(bytes) : bytes).toString();
}

describe('an export', () => {
  it.each([...['csv', 'tsv', 'jsonl'].flatMap((format) => ['', '.gz', '.zst'].map((ending) => `${format}${ending}`)), 'ndjson'])(
    'writes .%s, which imported elsewhere gives the same people',
    async (ending) => {
      const path = `out.${ending}`;
      expect(await exportTo(path)).toMatchObject({ code: 0, stdout: '{"contacts":4}\n' });
      expect((await stat(folder.at(path))).mode & 0o777).toBe(0o600);
      expect(
        (await plainText(path)).startsWith(
          ending.startsWith('csv') ? 'id,email,name,' : ending.startsWith('tsv') ? 'id\temail\tname\t' : '{"',
        ),
      ).toBe(true);
      const store = `${ending}.sqlite`;
      expect(JSON.parse((await folder.run(['import', '--store', store, '--contacts', path])).stdout)).toMatchObject({
        contacts: { read: 4, added: 4, rejected: {}, dropped: {} },
      });
      expect(await peopleIn(store)).toEqual(await peopleIn('s.sqlite'));
    },
  );

  it('makes missing folders, and replaces an earlier export', async () => {
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
  ])('into %s is refused with %i, and no file is made', async (path, code, words) => {
    await mkdir(folder.at('folder.csv'), { recursive: true });
    const before = await folder.files();
    expect(await exportTo(path)).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(words) });
    expect([await folder.files(), existsSync(folder.at('s3:'))]).toEqual([before, false]);
  });

  it('escapes formulas in CSV and refuses --escape-formulas for JSON lines', async () => {
    await writeFile(folder.at('formulas.jsonl'), '{"email":"eve@acme.example","title":"=1+1"}\n');
    await folder.run(['import', '--store', 'formulas.sqlite', '--contacts', 'formulas.jsonl']);
    const [table, lines] = await Promise.all(
      ['formulas.csv', 'formulas.ndjson'].map((path) =>
        folder.run(['export', '--store', 'formulas.sqlite', '--contacts', path, '--escape-formulas']),
      ),
    );
    expect([table?.code, await plainText('formulas.csv')]).toEqual([0, expect.stringContaining(",'=1+1,")]);
    expect(lines).toMatchObject({ code: 64, stderr: expect.stringContaining('--escape-formulas is for tables') });
  });
});

it('export refuses one file for two kinds of records, and import refuses standard input for two', async () => {
  const made = await folder.run(['import', '--store', 'two.csv', '--contacts', 'crm.csv']);
  expect(made.code).toBe(0);
  for (const [one, other] of [
    ['both.jsonl', './both.jsonl'],
    ['-', '-'],
    ['both.csv', 'two.csv'],
  ] as const) {
    expect(await folder.run(['export', '--store', 'two.csv', '--contacts', one, '--companies', other])).toMatchObject({
      code: 64,
      stdout: '',
      stderr: expect.stringContaining('name the same file'),
    });
  }
  expect((await folder.files()).filter((name) => name.startsWith('both'))).toEqual([]);
  expect((await folder.run(['export', '--store', 'two.csv', '--contacts', '-'])).stdout).toContain('ada@acme.example');
  expect(await folder.run(['import', '--store', 'two.csv', '--contacts', '-', '--companies', '-'], { stdin: CRM })).toMatchObject({
    code: 64,
    stdout: '',
    stderr: expect.stringContaining('Standard input can be read once'),
  });
});

/** More rows than fit into a pipe without a reader. */
async function importMany(): Promise<void> {
  await writeFile(folder.at('many.csv'), `email\n${Array.from({ length: 3_000 }, (_, n) => `p${n}@many.example\n`).join('')}`);
  await folder.run(['import', '--store', 'many.sqlite', '--contacts', 'many.csv']);
}

it('SIGTERM ends an export that waits for its reader with 75', async () => {
  await importMany();
  const running = spawn(process.execPath, [BUNDLE, 'export', '--store', 'many.sqlite', '--contacts', '-'], {
    cwd: folder.path,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(running, 'close');
  await once(running.stdout, 'readable');
  running.kill('SIGTERM');
  const stderr: string[] = [];
  running.stderr.setEncoding('utf8').on('data', (text: string) => stderr.push(text));
  await once(running.stderr, 'data');
  running.stdout.resume();
  const [code] = await ended;
  expect({ code: code as unknown, stderr: stderr.join('') }).toEqual({
    code: 75,
    stderr: expect.stringMatching(/^millrace: stopped by SIGTERM\n  [^\n]+\n$/),
  });
});

it.runIf(existsSync('/dev/full'))('an export whose standard output fails is 74 and names standard output, not the store', async () => {
  await importMany();
  const said = (to: string): unknown => {
    const { status, stderr } = spawnSync(
      'bash',
      ['-c', `"$0" "$@" ${to}; exit "\${PIPESTATUS[0]}"`, process.execPath, BUNDLE, 'export', '--store', 'many.sqlite', '--contacts', '-'],
      { cwd: folder.path, encoding: 'utf8', timeout: 30_000 },
    );
    return { status, stderr };
  };
  expect(said('> /dev/full')).toEqual({
    status: 74,
    stderr: expect.stringMatching(
      /^millrace: standard output could not be written: ENOSPC[^\n]*\n  Free some space, then run the same command: it starts over\.\n$/,
    ),
  });
  expect(said('| true')).toEqual({
    status: 74,
    stderr: expect.stringMatching(/^millrace: standard output was closed before the last row: [^\n]*EPIPE[^\n]*\n  [^\n]+\n$/),
  });
});
