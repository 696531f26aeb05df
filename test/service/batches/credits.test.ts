import { describe, expect, it } from 'vitest';
import { changeKey, listKeys } from '../../../src/service/accounts/keys.ts';
import { BatchRows } from '../../../src/service/batches/batch-rows.ts';
import { makeKey, makeStore, serveStore } from '../harness.ts';
import { creditsUsed, enrichLines, jobsOf, openForTest } from './jobs.ts';

describe('credits', () => {
  it('credits that run out pause a job, which goes on when credits are added, in this or the next process', async () => {
    const path = await makeStore();
    const key = await makeKey(path, 'enterprise', { credits: 3 });
    const store = openForTest(path);
    const first = await serveStore({ store: path });
    const jobs = jobsOf(first, key);
    const { id } = await jobs.create({ operation: 'enrich' });
    await jobs.put(
      id,
      1,
      enrichLines(10, (n) => (n % 2 === 0 ? { id: 'pe_1' } : { email: 'nobody@acme.example' })),
    );
    await jobs.complete(id);
    expect(await jobs.until(id, 'paused')).toMatchObject({
      reason: { code: 'insufficient_credits' },
      counts: { total: 10, succeeded: 3, unprocessed: 5 },
      credits_charged: 3,
    });
    expect((await first.post('/v1/enrich', { id: 'pe_1' }, { key })).status).toBe(402);
    expect((await jobs.send('GET', `/${id}/results`)).json['code']).toBe('job_state_conflict');
    changeKey(store, listKeys(store)[0]?.id ?? '', { addCredits: 1 });
    // The job checks for credits every second.
    await expect.poll(async () => (await jobs.get(id)).credits_charged).toBe(4);
    await first.close();
    // The last line has no match. Without credits it is not looked up either.
    changeKey(store, listKeys(store)[0]?.id ?? '', { addCredits: 2 });
    const again = jobsOf(await serveStore({ store: path }), key);
    expect(await again.until(id, 'completed')).toMatchObject({
      reason: null,
      counts: { total: 10, succeeded: 5, not_found: 5, unprocessed: 0 },
      credits_charged: 5,
    });
    expect((await again.lines(id)).map(({ line, credits }) => [line, credits])).toEqual(
      Array.from({ length: 10 }, (_, n) => [n + 1, n % 2 === 0 ? 1 : 0]),
    );
    expect(creditsUsed(store)).toBe(5);
  });

  it('a job never costs more than its max_credits, even if the key has more credits', async () => {
    const jobs = jobsOf(await serveStore());
    const { id } = await jobs.create({ operation: 'enrich', max_credits: 4 });
    await jobs.put(id, 1, enrichLines(9));
    await jobs.complete(id);
    expect(await jobs.until(id, 'paused')).toMatchObject({
      reason: { code: 'max_credits' },
      counts: { succeeded: 4, unprocessed: 5 },
      credits_charged: 4,
    });
    expect((await jobs.cancel(id)).json['state']).toBe('cancelling');
    expect(await jobs.until(id, 'cancelled')).toMatchObject({ counts: { total: 9, succeeded: 4, unprocessed: 5 } });
    expect((await jobs.lines(id)).map(({ status, error }) => [status, error])).toEqual([
      ...Array.from({ length: 4 }, () => ['succeeded', null]),
      ...Array.from({ length: 5 }, () => ['unprocessed', null]),
    ]);
    expect((await jobs.lines(id, '?set=unprocessed')).map(({ line }) => line)).toEqual([5, 6, 7, 8, 9]);
    expect((await jobs.cancel(id)).json['state']).toBe('cancelled');
  });

  it('a job and the requests of its key never spend the same credit twice', async () => {
    const path = await makeStore();
    const key = await makeKey(path, 'enterprise', { credits: 2_500 });
    const service = await serveStore({ store: path });
    const jobs = jobsOf(service, key);
    const { id } = await jobs.create({ operation: 'enrich' });
    await jobs.put(id, 1, enrichLines(4_000));
    await jobs.complete(id);
    let requestCredits = 0;
    for (let state = ''; state !== 'paused'; { state } = await jobs.get(id))
      if ((await service.post('/v1/enrich', { id: 'pe_1' }, { key })).status === 200) requestCredits++;
    expect((await jobs.get(id)).credits_charged + requestCredits).toBe(2_500);
    await service.close();
    expect(creditsUsed(openForTest(path))).toBe(2_500);
  });

  it('in the plan trial each line uses one call, and lines without a call are unprocessed', async () => {
    const path = await makeStore();
    const key = await makeKey(path, 'trial');
    openForTest(path).books.exec('UPDATE keys SET calls_used = 900');
    const jobs = jobsOf(await serveStore({ store: path }), key);
    const { id } = await jobs.create({ operation: 'enrich' });
    await jobs.put(
      id,
      1,
      enrichLines(200, (n) => ({ custom_id: `c${n}`, id: 'pe_1' })),
    );
    await jobs.complete(id);
    const store = openForTest(path);
    const rows = new BatchRows(store, Date.now);
    await expect.poll(() => rows.find(id)?.state).toBe('completed');
    // Three calls created, filled and completed the job. No call is left for its status.
    expect(listKeys(store)[0]?.callsUsed).toBe(1_000);
    expect((await jobs.send('GET', `/${id}`)).status).toBe(402);
    store.books.exec('UPDATE keys SET calls_used = 900');
    await expect
      .poll(async () => (await jobs.send('GET', `/${id}`)).json)
      .toMatchObject({ reason: { code: 'insufficient_credits' }, counts: { total: 200, succeeded: 97, unprocessed: 103 } });
    const unprocessed = await jobs.lines(id, '?set=unprocessed');
    expect(unprocessed).toHaveLength(103);
    expect(unprocessed[0]).toMatchObject({ custom_id: 'c97', error: { code: 'insufficient_credits' } });
  });
});
