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
