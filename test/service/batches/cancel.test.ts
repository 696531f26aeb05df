import { describe, expect, it } from 'vitest';
import { listKeys, revokeKey } from '../../../src/service/accounts/keys.ts';
import { BatchRows } from '../../../src/service/batches/batch-rows.ts';
import { makeKey, makeStore, serveStore } from '../harness.ts';
import { enrichLines, jobsOf, openForTest, SILENT_MAIL, VERIFY_TIMEOUT_MS } from './jobs.ts';

describe('a cancel', () => {
  it('lets lines under way finish, and processes no others', async () => {
    const service = await serveStore({ mail: { world: SILENT_MAIL } });
    const jobs = jobsOf(service);
    const { id } = await jobs.create({ operation: 'verify', options: { timeout_ms: VERIFY_TIMEOUT_MS } });
    await jobs.put(
      id,
      1,
      enrichLines(1_500, (n) => ({ email: n === 0 ? 'joe@slow.example' : 'no address' })),
    );
    await jobs.complete(id);
    await jobs.until(id, 'in_progress');
    await jobs.cancel(id);
    expect(await jobs.until(id, 'cancelled')).toMatchObject({ counts: { total: 1_500, succeeded: 1_000, unprocessed: 500 } });
    expect(await jobs.lines(id)).toHaveLength(1_500);
  });

  it('ends a job whose input was not completed', async () => {
    const jobs = jobsOf(await serveStore());
    const { id } = await jobs.create({ operation: 'enrich' });
    await jobs.put(id, 1, enrichLines(3));
    await jobs.cancel(id);
    expect(await jobs.until(id, 'cancelled')).toMatchObject({ counts: { total: 0 }, parts: { count: 1 } });
    expect(await jobs.results(id)).toBe('');
  });

  it('follows for the jobs of a revoked key', async () => {
    const path = await makeStore();
    const key = await makeKey(path, 'enterprise', { credits: 1 });
    const jobs = jobsOf(await serveStore({ store: path }), key);
    const { id } = await jobs.create({ operation: 'enrich' });
    await jobs.put(id, 1, enrichLines(3));
    await jobs.complete(id);
    await jobs.until(id, 'paused');
    const store = openForTest(path);
    revokeKey(store, listKeys(store)[0]?.id ?? '');
    const rows = new BatchRows(store, Date.now);
    await expect.poll(() => rows.find(id)?.state).toBe('cancelled');
    expect(rows.find(id)).toMatchObject({ reason: { code: 'key_revoked' }, counts: { succeeded: 1 } });
  });
});
