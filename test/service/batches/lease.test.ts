import { readdir } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { BatchRows } from '../../../src/service/batches/batch-rows.ts';
import { makeKey, makeStore, serveStore } from '../harness.ts';
import { creditsUsed, enrichLines, jobsOf, openForTest, SILENT_MAIL, VERIFY_TIMEOUT_MS } from './jobs.ts';

it('a process that lost its lease commits nothing of its running chunk', async () => {
  const path = await makeStore();
  const service = await serveStore({ store: path, mail: { world: SILENT_MAIL } });
  const jobs = jobsOf(service);
  const { id } = await jobs.create({ operation: 'verify', options: { timeout_ms: VERIFY_TIMEOUT_MS } });
  await jobs.put(
    id,
    1,
    enrichLines(3, (n) => ({ email: n === 0 ? 'joe@slow.example' : `no address ${n}` })),
  );
  await jobs.complete(id);
  await jobs.until(id, 'in_progress');
  const store = openForTest(path);
  const rows = new BatchRows(store, Date.now);
  // Another process takes the lease, as if this one had been suspended.
  expect(rows.lease('elsewhere:1:x', 10_000, () => true)).toBe(true);
  await expect.poll(async () => readdir(`${path}.batches/${id}`)).toEqual(expect.arrayContaining([expect.stringMatching(/^results-/)]));
  expect((await jobs.get(id)).counts).toMatchObject({ total: 3, unprocessed: 3 });
  rows.giveUpLease('elsewhere:1:x');
  expect(await jobs.until(id, 'completed')).toMatchObject({ counts: { succeeded: 3 }, credits_charged: 2 });
  expect((await jobs.lines(id)).map(({ line }) => line)).toEqual([1, 2, 3]);
});

it('the jobs of a service that ends are finished by the next one, and charged once', async () => {
  const path = await makeStore();
  const key = await makeKey(path, 'enterprise', { credits: 1_000 });
  const one = await serveStore({ store: path });
  const first = jobsOf(one, key);
  const ids = [];
  for (let n = 0; n < 4; n++) {
    const { id } = await first.create({ operation: 'enrich' });
    await first.put(id, 1, enrichLines(100));
    await first.complete(id);
    ids.push(id);
  }
  await one.close();
  const other = await serveStore({ store: path });
  const second = jobsOf(other, key);
  for (const id of ids) expect(await second.until(id, 'completed')).toMatchObject({ counts: { succeeded: 100 } });
  await other.close();
  expect(creditsUsed(openForTest(path))).toBe(400);
});
