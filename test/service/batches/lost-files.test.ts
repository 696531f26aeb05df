import { readdir, rm, truncate } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { makeStore, serveStore } from '../harness.ts';
import { enrichLines, jobsOf } from './jobs.ts';

it('a job fails if its files are gone', async () => {
  const path = await makeStore();
  const service = await serveStore({ store: path });
  const jobs = jobsOf(service);
  const { id } = await jobs.create({ operation: 'enrich' });
  await jobs.put(id, 1, enrichLines(3));
  await rm(`${path}.batches`, { recursive: true });
  await jobs.complete(id);
  expect(await jobs.until(id, 'failed')).toMatchObject({ reason: { code: 'files_lost' } });
});

it.each(['part-', 'results-'])('a job fails if its %s file is truncated', async (prefix) => {
  const path = await makeStore();
  const jobs = jobsOf(await serveStore({ store: path }));
  const { id } = await jobs.create({ operation: 'enrich', max_credits: 2 });
  await jobs.put(id, 1, enrichLines(5));
  if (prefix === 'results-') {
    await jobs.complete(id);
    await jobs.until(id, 'paused');
  }
  const name = (await readdir(`${path}.batches/${id}`)).find((file) => file.startsWith(prefix));
  await truncate(`${path}.batches/${id}/${name}`, 10);
  if (prefix === 'part-') await jobs.complete(id);
  else await jobs.send('PATCH', `/${id}`, { body: '{"max_credits":5}', headers: { 'content-type': 'application/json' } });
  expect(await jobs.until(id, 'failed')).toMatchObject({ reason: { code: 'files_lost' } });
});

it('the results of a completed job are not found if their file is truncated', async () => {
  const service = await serveStore();
  const jobs = jobsOf(service);
  const { id } = await jobs.run({ operation: 'enrich' }, enrichLines(5));
  // The folder may still hold the part for a moment.
  const name = (await readdir(`${service.store}.batches/${id}`)).find((file) => file.startsWith('results-')) ?? expect.fail();
  await truncate(`${service.store}.batches/${id}/${name}`, 10);
  expect((await jobs.send('GET', `/${id}/results`)).status).toBe(404);
});
