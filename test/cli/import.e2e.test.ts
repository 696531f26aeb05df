/** Files as they come out of CRMs and spreadsheets. */
import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Folder, type Ended } from '../support/cli.ts';

let folder: Folder;
beforeAll(async () => {
  folder = await Folder.make();
});
afterAll(() => folder.remove());

/** Imports a file of this text into a store of its own. */
async function imported(name: string, text: string | Buffer, ...flags: string[]): Promise<Ended & { readonly people: readonly Record<string, unknown>[] }> {
  await writeFile(folder.at(name), text);
  const store = `${name}.sqlite`;
  const ended = await folder.run(['import', '--store', store, '--contacts', name, ...flags]);
  const { stdout } = await folder.run(['export', '--store', store, '--contacts', '-']);
  return { ...ended, people: stdout.split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as Record<string, unknown>) };
}

it('counts and tells of rows with more cells than the header, and keeps their first ones', async () => {
  const { code, stdout, stderr, people } = await imported('surplus.csv', 'email,name,title\nada@acme.example,Ada,CTO,,\nbob@acme.example,Bob,VP, Sales\ncleo@acme.example,Cleo,COO\ndan@acme.example,Dan,VP,"IT, old",x\n');
  expect({ code, people: people.length }).toEqual({ code: 0, people: 4 });
  expect(JSON.parse(stdout)).toMatchObject({ contacts: { read: 4, added: 4, surplus: 2 } });
  expect(stderr).toBe('millrace: surplus.csv: 2 rows have more cells than the header (the first in line 3): what is beyond was left out\n');
});

it.each([
  ['a file that is not there', ['--contacts', 'none.csv']],
  ['columns that mean nothing', ['--contacts', 'strange.csv']],
  ['nothing but rows that cannot be kept', ['--contacts', 'bad.csv']],
  ['a flag of no file', ['--contacts', 'bad.csv', '--columns.email', 'Nobody']],
])('%s: no store is made, and one that was there stays', async (_what, flags) => {
  await writeFile(folder.at('strange.csv'), 'foo,bar\n1,2\n');
  await writeFile(folder.at('bad.csv'), 'email,name\nn/a,-\n');
  await writeFile(folder.at('empty.csv'), 'email\n');
  expect((await folder.run(['import', '--store', 'made.sqlite', ...flags])).code).toBe(65);
  expect((await folder.files()).filter((name) => /^made\.sqlite(?!\.rejected)/.test(name))).toEqual([]);
  expect((await folder.run(['import', '--store', 'there.sqlite', 'empty.csv'])).code).toBe(0);
  expect((await folder.run(['import', '--store', 'there.sqlite', ...flags])).code).toBe(65);
  expect(await folder.files()).toContain('there.sqlite');
});

it('tells of each field whose values were left out in which line the first is, and what it takes', async () => {
  const { stdout, stderr } = await imported('left-out.csv', 'Email,Mobile,Updated,Email Status\nada@acme.example,,2026-01-31,weird\nbob@acme.example,020 7946 0123,01/02/2026,Bounced\ncleo@acme.example,0171 1234567,,\n');
  expect(JSON.parse(stdout)).toMatchObject({ contacts: { added: 3, dropped: { mobile: 2, updated_at: 1, email_status: 1 } } });
  expect(stderr.trimEnd().split('\n')).toEqual([
    'millrace: left-out.csv: mobile: 2 values were left out (the first in line 3); it takes a number with its country, such as +12125550100',
    expect.stringMatching(/^millrace: left-out\.csv: email_status: a value was left out \(line 2\); it takes verified, risky/),
    expect.stringMatching(/^millrace: left-out\.csv: updated_at: a value was left out \(line 3\); it takes a day .*--as-of/),
  ]);
});
