/** Files as they come out of CRMs and spreadsheets. */
import { writeFile } from 'node:fs/promises';
import { constants, getPriority } from 'node:os';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CLI, type Ended, Folder } from '../support/cli.ts';
import { CRM } from './crm-file.ts';

let folder: Folder;
beforeAll(async () => {
  folder = await Folder.make();
  await writeFile(folder.at('crm.csv'), CRM);
});
afterAll(() => folder.remove());

/** Imports a file of this text into a store of its own. */
async function imported(
  name: string,
  text: string | Buffer,
  ...flags: string[]
): Promise<Ended & { readonly people: readonly Record<string, unknown>[] }> {
  await writeFile(folder.at(name), text);
  const store = `${name}.sqlite`;
  const ended = await folder.run(['import', '--store', store, '--contacts', name, ...flags]);
  const { stdout } = await folder.run(['export', '--store', store, '--contacts', '-']);
  return {
    ...ended,
    people: stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

it('an import keeps the first cells of rows with more cells than the header, counts these rows and names the first', async () => {
  const { code, stdout, stderr, people } = await imported(
    'surplus.csv',
    'email,name,title\nada@acme.example,Ada,CTO,,\nbob@acme.example,Bob,VP, Sales\n' +
      'cleo@acme.example,Cleo,COO\ndan@acme.example,Dan,VP,"IT, old",x\n',
  );
  expect({ code, people: people.length }).toEqual({ code: 0, people: 4 });
  expect(JSON.parse(stdout)).toMatchObject({ contacts: { read: 4, added: 4, surplus: 2 } });
  expect(stderr).toBe('millrace: surplus.csv: 2 rows have more cells than the header (the first in line 3): what is beyond was left out\n');
});

it.each([
  ['a missing file', ['--contacts', 'none.csv']],
  ['only unknown columns', ['--contacts', 'strange.csv']],
  ['only rejected rows', ['--contacts', 'bad.csv']],
  ['a column that no file has', ['--contacts', 'bad.csv', '--columns.email', 'Nobody']],
])('an import of %s makes no store, and keeps an existing one', async (_what, flags) => {
  await writeFile(folder.at('strange.csv'), 'foo,bar\n1,2\n');
  await writeFile(folder.at('bad.csv'), 'email,name\nn/a,-\n');
  await writeFile(folder.at('empty.csv'), 'email\n');
  expect((await folder.run(['import', '--store', 'made.sqlite', ...flags])).code).toBe(65);
  expect((await folder.files()).filter((name) => /^made\.sqlite(?!\.rejected)/.test(name))).toEqual([]);
  expect((await folder.run(['import', '--store', 'there.sqlite', 'empty.csv'])).code).toBe(0);
  expect((await folder.run(['import', '--store', 'there.sqlite', ...flags])).code).toBe(65);
  expect(await folder.files()).toContain('there.sqlite');
});

it('an import lets a service on the same machine have the processor first', async () => {
  const started = folder.start(['import', '--store', 'slow.sqlite', '--contacts', '-'], {
    keepStdin: true,
    program: [process.execPath, CLI],
    env: { NODE_OPTIONS: '' },
  });
  const { child, ended } = started;
  child.stdin?.write('email,odd\n');
  await expect.poll(() => getPriority(child.pid)).toBe(constants.priority.PRIORITY_BELOW_NORMAL);
  child.stdin?.end('ada@acme.example,1\n');
  await started.says('columns without a meaning');
  expect((await ended).code).toBe(0);
});

it('an import names, for each field with dropped values, the line of the first one and the values it takes', async () => {
  const { stdout, stderr } = await imported(
    'left-out.csv',
    'Email,Mobile,Updated,Email Status\nada@acme.example,,2026-01-31,weird\n' +
      'bob@acme.example,020 7946 0123,01/02/2026,Bounced\ncleo@acme.example,0171 1234567,,\n',
  );
  expect(JSON.parse(stdout)).toMatchObject({ contacts: { added: 3, dropped: { mobile: 2, updated_at: 1, email_status: 1 } } });
  expect(stderr.trimEnd().split('\n')).toEqual([
    'millrace: left-out.csv: mobile: 2 values were left out (the first ' +
      'in line 3); it takes a number with its country, such as +12125550100',
    expect.stringMatching(/^millrace: left-out\.csv: email_status: a value was left out \(line 2\); it takes verified, risky/),
    expect.stringMatching(/^millrace: left-out\.csv: updated_at: a value was left out \(line 3\); it takes a day .*--as-of/),
  ]);
});

it('an import reads files without a flag as contacts, and refuses those that an unquoted glob of another flag may have made', async () => {
  await writeFile(folder.at('more.jsonl'), '{"email":"cleo@acme.example","name":"Cleo Case"}\n');
  const { code, stdout } = await folder.run(['import', '--store', 'many.sqlite', 'crm.csv', 'more.jsonl', '--contacts', 'crm.csv']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ contacts: { read: 7, added: 3, unchanged: 2, rejected: { no_identity: 2 } } });
  expect(await folder.run(['import', '--store', 'many.sqlite'])).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('Nothing says what to import'),
  });
  expect(await folder.run(['import', '--store', 'many.sqlite', '--companies', 'a.csv', 'b.csv'])).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('Quote globs'),
  });
  expect(await folder.run(['import', '--store', 'many.sqlite', '-', '-'])).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('named several times'),
  });
});

it('an import with only rejected rows, or no known column, is 65 and says why', async () => {
  await writeFile(folder.at('bad.csv'), 'email\nask Ann\nnobody\n');
  expect(await folder.run(['import', '--store', 'x.sqlite', '--contacts', 'bad.csv'])).toMatchObject({
    code: 65,
    stderr: expect.stringMatching(/every row was rejected: 2 of 2 \(bad_email\)/) as string,
  });
  expect(await folder.run(['import', '--store', 'x.sqlite', '--contacts', 'missing.csv'])).toMatchObject({ code: 65 });
  await writeFile(folder.at('strange.csv'), 'foo,bar\n1,2\n');
  expect(await folder.run(['import', '--store', 'x.sqlite', '--contacts', 'strange.csv'])).toMatchObject({
    code: 65,
    stderr: expect.stringMatching(/none of its columns is known/) as string,
  });
  expect(await folder.run(['import', '--store', 'crm.csv', '--contacts', 'crm.csv'])).toMatchObject({ code: 74 });
});

it('the report of rejected rows replaces only an earlier report, and no other file', async () => {
  await writeFile(folder.at('notes.txt'), 'precious');
  expect(await folder.run(['import', '--store', 'n.sqlite', '--contacts', 'crm.csv', '--rejected', 'notes.txt'])).toMatchObject({
    code: 65,
    stderr: expect.stringContaining('notes.txt exists, and is no report of rejected rows'),
  });
  expect(await folder.read('notes.txt')).toBe('precious');
  for (const [flag, path] of [
    ['store', 'n.sqlite'],
    ['contacts', 'crm.csv'],
  ]) {
    expect(await folder.run(['import', '--store', 'n.sqlite', '--contacts', 'crm.csv', '--rejected', `./${path}`])).toMatchObject({
      code: 64,
      stderr: expect.stringContaining(`--rejected and --${flag} name the same file`),
    });
  }
  expect(await folder.read('crm.csv')).toBe(CRM);
  // It does not replace a folder. When it cannot be written, the message names the report and not the store.
  expect(await folder.run(['import', '--store', 'n.sqlite', '--contacts', 'crm.csv', '--rejected', '.'])).toMatchObject({
    code: 65,
    stderr: expect.stringContaining('. exists, and is no report of rejected rows'),
  });
  expect(await folder.run(['import', '--store', 'n.sqlite', '--contacts', 'crm.csv', '--rejected', 'crm.csv/rows.jsonl'])).toMatchObject({
    code: 74,
    stderr: expect.stringMatching(/^millrace: the report of rejected rows crm\.csv\/rows\.jsonl could not be written: /),
  });
  // A missing folder is made, as for an output.
  expect((await folder.run(['import', '--store', 'n.sqlite', '--contacts', 'crm.csv', '--rejected', 'reports/new/rows.jsonl'])).code).toBe(
    0,
  );
  expect(JSON.parse(await folder.read('reports/new/rows.jsonl'))).toMatchObject({ code: 'no_identity' });
  // A new report replaces an earlier one. Without rejected rows it is removed.
  await writeFile(folder.at('clean.csv'), 'email\nzoe@acme.example\n');
  const into = (file: string): Promise<{ code: number | null }> => folder.run(['import', '--store', 'n.sqlite', '--contacts', file]);
  for (const file of ['crm.csv', 'crm.csv', 'clean.csv']) expect((await into(file)).code).toBe(0);
  expect((await folder.files()).filter((name) => name.startsWith('n.sqlite.rejected'))).toEqual([]);
});
