import { expect, it } from 'vitest';
import { Readable } from 'node:stream';
import type { Announcement } from '../../../src/service/webhooks/announcement.ts';
import type { Webhooks } from '../../../src/service/webhooks/webhooks.ts';
import { Batches } from '../../../src/service/batches/batches.ts';
import { KeyRing } from '../../../src/service/key-ring.ts';
import { openDirectory } from '../../../src/service/store/directory.ts';
import { Journal } from '../../../src/service/store/journal.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { ServiceMeter } from '../../../src/service/watch/meter.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { makeKey, makeStore } from '../harness.ts';

it('the end of a job is told of once, as GET shows it, in the transaction that notes it; and again where that was undone', async () => {
  const path = await makeStore();
  await makeKey(path, 'enterprise');
  const store = openStore(path);
  const keyId = String(store.prepare('SELECT id FROM keys').get()?.['id']);
  const told: Announcement[] = [];
  let failures = 1;
  const clock = (): number => performance.now();
  const directory = openDirectory(store);
  const batches = new Batches({
    store, path, clock, now: Date.now, arrived: () => 0, meter: new ServiceMeter(), log: null,
    keys: new KeyRing(store, new Journal(store, () => undefined), clock),
    performing: { directory, evidence: directory, now: Date.now, verifier: { verify: async () => [] }, webhooks: { isDevelopment: false } as Webhooks },
    announce(announcement) {
      expect(store.isTransaction).toBe(true);
      // As when the store says that another process writes.
      if (failures-- > 0) throw Object.assign(new Error('busy'), { errcode: 5 });
      told.push(announcement);
    },
  });
  cleanUp(async () => {
    batches.stop();
    await batches.ended();
    store.close();
  });
  batches.start();
  const request = { operation: 'enrich', format: 'ndjson', options: {}, metadata: { a: 1 }, webhookUrl: 'https://hooks.example/b', maxCredits: null } as const;
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
