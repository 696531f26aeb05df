import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import type * as files from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { restoreName, removeFile, sweep, takeName, temporaryName, temporaryOf, type Fence } from '../../src/storage/fence.ts';
import { ALONE } from '../support/fence.ts';

const disk = vi.hoisted(() => ({ links: true }));
vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof files>();
  return {
    ...real,
    link: (from: string, to: string) =>
      disk.links ? real.link(from, to) : Promise.reject(Object.assign(new Error('EPERM'), { code: 'EPERM' })),
  };
});

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fence-'));
  path = join(folder, 'out.csv');
});
afterEach(() => {
  disk.links = true;
  return rm(folder, { recursive: true });
});

const LOST = new Error('lost');
/** The job goes to another run while this run checks its lock, or right after. */
const losing = (meanwhile: () => Promise<unknown>, error: Error | null = LOST): Fence => ({
  ...ALONE,
  check: async () => {
    await meanwhile();
    if (error !== null) throw error;
  },
});

describe('takeName', () => {
  it('renames the file at the temporary name', async () => {
    await writeFile(ALONE.temporary(path), 'ours');
    await takeName(path, ALONE);
    expect([await readdir(folder), await readFile(path, 'utf8')]).toEqual([['out.csv'], 'ours']);
  });

  it('leaves everything in place when the job is lost', async () => {
    await writeFile(path, 'theirs');
    await writeFile(ALONE.temporary(path), 'ours');
    await expect(
      takeName(
        path,
        losing(async () => undefined),
      ),
    ).rejects.toBe(LOST);
    expect(await readFile(path, 'utf8')).toBe('theirs');
  });

  it('reports the lost job, not a missing file, when the job is lost right after the check', async () => {
    await writeFile(ALONE.temporary(path), 'ours');
    let looks = 0;
    const fence: Fence = {
      ...ALONE,
      check: async () => {
        if (looks++ > 0) throw LOST;
        await sweep([path]);
        await writeFile(path, 'theirs');
      },
    };
    await expect(takeName(path, fence)).rejects.toBe(LOST);
    expect(await readFile(path, 'utf8')).toBe('theirs');
    await expect(takeName(path, ALONE)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('removeFile', () => {
  it('removes a file, and accepts a missing one', async () => {
    await removeFile(path, ALONE);
    await writeFile(path, 'ours');
    await removeFile(path, ALONE);
    expect(await readdir(folder)).toEqual([]);
  });

  it('removes nothing when the job is lost', async () => {
    await writeFile(path, 'theirs');
    await expect(
      removeFile(
        path,
        losing(async () => undefined),
      ),
    ).rejects.toBe(LOST);
    expect(await readFile(path, 'utf8')).toBe('theirs');
  });

  it('keeps a file that another run has put in its place', async () => {
    await writeFile(path, 'ours');
    const replace = async (): Promise<void> => {
      await writeFile(join(folder, 'theirs'), 'theirs');
      await rename(join(folder, 'theirs'), path);
    };
    await removeFile(path, losing(replace, null));
    expect([await readdir(folder), await readFile(path, 'utf8')]).toEqual([['out.csv'], 'theirs']);
  });
});

describe('restoreName', () => {
  it.each([true, false])('gives a file its name again, and never replaces another one (hard links: %s)', async (links) => {
    disk.links = links;
    const aside = join(folder, 'aside');
    await writeFile(aside, 'moved');
    await restoreName(aside, path);
    expect([await readdir(folder), await readFile(path, 'utf8')]).toEqual([['out.csv'], 'moved']);
    await writeFile(aside, 'late');
    await restoreName(aside, path);
    expect([await readdir(folder), await readFile(path, 'utf8')]).toEqual([['out.csv'], 'moved']);
  });
});

describe('temporary files', () => {
  it('temporary files are recognised by their names', () => {
    const name = temporaryName('/data/out.csv', '0123abcd');
    expect(name).toBe('/data/out.csv.0123abcd.tmp');
    expect(temporaryOf(name)).toBe('/data/out.csv');
    for (const other of [
      '/data/out.csv',
      '/data/out.csv.tmp',
      '/data/out.csv.0123abc.tmp',
      '/data/out.csv.0123abcd.tmp2',
      '/data/out.csv.0123ABCD.tmp',
    ])
      expect(temporaryOf(other)).toBeNull();
  });

  it('a sweep removes temporary files and nothing else', async () => {
    for (const name of [
      'out.csv',
      'out.csv.0123abcd.tmp',
      'out.csv.fedcba98.tmp',
      'out.csv.partial.0123abcd.tmp',
      'out.csv.mine.tmp',
      'other.csv.0123abcd.tmp',
    ])
      await writeFile(join(folder, name), '');
    await sweep([path, join(folder, 'gone', 'x')]);
    expect((await readdir(folder)).sort()).toEqual([
      'other.csv.0123abcd.tmp',
      'out.csv',
      'out.csv.mine.tmp',
      'out.csv.partial.0123abcd.tmp',
    ]);
  });
});
