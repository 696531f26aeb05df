import { existsSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeFolders } from '../../../src/util/files/make-folders.ts';
import { temporaryFolder } from '../../service/harness.ts';

describe('makeFolders', () => {
  it('creates every missing folder with the given mode, and leaves existing ones unchanged', async () => {
    const folder = join(await temporaryFolder(), 'a', 'b', 'c');
    makeFolders(folder, 0o700);
    makeFolders(folder);
    expect([folder, join(folder, '..')].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o700]);
  });

  it.skipIf(!existsSync('/proc/self'))('ends when a file system answers ENOENT below an existing folder', () => {
    expect(() => makeFolders('/proc/no-such-process/a/b')).toThrow(/ENOENT/);
  });

  it('ends below a dangling link, and below a file', async () => {
    const folder = await temporaryFolder();
    symlinkSync('nowhere', join(folder, 'link'));
    writeFileSync(join(folder, 'file'), '');
    for (const name of ['link', 'file'])
      for (const below of ['', 'a', 'a/b'])
        expect(() => makeFolders(join(folder, name, below)), `${name}/${below}`).toThrow(/EEXIST|ENOTDIR/);
  });
});
