import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Folder } from '../support/cli.ts';

let folder: Folder;
beforeAll(async () => {
  folder = await Folder.make();
  await writeFile(folder.at('crm.csv'), 'email\nada@acme.example\nbob@acme.example\n');
  await folder.run(['import', '--store', 's.sqlite', 'crm.csv']);
});
afterAll(() => folder.remove());

it('suppress names the lines of invalid addresses without their text, and suppresses all others', async () => {
  const list = Buffer.from('\ufeffemail\r\nADA@acme.example\r\n\r\n"bob@acme.example"\r\n');
  const ended = await folder.run(['suppress', '-', '--store', 's.sqlite'], { stdin: list });
  expect(JSON.parse(ended.stdout)).toMatchObject({ suppressed: 1, people: 1, invalid: 2 });
  expect(ended).toMatchObject({
    code: 65,
    stderr:
      'millrace: 2 of what was given are no addresses (line 1, 4); all else is suppressed\n' +
      '  Give whole addresses alone, such as jane@acme.example.\n',
  });
  expect(await folder.run(['suppress', 'bob@acme.example', 'crm.csv', '--store', 's.sqlite'])).toMatchObject({
    code: 65,
    stderr: expect.stringMatching(/^millrace: 1 of what was given is no address \(argument 2\);/),
  });
  const many = await folder.run(['suppress', '-', '--store', 's.sqlite'], { stdin: 'x\n'.repeat(1_200) });
  expect(many.stderr).toMatch(/^millrace: 1200 of what was given are no addresses \(line 1, 2, .*, 20 and others\);/);
});
