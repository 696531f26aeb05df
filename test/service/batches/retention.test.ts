import { readdir, utimes } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { changeKey, listKeys } from '../../../src/service/accounts/keys.ts';
import { BatchFolder } from '../../../src/service/batches/batch-folder.ts';
import { BatchRows } from '../../../src/service/batches/batch-rows.ts';
import { Scheduler } from '../../../src/service/batches/scheduler.ts';
import { runJanitor } from '../../../src/service/batches/janitor.ts';
import { makeKey, makeStore, serveStore } from '../harness.ts';
import { enrichLines, jobsOf, openForTest } from './jobs.ts';

const SCHEDULER = new Scheduler(
  () => 0,
  () => performance.now(),
);
const HOURS_MS = 3_600_000;

describe('the janitor', () => {
  it('expires open jobs, and removes old jobs and stray files', async () => {
    const service = await serveStore();
    const jobs = jobsOf(service);
    const store = openForTest(service.store);
    const openJob = await jobs.create({ operation: 'enrich' });
    await jobs.put(openJob.id, 1, enrichLines(2));
    const done = await jobs.run({ operation: 'enrich' }, enrichLines(2));
    const janitor = (afterMs: number): Promise<void> => {
      const now = (): number => Date.now() + afterMs;
      return runJanitor({
        store,
        rows: new BatchRows(store, now),
        folder: new BatchFolder(service.store),
        now,
        scheduler: SCHEDULER,
        waits: () => true,
        stopped: () => false,
      });
    };
    const { handle, file } = await new BatchFolder(service.store).create(done.id, 'stray');
    await handle.close();
    await janitor(0);
    const filesOnDisk = (): Promise<string[]> => readdir(`${service.store}.batches`, { recursive: true });
    expect((await filesOnDisk()).some((name) => name.includes(file))).toBe(true);
    await utimes(`${service.store}.batches/${done.id}/${file}`, 0, 0);
    await janitor(25 * HOURS_MS);
    expect((await filesOnDisk()).some((name) => name.includes(file))).toBe(false);
    expect((await jobs.get(openJob.id)).state).toBe('expired');
    expect((await filesOnDisk()).some((name) => name.includes('part-'))).toBe(false);
    expect(await jobs.lines(done.id)).toHaveLength(2);
    await janitor(31 * 24 * HOURS_MS);
    expect((await jobs.send('GET', `/${done.id}`)).status).toBe(404);
  });

  it('cancels a job that was paused for a month, and its results can be fetched', async () => {
    const path = await makeStore();
    const key = await makeKey(path, 'enterprise', { credits: 2 });
    const jobs = jobsOf(await serveStore({ store: path }), key);
    const { id } = await jobs.create({ operation: 'enrich' });
    await jobs.put(id, 1, enrichLines(5));
    await jobs.complete(id);
    await jobs.until(id, 'paused');
    const store = openForTest(path);
    const janitor = (days: number): Promise<void> => {
      const now = (): number => Date.now() + days * 24 * HOURS_MS;
      return runJanitor({
        store,
        rows: new BatchRows(store, now),
        folder: new BatchFolder(path),
        now,
        scheduler: SCHEDULER,
        waits: () => true,
        stopped: () => false,
      });
    };
    await janitor(29);
    expect((await jobs.get(id)).state).toBe('paused');
    await janitor(31);
    expect(await jobs.until(id, 'cancelled')).toMatchObject({
      reason: { code: 'paused_too_long' },
      counts: { total: 5, succeeded: 2, unprocessed: 3 },
      credits_charged: 2,
    });
    await janitor(29);
    expect((await jobs.lines(id)).map(({ status }) => status)).toEqual([
      'succeeded',
      'succeeded',
      'unprocessed',
      'unprocessed',
      'unprocessed',
    ]);
    // A month after its end the job is removed.
    await janitor(31);
    expect((await jobs.send('GET', `/${id}`)).status).toBe(404);
  });

  it.each([
    [0, { state: 'cancelled', credits_charged: 2 }],
    [3, { state: 'completed', credits_charged: 5 }],
  ])('does not cancel a paused job that can continue after %i credits were added', async (addCredits, wanted) => {
    const path = await makeStore();
    const key = await makeKey(path, 'enterprise', { credits: 2 });
    const service = await serveStore({ store: path });
    const jobs = jobsOf(service, key);
    const { id } = await jobs.create({ operation: 'enrich' });
    await jobs.put(id, 1, enrichLines(5));
    await jobs.complete(id);
    await jobs.until(id, 'paused');
    await service.close();
    const store = openForTest(path);
    store.books.prepare("UPDATE batches SET times = json_set(times, '$.paused', 0)").run();
    changeKey(store, listKeys(store)[0]?.id ?? '', { addCredits });
    expect(await jobsOf(await serveStore({ store: path }), key).until(id, 'cancelled', 'completed')).toMatchObject(wanted);
  });
});
