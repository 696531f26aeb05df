import { expect, it } from 'vitest';
import { Readable } from 'node:stream';
import type { Announcement } from '../../../src/service/webhooks/announcement.ts';
import { batchesAlone, REQUEST } from './alone.ts';

it('the end of a job is announced in the transaction that commits it, in the form of GET, and again after a rollback', async () => {
  const announced: Announcement[] = [];
  let failures = 1;
  const { store, keyId, batches } = await batchesAlone({
    announce(announcement) {
      expect(store.books.isTransaction).toBe(true);
      // The error of a store that another process writes to.
      if (failures-- > 0) throw Object.assign(new Error('busy'), { errcode: 5 });
      announced.push(announcement);
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
  await expect.poll(() => announced.length).toBe(1);
  const bad = await begin('nothing\n');
  await expect.poll(() => announced.length).toBe(2);
  const { id: cancelled } = (await batches.create(keyId, request)) as { id: string };
  await batches.cancel(keyId, cancelled);
  await expect.poll(() => announced.length).toBe(3);
  expect(announced).toEqual(
    [
      ['batch.completed', done],
      ['batch.failed', bad],
      ['batch.cancelled', cancelled],
    ].map(([type, id = '']) => ({ type, keyId, data: batches.get(keyId, id), webhookUrl: 'https://hooks.example/b' })),
  );
});
