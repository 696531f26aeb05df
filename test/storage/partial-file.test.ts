import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from '../support/fast-check.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Fence } from '../../src/storage/fence.ts';
import { localStorage } from '../../src/storage/local-storage.ts';
import { partialPath } from '../../src/storage/names.ts';
import { PartialFile, replaceInode } from '../../src/storage/partial-file.ts';
import type { ResumeState } from '../../src/storage/storage.ts';
import { ALONE } from '../support/fence.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'partial-'));
  path = join(folder, 'deep', 'out.csv');
});
afterEach(() => rmSync(folder, { recursive: true }));

const KIB = 1024;
/** The fence of another run. */
const OTHER: Fence = { ...ALONE, id: 'fedcba98', temporary: (name) => `${name}.fedcba98.tmp` };

describe('PartialFile', () => {
  it('holds all appended bytes in order, whatever their sizes and however often it is synced', async () => {
    const chunk = fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 400 * KIB, max: 700 * KIB }));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(chunk, fc.constantFrom('', 'sync', 'room', 'turn')), { maxLength: 20 }), async (steps) => {
        const file = await PartialFile.open(path, 0, ALONE);
        const expected: Buffer[] = [];
        const waits: Promise<unknown>[] = [];
        for (const [i, [size, then]] of steps.entries()) {
          const bytes = Buffer.alloc(size, i + 1);
          expected.push(bytes);
          file.append(bytes);
          if (then === 'sync') waits.push(file.sync());
          else if (then === 'room') await file.room();
          else if (then === 'turn') await new Promise((resolve) => setImmediate(resolve));
        }
        await file.sync();
        await Promise.all(waits);
        expect(file.size).toBe(Buffer.concat(expected).length);
        expect(readFileSync(file.path).equals(Buffer.concat(expected))).toBe(true);
        await file.close();
      }),
      { numRuns: 40 },
    );
  });

  it('truncates the bytes behind the last checkpoint', async () => {
    mkdirSync(join(folder, 'deep'));
    writeFileSync(partialPath(path), 'kept|rest');
    const file = await PartialFile.open(path, 5, ALONE);
    file.append(Buffer.from('new'));
    await file.sync();
    await file.commit();
    expect(readFileSync(path, 'utf8')).toBe('kept|new');
  });

  it.each([
    ['was cut', 'ab', 'holds 2 bytes'],
    ['is gone', null, 'is gone'],
  ])('refuses to continue a file that %s, and creates none', async (_, content, words) => {
    mkdirSync(join(folder, 'deep'));
    if (content !== null) writeFileSync(partialPath(path), content);
    await expect(PartialFile.open(path, 3, ALONE)).rejects.toMatchObject({
      exitCode: 74,
      code: 'partial_too_short',
      message: expect.stringContaining(words),
      hint: expect.stringContaining('--fresh'),
    });
    if (content === null) expect(() => statSync(partialPath(path))).toThrow('ENOENT');
    else expect(readFileSync(partialPath(path), 'utf8')).toBe(content);
  });

  it('tells what to do when the folder cannot be written', async () => {
    writeFileSync(join(folder, 'deep'), 'a file where the folder should be');
    await expect(PartialFile.open(path, 0, ALONE)).rejects.toMatchObject({
      exitCode: 74,
      code: 'output_failed',
      message: expect.stringContaining(path),
      hint: expect.stringContaining('resumes'),
    });
  });

  it('distrusts a flush after a failed one, because the kernel has dropped the pages', async () => {
    const file = await PartialFile.open(path, 0, ALONE);
    const handle = await open(partialPath(path));
    const flush = vi
      .spyOn(Object.getPrototypeOf(handle) as FileHandle, 'datasync')
      .mockRejectedValueOnce(Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' }));
    await handle.close();
    file.append(Buffer.from('row'));
    const failed = {
      exitCode: 74,
      code: 'output_failed',
      message: expect.stringContaining('could not be flushed: EIO'),
      hint: expect.stringContaining('Mend the disk'),
    };
    for (let time = 0; time < 3; time++) await expect(file.sync()).rejects.toMatchObject(failed);
    expect(() => file.room()).toThrow(expect.objectContaining(failed));
    flush.mockRestore();
    await file.close();
  });

  it('reports a full disk, and fails in every later call', async () => {
    mkdirSync(join(folder, 'deep'));
    symlinkSync('/dev/full', partialPath(path));
    const file = await PartialFile.open(path, 0, ALONE);
    const full = {
      exitCode: 74,
      code: 'output_failed',
      message: expect.stringContaining('ENOSPC'),
      hint: expect.stringContaining('Free some space'),
    };
    file.append(Buffer.alloc(KIB * KIB));
    file.append(Buffer.alloc(9 * KIB * KIB));
    const room = file.room();
    expect(room).not.toBeNull();
    await expect(room).rejects.toMatchObject(full);
    await expect(file.sync()).rejects.toMatchObject(full);
    expect(() => file.room()).toThrow('ENOSPC');
    file.append(Buffer.from('more'));
    await expect(file.sync()).rejects.toMatchObject(full);
    await file.close();
    await file.close();
  });

  it('leaves a file alone that another job has begun, when its own job has never run', async () => {
    mkdirSync(join(folder, 'deep'));
    writeFileSync(partialPath(path), 'theirs');
    await expect(PartialFile.open(path, 0, ALONE, true)).rejects.toMatchObject({
      exitCode: 65,
      code: 'output_not_ours',
      message: expect.stringContaining('another job has begun to write'),
    });
    expect([readdirSync(join(folder, 'deep')), readFileSync(partialPath(path), 'utf8')]).toEqual([['out.csv.partial'], 'theirs']);
    rmSync(partialPath(path));
    const file = await PartialFile.open(path, 0, ALONE, true);
    file.append(Buffer.from('ours'));
    await file.sync();
    await file.commit();
    expect([readdirSync(join(folder, 'deep')), readFileSync(path, 'utf8')]).toEqual([['out.csv'], 'ours']);
  });

  it('does not publish a file that another run has replaced', async () => {
    const file = await PartialFile.open(path, 0, ALONE);
    file.append(Buffer.from('ours'));
    await file.sync();
    await replaceInode(path, OTHER);
    // This run's later writes go nowhere.
    file.append(Buffer.from(' and more'));
    await file.sync();
    expect(readFileSync(partialPath(path), 'utf8')).toBe('ours');
    await expect(file.commit()).rejects.toMatchObject({ exitCode: 74, message: expect.stringContaining('another run has replaced it') });
    expect(() => statSync(path)).toThrow('ENOENT');
    await file.close();
  });

  it('does not publish a file that is gone', async () => {
    const file = await PartialFile.open(path, 0, ALONE);
    renameSync(partialPath(path), `${path}.elsewhere`);
    await expect(file.commit()).rejects.toMatchObject({ exitCode: 74, code: 'output_failed' });
    await file.close();
  });
});

describe('replaceInode', () => {
  it('keeps the bytes, replaces the file, and accepts a missing one', async () => {
    await replaceInode(path, OTHER);
    mkdirSync(join(folder, 'deep'));
    await replaceInode(path, OTHER);
    writeFileSync(partialPath(path), 'bytes', { mode: 0o600 });
    const before = statSync(partialPath(path));
    await replaceInode(path, OTHER);
    const after = statSync(partialPath(path));
    expect(readFileSync(partialPath(path), 'utf8')).toBe('bytes');
    expect(after.ino).not.toBe(before.ino);
    expect(after.mode & 0o777).toBe(0o600);
  });
});

describe('a partial file that is damaged between two runs', () => {
  const ROWS = Buffer.from('a row of some length, again and again\n'.repeat(60_000));

  async function written(): Promise<{ readonly size: number; readonly kept: ResumeState | undefined }> {
    const file = await PartialFile.open(path, 0, ALONE);
    file.append(ROWS);
    const position = file.position();
    await file.sync();
    await file.close();
    return { size: position.bytes, kept: file.resumeState(position) };
  }

  function flip(at: number): void {
    const bytes = readFileSync(partialPath(path));
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(partialPath(path), bytes);
  }

  it('continues when it is intact, and has the appended bytes', async () => {
    const { size, kept } = await written();
    expect(await localStorage.flaw(path, size, kept)).toBeNull();
    const file = await PartialFile.open(path, size, ALONE, false, kept);
    file.append(ROWS);
    await file.sync();
    expect(await file.sha256()).toBe(createHash('sha256').update(ROWS).update(ROWS).digest('hex'));
    await file.close();
  });

  it('does not continue when its end is damaged', async () => {
    const { size, kept } = await written();
    flip(size - 10);
    expect(await localStorage.flaw(path, size, kept)).toMatch(
      /^was (?:damaged or changed from outside|cut from outside: it has \d+ bytes, and the checkpoint says \d+)$/,
    );
    await expect(PartialFile.open(path, size, ALONE, false, kept)).rejects.toMatchObject({ exitCode: 74, code: 'partial_damaged' });
  });

  it('fails at its commit with 74 when an earlier byte is damaged', async () => {
    const { size, kept } = await written();
    flip(100);
    const file = await PartialFile.open(path, size, ALONE, false, kept);
    file.append(ROWS);
    await file.sync();
    await expect(file.sha256()).rejects.toMatchObject({
      exitCode: 74,
      code: 'partial_damaged',
      hint: expect.stringContaining('written again'),
    });
    await file.close();
  });
});
