import { expect, it } from 'vitest';
import { openFiles } from '../../src/formats/one-file.ts';
import { put, scratchFolder } from './helpers.ts';

it.each(['nowhere.csv', 'nowhere-*.csv'])('a missing file (%s) is reported without settings that only a run has', async (name) => {
  const files = openFiles(name, { format: null, delimiter: null, encoding: null }, null, new AbortController().signal);
  await expect(files.next()).rejects.toMatchObject({
    code: 'input_missing',
    exitCode: 65,
    message: expect.stringContaining(name) as string,
    hint: expect.stringMatching(/^Check the path/) as string,
  });
});

it('a file with duplicate columns is refused before any row is read', async () => {
  const path = await put(scratchFolder(), 'twice.csv', 'email,name,email\na@b.example,x,c@d.example\n');
  const files = openFiles(path, { format: null, delimiter: null, encoding: null }, null, new AbortController().signal);
  await expect(files.next()).rejects.toMatchObject({
    code: 'input_duplicate_columns',
    exitCode: 65,
    message: expect.stringContaining('"email"') as string,
  });
});
