import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { fileSha256 } from '../../src/storage/file-digest.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'digest-'));
});
afterEach(() => rm(folder, { recursive: true }));

const CHUNK = 256 * 1024;

it.each([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 17])(
  'a file of %s bytes has the same digest as its bytes hashed at once',
  async (size) => {
    const bytes = randomBytes(size);
    await writeFile(join(folder, 'out'), bytes);
    expect(await fileSha256(join(folder, 'out'))).toBe(createHash('sha256').update(bytes).digest('hex'));
  },
);

it('a missing file, or a folder, is 74 and named', async () => {
  for (const path of [join(folder, 'gone'), folder]) {
    await expect(fileSha256(path)).rejects.toMatchObject({ exitCode: 74, code: 'output_failed', message: expect.stringContaining(path) });
  }
});
