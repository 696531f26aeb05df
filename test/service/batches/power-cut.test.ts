import { Readable } from 'node:stream';
import { utimes } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { BatchRows } from '../../../src/service/batches/batch-rows.ts';
import { BatchFolder } from '../../../src/service/batches/batch-folder.ts';
import { Scheduler } from '../../../src/service/batches/scheduler.ts';
import { runJanitor } from '../../../src/service/batches/janitor.ts';
import { suppress } from '../../../src/service/erasure/suppress.ts';
import { batchesAlone, REQUEST, type Alone } from './alone.ts';
import { ndjson } from './jobs.ts';
import { powerCuts } from './power-cut.ts';

const DAY_MS = 24 * 3_600_000;

async function begin({ batches, keyId }: Alone): Promise<{ id: string; put: (n: number) => Promise<number> }> {
  const id = String((await batches.create(keyId, REQUEST))['id']);
  return { id, put: (n) => batches.putPart(keyId, id, n, Readable.from([Buffer.from(ndjson({ id: 'pe_1' }))])) };
}

function janitor({ store, path }: Alone, afterMs = 0): Promise<void> {
  const now = (): number => Date.now() + afterMs;
  return runJanitor({
    store,
    rows: new BatchRows(store, now),
    folder: new BatchFolder(path),
    now,
    scheduler: new Scheduler(
      () => 0,
      () => performance.now(),
    ),
    waits: () => true,
    stopped: () => false,
  });
}

it.each<[string, (alone: Alone) => Promise<() => Promise<unknown>>]>([
  [
    'the replacement of a part',
    async (alone) => {
      const { put } = await begin(alone);
      await put(1);
      return () => put(1);
    },
  ],
  [
    'the end of a job',
    async (alone) => {
      const { batches, keyId } = alone;
      const { id, put } = await begin(alone);
      await put(1);
      await batches.complete(keyId, id);
      return async () => {
        batches.start();
        await expect.poll(() => batches.get(keyId, id)['state']).toBe('completed');
        // Waits for the last step.
        batches.stop();
        await batches.ended();
      };
    },
  ],
  [
    'the expiry of a job',
    async (alone) => {
      const { put } = await begin(alone);
      await put(1);
      return () => janitor(alone, 2 * DAY_MS);
    },
  ],
  [
    'an erasure',
    async (alone) => {
      const { store, batches, keyId } = alone;
      const { id, put } = await begin(alone);
      await put(1);
      await batches.complete(keyId, id);
      batches.start();
      await expect.poll(() => batches.get(keyId, id)['state']).toBe('completed');
      batches.stop();
      await batches.ended();
      return async () => {
        suppress(store, ['jane.doe@acme.example']);
        await janitor(alone);
        expect(batches.get(keyId, id)).toMatchObject({ counts: { succeeded: 0, failed: 1 } });
      };
    },
  ],
])('a power cut after %s leaves every file that the store names', async (_, prepare) => {
  const alone = await batchesAlone();
  const action = await prepare(alone);
  const missing = await powerCuts(alone.path);
  await action();
  expect(await missing()).toEqual([]);
});

it('a stray file is removed only after the deletion of its row is flushed', async () => {
  const alone = await batchesAlone();
  const { id, put } = await begin(alone);
  await put(1);
  const missing = await powerCuts(alone.path);
  const [{ file }] = alone.store.books.prepare('DELETE FROM batch_files RETURNING file').all() as [{ file: string }];
  await utimes(new BatchFolder(alone.path).at(id, file), 0, 0);
  await janitor(alone);
  expect(await missing()).toEqual([]);
});
