import { describe, expect, it, vi } from 'vitest';
import { cleanUp } from '../../support/clean-up.ts';
import { makeKey, makeStore, serveStore } from '../harness.ts';
import { jobsOf, ndjson } from './jobs.ts';

describe('jobs of a key', () => {
  it('jobs of a key are completed, cancelled and deleted without a body, even with a Content-Type', async () => {
    const jobs = jobsOf(await serveStore());
    const { id } = await jobs.create({ operation: 'enrich' });
    await jobs.put(id, 1, ndjson({ id: 'pe_1' }));
    const headers = { 'content-type': 'application/json' };
    expect((await jobs.send('POST', `/${id}/complete`, { headers })).status).toBe(200);
    await jobs.until(id, 'completed');
    expect((await jobs.send('POST', `/${id}/cancel`, { headers })).json['code']).toBe('job_state_conflict');
    expect((await jobs.send('DELETE', `/${id}`, { headers })).status).toBe(204);
    // A request that needs a body is refused without one.
    for (const [method, path] of [
      ['POST', ''],
      ['PATCH', `/${id}`],
    ] as const)
      expect((await jobs.send(method, path, { headers })).json['code']).toBe('invalid_json');
  });

  it('jobs of a key are visible only to that key, listed newest first, and gone after a delete', async () => {
    const store = await makeStore();
    const other = await makeKey(store, 'enterprise');
    const service = await serveStore({ store });
    const jobs = jobsOf(service);
    const ids = [];
    for (let n = 0; n < 3; n++) ids.unshift((await jobs.run({ operation: 'enrich' }, ndjson({ id: 'pe_1' }))).id);
    const first = await jobs.send('GET', '?limit=2');
    const next = await jobs.send('GET', `?limit=2&cursor=${(first.json['meta'] as { next_cursor: string }).next_cursor}`);
    expect([first, next].flatMap(({ json }) => (json['data'] as { id: string }[]).map(({ id }) => id))).toEqual(ids);
    expect(first.headers.get('link')).toContain('cursor=');
    const [id = ''] = ids;
    const others = jobsOf(service, other);
    for (const reply of [
      await others.send('GET', `/${id}`),
      await others.cancel(id),
      await others.complete(id),
      await others.put(id, 1, '{}'),
      await others.send('DELETE', `/${id}`),
      await others.send('GET', `/${id}/results`),
    ])
      expect(reply.status).toBe(404);
    expect((await others.send('GET', '')).json['data']).toEqual([]);
    expect((await jobs.cancel(id)).json['code']).toBe('job_state_conflict');
    expect((await jobs.send('DELETE', `/${id}`)).status).toBe(204);
    expect((await jobs.send('GET', `/${id}`)).status).toBe(404);
    const { id: open } = await jobs.create({ operation: 'enrich' });
    expect((await jobs.send('DELETE', `/${open}`)).json['code']).toBe('job_state_conflict');
  });

  it('jobs of a key are the same for an Idempotency-Key for a day, and others after that', async () => {
    const jobs = jobsOf(await serveStore());
    const create = async (): Promise<string> => (await jobs.create({ operation: 'verify' }, { 'idempotency-key': 'weekly' })).id;
    const day = 24 * 3_600_000;
    const startMs = Date.now();
    cleanUp(() => void vi.restoreAllMocks());
    const ids: string[] = [];
    for (const afterMs of [0, day - 60_000, day + 60_000, 2 * day, 2 * day + 120_000]) {
      vi.spyOn(Date, 'now').mockReturnValue(startMs + afterMs);
      ids.push(await create());
    }
    expect(ids.map((id) => ids.indexOf(id))).toEqual([0, 0, 2, 2, 4]);
  });

  it('jobs of a key are created once for an Idempotency-Key, and a refusal names every problem', async () => {
    const service = await serveStore();
    const jobs = jobsOf(service);
    const { id } = await jobs.create({ operation: 'verify' }, { 'idempotency-key': 'k' });
    for (let n = 0; n < 2; n++)
      expect((await jobs.send('POST', `/${id}/cancel`, { headers: { 'idempotency-key': 'c' } })).status).toBe(200);
    await jobs.put((await jobs.create({ operation: 'enrich' }, { 'idempotency-key': 'p' })).id, 1, ndjson({ id: 'pe_1' }));
    const { id: sent } = await jobs.create({ operation: 'enrich' }, { 'idempotency-key': 'p' });
    for (const replayed of [null, 'true']) {
      const reply = await jobs.send('POST', `/${sent}/complete`, { headers: { 'idempotency-key': 'd' } });
      expect([reply.status, reply.json['id'], reply.headers.get('idempotency-replayed')]).toEqual([200, sent, replayed]);
    }
    const again = await service.post('/v1/batches', { operation: 'verify' }, { headers: { 'idempotency-key': 'k' } });
    expect([again.status, again.json['id'], again.headers.get('location'), again.headers.get('idempotency-replayed')]).toEqual([
      201,
      id,
      `/v1/batches/${id}`,
      'true',
    ]);
    const refused = await service.post('/v1/batches', {
      operation: 'verify',
      options: { mode: 'fast', fields: [] },
      webhook_url: 'http://hooks.example',
      metadata: { long: 'x'.repeat(5_000) },
      max_credits: 0,
    });
    expect((refused.json['errors'] as { pointer: string }[]).map(({ pointer }) => pointer).sort()).toEqual([
      '/max_credits',
      '/metadata',
      '/options/fields',
      '/options/mode',
      '/webhook_url',
    ]);
    for (const [depth, status] of [
      [99, 201],
      [100, 422],
      [200_000, 422],
    ] as const)
      expect(
        (await service.post('/v1/batches', `{"operation": "enrich", "metadata": {"a": ${'['.repeat(depth)}${']'.repeat(depth)}}}`)).status,
        `${depth}`,
      ).toBe(status);
  });
});
