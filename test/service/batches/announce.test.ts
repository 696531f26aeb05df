import { expect, it } from 'vitest';
import { Readable } from 'node:stream';
import type { Announcement } from '../../../src/service/webhooks/announcement.ts';
import { batchesAlone, REQUEST } from './alone.ts';

it('the end of a job is told of once, as GET shows it, in the transaction that notes it; and again where that was undone', async () => {
  const told: Announcement[] = [];
  let failures = 1;
  const { store, keyId, batches } = await batchesAlone({
    announce(announcement) {
      expect(store.isTransaction).toBe(true);
      // As when the store says that another process writes.
      if (failures-- > 0) throw Object.assign(new Error('busy'), { errcode: 5 });
      told.push(announcement);
    },
  });
  batches.start();
  const request = { ...REQUEST, metadata: { a: 1 }, webhookUrl: 'https://hooks.example/b' };
  const begin = async (part: string): Promise<string> => {
    const { id } = (await batches.create(keyId, request)) as { id: string };
    await batches.putPart(keyId, id, 1, Readable.from([Buffer.from(part)]));
    await batches.complete(keyId, id);
    return id;
  };
  const done = await begin('{"id":"pe_1"}\n');
  await expect.poll(() => told.length).toBe(1);
  const bad = await begin('nothing\n');
  await expect.poll(() => told.length).toBe(2);
  const { id: cancelled } = (await batches.create(keyId, request)) as { id: string };
  await batches.cancel(keyId, cancelled);
  await expect.poll(() => told.length).toBe(3);
  expect(told).toEqual([['batch.completed', done], ['batch.failed', bad], ['batch.cancelled', cancelled]].map(([type, id = '']) => ({ type, keyId, data: batches.get(keyId, id), webhookUrl: 'https://hooks.example/b' })));
});
