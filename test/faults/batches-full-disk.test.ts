/** A full disk for the results or parts of a batch job: the job waits, the service continues, and with free space the job ends as usual. */
import { spawnSync } from 'node:child_process';
import { describe, expect, it, vi } from 'vitest';
import { BatchFolder } from '../../src/service/batches/batch-folder.ts';
import { jobsOf, ndjson } from '../service/batches/jobs.ts';
import { KEY, makeStore, serveStore } from '../service/harness.ts';
import { ensureRoot } from '../services/debian.ts';
import { mountSmallDisk } from '../services/tmpfs.ts';
import { cleanUp } from '../support/clean-up.ts';

const LINES = 3_000;

describe.skipIf(!ensureRoot())('a full disk', () => {
  it('pauses a job, which names the reason, and continues with free space', async () => {
    const path = await makeStore();
    const disk = mountSmallDisk(`${path}.batches`, '2m');
    // Unmounted before its folder is removed.
    cleanUp(() => void spawnSync('umount', ['-l', disk.path]));
    const service = await serveStore({ store: path });
    const jobs = jobsOf(service);
    const { id } = await jobs.create({ operation: 'enrich' });
    await jobs.put(id, 1, ndjson(...Array.from({ length: LINES }, (_, n) => ({ custom_id: String(n), id: 'pe_1' }))));
    await jobs.complete(id);
    const asked = vi.spyOn(BatchFolder.prototype, 'hasRoom');
    cleanUp(() => void vi.restoreAllMocks());
    const { counts, times } = await jobs.until(id, 'paused');
    expect((await jobs.get(id)).reason?.code).toBe('disk_full');
    // It checks for space, and does not work on lines whose results would not fit.
    await expect.poll(() => asked.mock.results.length).toBeGreaterThan(0);
    expect(await asked.mock.results[0]?.value).toBe(false);
    expect((await jobs.get(id)).times).toEqual(times);
    expect(counts.unprocessed).toBeGreaterThan(0);
    expect((await service.post('/v1/enrich', { id: 'pe_1' }, { key: KEY })).status).toBe(200);
    const other = await jobs.create({ operation: 'enrich' });
    const refused = await jobs.put(other.id, 1, Buffer.alloc(4 * 1024 * 1024, '\n'));
    expect([refused.status, refused.json['code'], refused.headers.get('retry-after')]).toEqual([503, 'disk_full', '60']);
    disk.free();
    expect(await jobs.until(id, 'completed')).toMatchObject({
      reason: null,
      counts: { total: LINES, succeeded: LINES },
      credits_charged: LINES,
    });
    expect((await jobs.lines(id)).map(({ custom_id: name }) => Number(name))).toEqual(Array.from({ length: LINES }, (_, n) => n));
  });

  it('refuses parts and erasures when it takes no write at all', async () => {
    const path = await makeStore();
    const disk = mountSmallDisk(`${path}.batches`, '2m');
    cleanUp(() => void spawnSync('umount', ['-l', disk.path]));
    const jobs = jobsOf(await serveStore({ store: path }));
    const ended = await jobs.run({ operation: 'enrich' }, ndjson({ id: 'pe_1' }));
    const { id } = await jobs.create({ operation: 'enrich' });
    expect(spawnSync('mount', ['-o', 'remount,ro', disk.path]).status).toBe(0);
    const refused = await jobs.put(id, 1, ndjson({ id: 'pe_1' }));
    expect([refused.status, refused.json['code'], refused.headers.get('retry-after')]).toEqual([503, 'overloaded', '60']);
    expect((await jobs.send('DELETE', `/${ended.id}`)).status).toBe(503);
    expect(await jobs.lines(ended.id)).toHaveLength(1);
    spawnSync('mount', ['-o', 'remount,rw', disk.path]);
    expect((await jobs.send('DELETE', `/${ended.id}`)).status).toBe(204);
    expect((await jobs.send('GET', `/${ended.id}`)).status).toBe(404);
    expect((await jobs.put(id, 1, ndjson({ id: 'pe_1' }))).status).toBe(200);
  });

  it('counts as full when it takes no write, whatever free space it reports', async () => {
    const path = await makeStore();
    const disk = mountSmallDisk(`${path}.batches`, '64m');
    cleanUp(() => void spawnSync('umount', ['-l', disk.path]));
    const jobs = jobsOf(await serveStore({ store: path }));
    const { id } = await jobs.create({ operation: 'enrich', max_credits: 1 });
    await jobs.put(id, 1, ndjson({ id: 'pe_1' }, { id: 'pe_1' }));
    await jobs.complete(id);
    await jobs.until(id, 'paused');
    expect(spawnSync('mount', ['-o', 'remount,ro', disk.path]).status).toBe(0);
    const asked = vi.spyOn(BatchFolder.prototype, 'hasRoom');
    cleanUp(() => void vi.restoreAllMocks());
    await jobs.send('PATCH', `/${id}`, { body: '{"max_credits":2}', headers: { 'content-type': 'application/json' } });
    await expect.poll(() => asked.mock.settledResults.map(({ value }) => value)).toContain(false);
    expect(await jobs.get(id)).toMatchObject({ state: 'paused', reason: { code: 'disk_full' }, credits_charged: 1 });
    spawnSync('mount', ['-o', 'remount,rw', disk.path]);
    expect(await jobs.until(id, 'completed')).toMatchObject({ counts: { succeeded: 2 }, credits_charged: 2 });
  });
});
