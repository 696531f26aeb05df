/** The behaviour that every storage of a job's files shares: a disk, and S3. */
import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from '../support/fast-check.ts';
import { afterAll, describe, expect, test } from 'vitest';
import type { Fence } from '../../src/storage/fence.ts';
import { localStorage } from '../../src/storage/local-storage.ts';
import { S3Storage } from '../../src/storage/s3-storage.ts';
import type { GrowingFile, ResumeState, Storage } from '../../src/storage/storage.ts';
import { clientOf, makeBucket } from '../s3/bucket.ts';
import { describeWith } from '../services/needed.ts';
import { ALONE } from '../support/fence.ts';

const MIB = 1024 * 1024;
const QUICK = { attempts: 4, baseMs: 1, capMs: 5, idleMs: 60_000 };
const LOST = new Error('lost');

/** Each run has its own id. */
const fenceOf = (more: Partial<Fence> = {}): Fence => {
  const id = randomUUID().slice(0, 8);
  return { ...ALONE, id, temporary: (path) => `${path}.${id}.tmp`, ...more };
};
const LOSER = (): Fence => fenceOf({ check: () => Promise.reject(LOST) });

interface Place {
  readonly storage: Storage;
  readonly folder: string;
  /** Names of all existing files. */
  readonly names: () => Promise<string[]>;
}

const folder = mkdtempSync(join(tmpdir(), 'storage-'));
afterAll(() => rmSync(folder, { recursive: true }));

conform('a disk', { storage: localStorage, folder, names: async () => [] }, { chunkBytes: 700 * 1024, runs: 10 });

await describeWith('s3', 'S3', async (server) => {
  const bucket = await makeBucket(server);
  const storage = new S3Storage({ client: clientOf(server), retryPolicy: QUICK });
  conform('S3', { storage, folder: `s3://${bucket.name}`, names: () => bucket.names() }, { chunkBytes: 3 * MIB, runs: 4 });
});

function conform(name: string, { storage, folder: at, names }: Place, { chunkBytes, runs }: { chunkBytes: number; runs: number }): void {
  let files = 0;
  const newPath = (): string => `${at}/files/${++files}/out.csv`;
  const contentOf = async (path: string): Promise<Buffer> => Buffer.from((await storage.readText(path, 1024 * MIB)) ?? 'none');
  const bytesOf = (seed: number, length: number): Buffer => Buffer.alloc(length, `${seed},row of a table\n`);
  const finish = async (file: GrowingFile): Promise<string> => {
    await file.sync();
    const sha256 = await file.sha256();
    await file.commit();
    await file.close();
    return sha256;
  };

  describe(name, () => {
    test('a text is read as it was last written, and is null before that', async () => {
      const path = newPath();
      const fence = fenceOf();
      expect([await storage.exists(path), await storage.readText(path, 100)]).toEqual([false, null]);
      if (storage === localStorage) await (await storage.open(path, 0, undefined, fence)).discard();
      for (const text of ['one', 'an öther', '']) {
        await storage.replaceText(path, text, fence);
        expect([await storage.exists(path), await storage.readText(path, 100)]).toEqual([true, text]);
      }
      await storage.replaceText(path, 'by another run', fenceOf());
      await storage.remove(path, fence);
      await storage.remove(path, fence);
      expect(await storage.exists(path)).toBe(false);
    });

    test('a run that lost the job replaces and removes nothing', async () => {
      const path = newPath();
      await finish(await storage.open(path, 0, undefined, fenceOf()));
      await storage.replaceText(path, 'theirs', fenceOf());
      await expect(storage.replaceText(path, 'ours', LOSER())).rejects.toBe(LOST);
      await expect(storage.remove(path, LOSER())).rejects.toBe(LOST);
      expect(await storage.readText(path, 100)).toBe('theirs');
    });

    test('a growing file is published completely or not at all, and leaves nothing beside it', async () => {
      const path = newPath();
      const fence = fenceOf();
      const file = await storage.open(path, 0, undefined, fence);
      const bytes = bytesOf(1, chunkBytes);
      for (let i = 0; i < 4; i++) {
        file.append(bytes);
        await file.room();
      }
      await file.sync();
      expect([await storage.exists(path), await storage.unfinished(path)]).toEqual([false, expect.stringContaining('.partial')]);
      const sha256 = await finish(file);
      await storage.dropUnfinished(path, fence);
      const content = await contentOf(path);
      expect(content.equals(Buffer.concat([bytes, bytes, bytes, bytes]))).toBe(true);
      expect(sha256).toBe(createHash('sha256').update(content).digest('hex'));
      expect(await storage.unfinished(path)).toBeNull();
      expect(await storage.isUnchanged(path, { bytes: content.length, sha256 })).toBe(true);
      expect(await storage.isUnchanged(path, { bytes: content.length, sha256, version: await storage.version(path) })).toBe(true);
      await storage.replaceText(path, content.toString().replace('row', 'ROW'), fence);
      expect(await storage.isUnchanged(path, { bytes: content.length, sha256 })).toBe(false);
      expect((await names()).filter((one) => one.includes(`files/${files}/`))).toHaveLength((await names()).length === 0 ? 0 : 1);
    });

    test('an empty file is published, and a discarded one is not', async () => {
      const [empty, unwanted] = [newPath(), newPath()];
      expect(await finish(await storage.open(empty, 0, undefined, fenceOf()))).toBe(createHash('sha256').digest('hex'));
      expect(await storage.readText(empty, 10)).toBe('');
      const file = await storage.open(unwanted, 0, undefined, fenceOf());
      file.append(Buffer.from('row'));
      await file.sync();
      await file.discard();
      expect([await storage.exists(unwanted), await storage.unfinished(unwanted)]).toEqual([false, null]);
    });

    test('after any number of crashes a file has the bytes of an uninterrupted run', async () => {
      const step = fc.oneof(
        { weight: 4, arbitrary: fc.integer({ min: 1, max: chunkBytes }) },
        { weight: 2, arbitrary: fc.constant('keep' as const) },
        { weight: 1, arbitrary: fc.constant('keep an earlier place' as const) },
        { weight: 1, arbitrary: fc.constant('crash' as const) },
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 20 }), async (steps) => {
          const path = newPath();
          let expected = Buffer.alloc(0);
          let file = await storage.open(path, 0, undefined, fenceOf());
          let mark: { size: number; kept: ResumeState | undefined } = { size: 0, kept: undefined };
          let earlier = file.position();
          for (const [i, one] of steps.entries()) {
            if (typeof one === 'number') {
              earlier = file.position();
              const bytes = bytesOf(i, one);
              expected = Buffer.concat([expected, bytes]);
              file.append(bytes);
              await file.room();
            } else if (one === 'crash') {
              await file.close();
              // The state passes through the checkpoint as JSON.
              const { size, kept } = JSON.parse(JSON.stringify(mark)) as typeof mark;
              expect(await storage.flaw(path, size, kept)).toBeNull();
              file = await storage.open(path, size, kept, fenceOf());
              earlier = file.position();
              expected = expected.subarray(0, size);
            } else {
              const position = one === 'keep' ? file.position() : earlier;
              await file.sync();
              mark = { size: position.bytes, kept: file.resumeState(position) };
              await file.settled(mark.kept);
            }
          }
          const sha256 = await finish(file);
          const content = await contentOf(path);
          expect(content.equals(expected)).toBe(true);
          expect(sha256).toBe(createHash('sha256').update(expected).digest('hex'));
        }),
        { numRuns: runs },
      );
    });

    test('missing bytes that a checkpoint refers to are reported, and nothing is created in their place', async () => {
      const path = newPath();
      const file = await storage.open(path, 0, undefined, fenceOf());
      file.append(bytesOf(1, 100));
      await file.sync();
      const kept = file.resumeState(file.position());
      await file.close();
      expect([await storage.flaw(path, 100, kept), await storage.flaw(path, 101, kept)]).toEqual([
        null,
        expect.stringMatching(/^(?:was cut|lacks parts)/),
      ]);
      await expect(storage.open(path, 101, kept, fenceOf())).rejects.toMatchObject({
        exitCode: 74,
        code: 'partial_too_short',
        hint: expect.stringContaining('--fresh'),
      });
      await (await storage.open(path, 100, kept, fenceOf())).discard();
      expect(await storage.flaw(path, 100, kept)).toMatch(/^(?:is missing|was cut|lacks parts)/);
      await expect(storage.open(path, 100, kept, fenceOf())).rejects.toMatchObject({ code: 'partial_too_short' });
    });

    test('a finished file is continued in a copy, from any of its bytes', async () => {
      for (const [length, size] of [
        [50, 50],
        [50, 20],
        [7 * MIB, 6 * MIB],
        [7 * MIB, 40],
      ] as const) {
        const path = newPath();
        const whole = await storage.open(path, 0, undefined, fenceOf());
        const bytes = bytesOf(3, length);
        whole.append(bytes.subarray(0, size));
        await whole.sync();
        const { sha } = whole.position();
        whole.append(bytes.subarray(size));
        await finish(whole);
        const fence = fenceOf();
        const kept = await storage.reopen(path, size, sha, fence);
        const file = await storage.open(path, size, kept, fence);
        file.append(Buffer.from('and more'));
        await file.sync();
        expect((await contentOf(path)).equals(bytes)).toBe(true);
        const sha256 = await finish(file);
        const expected = Buffer.concat([bytes.subarray(0, size), Buffer.from('and more')]);
        expect((await contentOf(path)).equals(expected)).toBe(true);
        expect(sha256).toBe(createHash('sha256').update(expected).digest('hex'));
      }
    });

    test('a run that lost the job never publishes under the name', async () => {
      const path = newPath();
      let lost = false;
      const file = await storage.open(
        path,
        0,
        undefined,
        fenceOf({
          check: async () => {
            if (lost) throw LOST;
          },
        }),
      );
      file.append(Buffer.from('ours'));
      await file.sync();
      lost = true;
      await expect(file.commit()).rejects.toMatchObject({ message: expect.stringContaining('lost') });
      await file.close();
      expect(await storage.exists(path)).toBe(false);
    });
  });
}
