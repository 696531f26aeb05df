import { mkdtemp, open, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { isAt } from '../../../src/util/files/is-at.ts';
import { cleanUp } from '../../support/clean-up.ts';

it('an open file is recognised by its inode, not by its name alone', async () => {
  const path = join(await mkdtemp(join(tmpdir(), 'millrace-is-at-')), 'file');
  cleanUp(() => rm(dirname(path), { recursive: true }));
  await writeFile(path, 'ours');
  const file = await open(path, 'r');
  expect(await isAt(file, path)).toBe(true);
  await rm(path);
  expect(await isAt(file, path)).toBe(false);
  await writeFile(path, 'theirs');
  expect((await stat(path)).size).toBe(6);
  expect(await isAt(file, path)).toBe(false);
  await file.close();
});
