import { watch } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from '../support/fast-check.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readCheckpoint, writeCheckpoint } from '../../src/checkpoint/checkpoint-file.ts';
import { replaceFile } from '../../src/storage/atomic-file.ts';
import { ALONE } from '../support/fence.ts';
import { CHECKPOINT, checkpoint } from './samples.ts';

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'checkpoint-'));
  path = join(folder, 'out.csv.checkpoint.json');
});
afterEach(() => rm(folder, { recursive: true }));

const refusal = (): Promise<unknown> => readCheckpoint(path).catch((error: unknown) => error);

describe('a checkpoint', () => {
  it('has the written content when it is read, whatever was there before', async () => {
    expect(await readCheckpoint(path)).toBeNull();
    await fc.assert(
      fc.asyncProperty(checkpoint, async (any) => {
        await writeCheckpoint(path, any, ALONE);
        expect(await readCheckpoint(path)).toEqual(any);
      }),
    );
    expect(await readdir(folder)).toEqual(['out.csv.checkpoint.json']);
  });

  it('has one line of JSON, and only its owner may read it', async () => {
    await writeFile(path, 'older', { mode: 0o644 });
    await writeCheckpoint(path, CHECKPOINT, ALONE);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readFile(path, 'utf8')).toMatch(/^\{.*\}\n$/);
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({ ...CHECKPOINT, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
  });

  it('replaces the old one by a rename, so a reader with the old file open reads it to the end', async () => {
    await writeCheckpoint(path, CHECKPOINT, ALONE);
    const before = await stat(path);
    const names = new Set<string>();
    const watcher = watch(folder, (_event, name) => names.add(name ?? ''));
    await writeCheckpoint(path, { ...CHECKPOINT, generation: 2 }, ALONE);
    await expect.poll(() => [...names].sort()).toEqual(['out.csv.checkpoint.json', 'out.csv.checkpoint.json.0123abcd.tmp']);
    watcher.close();
    expect((await stat(path)).ino).not.toBe(before.ino);
  });

  it('replaces a temporary file that a crash left', async () => {
    await writeFile(ALONE.temporary(path), 'half of a longer checkpoint'.repeat(1_000));
    expect(await readCheckpoint(path)).toBeNull();
    await writeCheckpoint(path, CHECKPOINT, ALONE);
    expect(await readCheckpoint(path)).toEqual(CHECKPOINT);
  });
});

describe('a file that is not a checkpoint is 65 with a message for each case', () => {
  it('a checkpoint truncated anywhere is damaged', async () => {
    const whole = JSON.stringify(CHECKPOINT);
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: whole.length - 1 }), async (length) => {
        await writeFile(path, whole.slice(0, length));
        expect(await refusal()).toMatchObject({
          exitCode: 65,
          code: 'checkpoint_damaged',
          message: `the checkpoint ${path} is damaged: it cannot be read`,
          hint: expect.stringContaining('--fresh'),
        });
      }),
    );
  });

  it('a checkpoint with any flipped bit is damaged or reads unchanged, never as something else', async () => {
    await writeCheckpoint(path, CHECKPOINT, ALONE);
    const whole = await readFile(path);
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: whole.length - 1 }), fc.nat({ max: 7 }), async (at, bit) => {
        const flipped = Buffer.from(whole);
        flipped[at] = (flipped[at] as number) ^ (1 << bit);
        await writeFile(path, flipped);
        const read = await readCheckpoint(path).catch((error: unknown) => error);
        if (read instanceof Error) expect(read).toMatchObject({ exitCode: 65, code: 'checkpoint_damaged' });
        else expect(read).toMatchObject(CHECKPOINT);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['emptied', ''],
    ['filled with zeros', '\0'.repeat(512)],
  ])('%s: damaged', async (_, text) => {
    await writeFile(path, text);
    expect(await refusal()).toMatchObject({ exitCode: 65, code: 'checkpoint_damaged' });
  });

  it('a text that was never a checkpoint is another file', async () => {
    await writeFile(path, 'shopping list');
    expect(await refusal()).toMatchObject({ exitCode: 65, code: 'checkpoint_invalid' });
  });

  it.each([
    'null',
    '[]',
    '17',
    '"checkpoint"',
    '{}',
    '{"version":2}',
    '{"job":"nightly"}',
    JSON.stringify({ version: 1, run: 'x', mark: null }),
  ])('a foreign file is refused: %s', async (text) => {
    await writeFile(path, text);
    expect(await refusal()).toMatchObject({
      exitCode: 65,
      code: 'checkpoint_invalid',
      message: expect.stringContaining('is not a checkpoint of Millrace'),
    });
    expect(await readFile(path, 'utf8')).toBe(text);
  });

  it.each(Object.keys(CHECKPOINT))('a checkpoint without %s, or with another kind of value there, is refused', async (key) => {
    for (const value of [undefined, [undefined], ['trusted', 'answered'].includes(key) ? 1 : true]) {
      if (Array.isArray(value) && ['fingerprint', 'result', 'spent', 'retry', 'shard'].includes(key)) continue;
      await writeFile(path, JSON.stringify({ ...CHECKPOINT, [key]: value }));
      expect(await refusal()).toMatchObject({ exitCode: 65, code: 'checkpoint_invalid' });
    }
  });

  it('a checkpoint of a newer version is refused as such', async () => {
    await writeFile(path, JSON.stringify({ version: 3, run: 'x', everything: 'else' }));
    expect(await refusal()).toMatchObject({
      exitCode: 65,
      code: 'checkpoint_too_new',
      message: `the checkpoint ${path} was written by a newer version of Millrace (its format is 3, this version knows 1)`,
    });
  });
});

describe('a failing disk is 74', () => {
  it('when a checkpoint is read', async () => {
    await mkdir(path);
    expect(await refusal()).toMatchObject({ exitCode: 74, code: 'checkpoint_unreadable', message: expect.stringContaining(path) });
  });

  it('when a checkpoint is written, which keeps the one before and leaves no temporary file', async () => {
    await mkdir(path);
    await writeFile(join(path, 'in the way'), '');
    await expect(writeCheckpoint(path, CHECKPOINT, ALONE)).rejects.toMatchObject({
      exitCode: 74,
      code: 'checkpoint_failed',
      message: expect.stringContaining(path),
    });
    expect(await readdir(folder)).toEqual(['out.csv.checkpoint.json']);
  });

  it('when the folder is gone', async () => {
    path = join(folder, 'gone', 'checkpoint.json');
    await expect(writeCheckpoint(path, CHECKPOINT, ALONE)).rejects.toMatchObject({ exitCode: 74, code: 'checkpoint_failed' });
  });
});

describe('replaceFile', () => {
  it('makes a file readable by its owner alone, whatever its mode was', async () => {
    await writeFile(path, 'before');
    await chmod(path, 0o666);
    await replaceFile(path, 'after', ALONE);
    expect([(await stat(path)).mode & 0o777, await readFile(path, 'utf8')]).toEqual([0o600, 'after']);
  });

  it('ignores the mode of an older temporary file', async () => {
    await writeFile(ALONE.temporary(path), 'left behind', { mode: 0o666 });
    await chmod(ALONE.temporary(path), 0o666);
    await replaceFile(path, 'after', ALONE);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });
});
