import { expect, it } from 'vitest';
import { loadPeople } from '../../../src/service/store/rows/load.ts';
import { makeKey, makeStore, serveStore, type Reply } from '../harness.ts';
import { jobsOf, ndjson } from './jobs.ts';

const lines = (count: number): string => ndjson(...Array.from({ length: count }, () => ({ id: 'pe_1' })));

async function begin(maxCredits: number | null, count: number) {
  const store = await makeStore();
  const jobs = jobsOf(await serveStore({ store }), await makeKey(store, 'enterprise', { credits: 100 }));
  const { id } = await jobs.create({ operation: 'enrich', max_credits: maxCredits });
  await jobs.put(id, 1, lines(count));
  const change = (body: unknown): Promise<Reply> =>
    jobs.send('PATCH', `/${id}`, { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
  return { jobs, id, change };
}

it('a job that paused at max_credits goes on when the limit is raised, and never exceeds it', async () => {
  const { jobs, id, change } = await begin(4, 9);
  await jobs.complete(id);
  expect(await jobs.until(id, 'paused')).toMatchObject({
    reason: { code: 'max_credits', detail: expect.stringContaining('PATCH') },
    credits_charged: 4,
  });
  const raised = await change({ max_credits: 6 });
  expect([raised.status, raised.json]).toMatchObject([200, { id, max_credits: 6, counts: { total: 9 } }]);
  await expect.poll(async () => (await jobs.get(id)).credits_charged).toBe(6);
  expect(await jobs.until(id, 'paused')).toMatchObject({ reason: { code: 'max_credits' }, credits_charged: 6 });
  // Setting the same value again is allowed.
  expect((await change({ max_credits: 6 })).status).toBe(200);
  expect((await change({ max_credits: 9 })).status).toBe(200);
  expect(await jobs.until(id, 'completed')).toMatchObject({ reason: null, counts: { succeeded: 9 }, credits_charged: 9 });
  expect((await change({ max_credits: 10 })).json['code']).toBe('job_state_conflict');
});

it('a job pauses with the reason max_credits when the next line costs more than the limit leaves', async () => {
  const store = await makeStore((open) => void loadPeople(open, [{ id: 'pe_hired', email: 'hired@acme.example', name: 'Hired' }], 'test'));
  const jobs = jobsOf(await serveStore({ store }), await makeKey(store, 'enterprise', { credits: 100 }));
  const { id } = await jobs.create({ operation: 'enrich', options: { verify: true }, max_credits: 3 });
  await jobs.put(id, 1, ndjson({ id: 'pe_hired' }, { id: 'pe_hired' }));
  await jobs.complete(id);
  expect(await jobs.until(id, 'paused')).toMatchObject({ credits_charged: 2, reason: { code: 'max_credits' } });
});

it('max_credits cannot be lowered, added to a job without it, or changed with another body', async () => {
  const { jobs, id, change } = await begin(4, 1);
  for (const body of [
    { max_credits: 3 },
    { max_credits: 0 },
    {},
    { max_credits: null },
    { max_credits: 5, metadata: {} },
    [],
    { max_credits: '5' },
  ])
    expect([body, (await change(body)).status]).toEqual([body, 422]);
  expect((await change({ max_credits: 3 })).json).toMatchObject({
    code: 'validation_failed',
    errors: [{ pointer: '/max_credits', code: 'range', detail: 'max_credits can be raised only: it is 4' }],
  });
  expect((await jobs.send('GET', `/${id}`)).json['max_credits']).toBe(4);
  await jobs.cancel(id);
  expect((await change({ max_credits: 5 })).json['code']).toBe('job_state_conflict');
  const free = await begin(null, 1);
  expect((await free.change({ max_credits: 5 })).json).toMatchObject({ code: 'validation_failed', errors: [{ pointer: '/max_credits' }] });
});

it('only the key of a job can change it', async () => {
  const store = await makeStore();
  const [mine, theirs] = [await makeKey(store, 'enterprise'), await makeKey(store, 'enterprise')];
  const service = await serveStore({ store });
  const { id } = await jobsOf(service, mine).create({ operation: 'enrich', max_credits: 4 });
  const change = await jobsOf(service, theirs).send('PATCH', `/${id}`, {
    body: '{"max_credits":5}',
    headers: { 'content-type': 'application/json' },
  });
  expect(change.status).toBe(404);
});
