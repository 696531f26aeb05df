import { Readable } from 'node:stream';
import { utimes } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { BatchRows } from '../../../src/service/batches/batch-rows.ts';
import { BatchFolder } from '../../../src/service/batches/folder.ts';
import { Pacer } from '../../../src/service/batches/pacer.ts';
import { tidyUp } from '../../../src/service/batches/tidy.ts';
import { suppress } from '../../../src/service/store/suppress.ts';
import { batchesAlone, REQUEST, type Alone } from './alone.ts';
import { ndjson } from './jobs.ts';
import { powerCuts } from './power-cut.ts';

const DAY_MS = 24 * 3_600_000;

async function begin({ batches, keyId }: Alone): Promise<{ id: string; put: (n: number) => Promise<number> }> {
  const id = String((await batches.create(keyId, REQUEST))['id']);
  return { id, put: (n) => batches.putPart(keyId, id, n, Readable.from([Buffer.from(ndjson({ id: 'pe_1' }))])) };
}

function tidy({ store, path }: Alone, afterMs = 0): Promise<void> {
  const now = (): number => Date.now() + afterMs;
  return tidyUp({ store, rows: new BatchRows(store, now), folder: new BatchFolder(path), now, pacer: new Pacer(() => 0, () => performance.now()), waits: () => true, stopped: () => false });
}

it.each<[string, (alone: Alone) => Promise<() => Promise<unknown>>]>([
  ['a part is replaced', async (alone) => {
    const { put } = await begin(alone);
    await put(1);
    return () => put(1);
  }],
  ['a job ends', async (alone) => {
    const { batches, keyId } = alone;
    const { id, put } = await begin(alone);
    await put(1);
    await batches.complete(keyId, id);
    return async () => {
      batches.start();
      await expect.poll(() => batches.get(keyId, id)['state']).toBe('completed');
      // Its last step has gone to its end.
      batches.stop();
      await batches.ended();
    };
  }],
  ['a job expires', async (alone) => {
    const { put } = await begin(alone);
    await put(1);
    return () => tidy(alone, 2 * DAY_MS);
  }],
  ['somebody is erased', async (alone) => {
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
      await tidy(alone);
      expect(batches.get(keyId, id)).toMatchObject({ counts: { succeeded: 0, failed: 1 } });
    };
  }],
])('a power cut after %s leaves no job without a file that it would need', async (_, prepare) => {
  const alone = await batchesAlone();
  const what = await prepare(alone);
  const missing = await powerCuts(alone.path);
  await what();
  expect(await missing()).toEqual([]);
});

it('what was left by a process that was killed is removed no sooner than the store has forgotten it for good', async () => {
  const alone = await batchesAlone();
  const { id, put } = await begin(alone);
  await put(1);
  const missing = await powerCuts(alone.path);
  const [{ file }] = alone.store.prepare('DELETE FROM batch_files RETURNING file').all() as [{ file: string }];
  await utimes(new BatchFolder(alone.path).at(id, file), 0, 0);
  await tidy(alone);
  expect(await missing()).toEqual([]);
});
