import { PassThrough } from 'node:stream';
import { expect, it, vi } from 'vitest';
import { writeWhenFree } from '../../../src/service/batches/write-when-free.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { isBusy } from '../../../src/sqlite/busy.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { makeStore } from '../harness.ts';
import { batchesAlone, REQUEST } from './alone.ts';

it('the changes of concurrent calls are written in one transaction', async () => {
  const { store, keyId, batches } = await batchesAlone();
  const done = vi.spyOn(store.books, 'exec');
  const jobs = await Promise.all(Array.from({ length: 5 }, () => batches.create(keyId, REQUEST)));
  await Promise.allSettled([
    batches.cancel(keyId, String(jobs[0]?.['id'])),
    batches.complete(keyId, String(jobs[1]?.['id'])),
    batches.delete(keyId, String(jobs[2]?.['id'])),
  ]);
  expect(done.mock.calls.filter(([sql]) => sql === 'COMMIT')).toHaveLength(2);
  // A refused change does not undo the others.
  expect(jobs.slice(0, 3).map((job) => batches.get(keyId, String(job['id']))['state'])).toEqual(['cancelling', 'open', 'open']);
});

it('a part is refused and leaves no row if its job is deleted during the upload', async () => {
  const { store, keyId, batches } = await batchesAlone();
  batches.start();
  const id = String((await batches.create(keyId, REQUEST))['id']);
  const part = new PassThrough();
  const sent = batches.putPart(keyId, id, 1, part);
  part.write('{}\n');
  await batches.cancel(keyId, id);
  await expect.poll(() => batches.get(keyId, id)['state']).toBe('cancelled');
  await batches.delete(keyId, id);
  part.end();
  await expect(sent).rejects.toMatchObject({ code: 'not_found' });
  expect(store.books.prepare('SELECT count(*) AS n FROM batch_files').get()).toEqual({ n: 0 });
});

it('a store without room refuses changes with disk_full, and accepts them when there is room', async () => {
  let nowMs = 0;
  const { store, keyId, batches } = await batchesAlone({}, () => (nowMs += 500));
  const pages = Number(store.books.prepare('PRAGMA page_count').get()?.['page_count']);
  store.books.exec(`PRAGMA max_page_count = ${pages}`);
  const long = { ...REQUEST, metadata: { long: 'x'.repeat(4_000) } };
  const refused = await Promise.all(Array.from({ length: 20 }, () => batches.create(keyId, long).catch((error: unknown) => error)));
  for (const error of refused) expect(error).toMatchObject({ code: 'disk_full', status: 503 });
  store.books.exec('PRAGMA max_page_count = 100000');
  expect(batches.page(keyId, Infinity, 100).jobs).toEqual([]);
  await vi.waitFor(async () => expect(await batches.create(keyId, long)).toMatchObject({ state: 'open' }), { timeout: 10_000 });
});

it('a background write waits while another process writes, and gives up at a stop', async () => {
  const path = await makeStore();
  const [store, other] = [openStore(path, 0), openStore(path)];
  cleanUp(() => [store, other].forEach((one) => one.close()));
  let isStopped = false;
  const done: string[] = [];
  const write = (): Promise<unknown> =>
    writeWhenFree(
      { store, stopped: () => isStopped },
      () => done.push('work'),
      () => done.push('written'),
    );
  other.books.exec('BEGIN IMMEDIATE');
  const waited = write();
  other.books.exec('ROLLBACK');
  await waited;
  expect(done).toEqual(['work', 'written']);
  other.books.exec('BEGIN IMMEDIATE');
  const refused = write().catch((error: unknown) => error);
  isStopped = true;
  expect(isBusy(await refused)).toBe(true);
  other.books.exec('ROLLBACK');
  expect(done).toEqual(['work', 'written']);
});
