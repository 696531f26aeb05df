import { beforeEach, describe, expect, it } from 'vitest';
import { bulkEnrichEndpoint, type BulkEnrichDependencies } from '../../../src/service/lookups/enrich-bulk-route.ts';
import type { Steps } from '../../../src/util/steps.ts';
import { toEnd } from '../../support/steps.ts';
import { makeKey, type Served } from '../harness.ts';
import { charged, serveLookups } from './lookup-service.ts';

let store: string;
let service: Served;
beforeEach(async () => {
  service = await serveLookups();
  ({ store } = service);
});

describe('POST /v1/enrich/bulk', () => {
  const requests = [
    { params: { email: 'ada@acme.example', fields: ['name'] }, metadata: { row: 1 } },
    { params: { email: 'nobody@acme.example' } },
    { params: { emial: 'x' } },
    { params: { domain: 'acme.example' }, metadata: 'two' },
  ];

  it('answers each request in order as it would alone, charges the hits, and takes one request of the quota for each', async () => {
    const key = await makeKey(store, 'growth', { credits: 10 });
    const reply = await service.post('/v1/enrich/bulk', { requests }, { key });
    expect(reply.json['data']).toMatchObject([
      { status: 200, record: { name: 'Ada Éxample' }, error: null, metadata: { row: 1 } },
      { status: 404, record: null, error: { code: 'no_match' }, metadata: null },
      { status: 422, record: null, error: { code: 'validation_failed', errors: [{ pointer: '/emial' }, { pointer: '' }] }, metadata: null },
      { status: 200, record: { company: { name: 'Acme' }, verified: false }, error: null, metadata: 'two' },
    ]);
    expect([charged(reply), reply.headers.get('x-ratelimit-remaining')]).toEqual(['2', '996']);
  });

  it('answers 429 until the quota holds the bulk, and 422 to a bulk that no quota can hold', async () => {
    const key = await makeKey(store, 'trial');
    const many = (count: number): unknown => ({ requests: Array.from({ length: count }, () => requests[0]) });
    expect((await service.post('/v1/enrich/bulk', many(61), { key })).json).toMatchObject({
      code: 'validation_failed',
      errors: [{ pointer: '/requests', code: 'too_many' }],
    });
    expect((await service.post('/v1/enrich/bulk', many(40), { key })).status).toBe(200);
    const refused = await service.post('/v1/enrich/bulk', many(40), { key });
    expect([refused.status, refused.json['code'], Number(refused.headers.get('retry-after'))]).toEqual([
      429,
      'rate_limited',
      expect.toSatisfy((seconds: number) => seconds >= 20 && seconds <= 22),
    ]);
  });

  it.each([
    [{}, '', 'required'],
    [{ requests: [] }, '/requests', 'too_few'],
    [{ requests: Array.from({ length: 101 }, () => ({ params: {} })) }, '/requests', 'too_many'],
    [{ requests: [5] }, '/requests/0', 'type'],
    [{ requests: [{ metadata: 1 }] }, '/requests/0', 'required'],
    [{ requests: [{ params: {}, extra: 1 }] }, '/requests/0', 'unknown_field'],
  ])('refuses %j at %j: %s', async (body, pointer, code) => {
    const { status, json } = await service.post('/v1/enrich/bulk', body);
    expect(status).toBe(422);
    expect(json['errors']).toContainEqual(expect.objectContaining({ pointer, code }));
  });

  it('pauses after each lookup, in the queue of its own key', async () => {
    const keys: string[] = [];
    let pauses = 0;
    const turns = {
      run: <T>(key: string, steps: Steps<T>): T => {
        keys.push(key);
        return toEnd(steps, () => pauses++);
      },
    };
    const endpoint = bulkEnrichEndpoint({ turns, webhooks: { isDevelopment: false } } as unknown as BulkEnrichDependencies);
    const call = { charge: { keyId: 'key_1', bookBulk: () => undefined }, requestId: 'req_1' };
    const many = Array.from({ length: 100 }, () => ({ params: { emial: 'x' } }));
    const answer = await endpoint({ requests: many }, { call } as never, () => undefined);
    expect(JSON.parse(answer.text)).toMatchObject({ data: many.map(() => ({ status: 422 })) });
    expect([keys, pauses]).toEqual([['key_1'], 100]);
  });
});
