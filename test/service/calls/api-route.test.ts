/** Requests take calls, credits and quota of a key, and refusals give them back. */
import { describe, expect, it, vi } from 'vitest';
import { VerifyGate } from '../../../src/service/guards/verify-gate.ts';
import { ServiceError } from '../../../src/service/http/problem.ts';
import { EventStreams } from '../../../src/service/signals/signal-events.ts';
import { listKeys } from '../../../src/service/accounts/keys.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { makeKey, makeStore, serveStore, type Reply, type Served } from '../harness.ts';

/** As the store has it. */
function callsUsed(store: string): number[] {
  const open = openStore(store);
  try {
    return listKeys(open).map((key) => key.callsUsed);
  } finally {
    open.close();
  }
}

function useUp(store: string, callsLeft: number): void {
  const open = openStore(store);
  open.books.exec(`UPDATE keys SET calls_used = ${1_000 - callsLeft}`);
  open.close();
}

const bulk = (count: number): unknown => ({
  requests: Array.from({ length: count }, () => ({ params: { id: 'pe_1', fields: ['name'] } })),
});

describe('the calls of a trial', () => {
  it('count each enrichment of a bulk, and refuse a bulk that exceeds them as a whole', async () => {
    const store = await makeStore();
    const key = await makeKey(store, 'trial');
    useUp(store, 12);
    const service = await serveStore({ store });
    expect((await service.post('/v1/enrich/bulk', bulk(10), { key })).status).toBe(200);
    expect(callsUsed(store)).toEqual([998]);
    const refused = await service.post('/v1/enrich/bulk', bulk(3), { key });
    expect([refused.status, refused.json['code']]).toEqual([402, 'insufficient_credits']);
    expect((await service.post('/v1/enrich/bulk', bulk(2), { key })).status).toBe(200);
    expect(callsUsed(store)).toEqual([1_000]);
  });
});

describe('a trial that is used up', () => {
  it('gets 402 for every call, as documented, and no data', async () => {
    const store = await makeStore();
    const key = await makeKey(store, 'trial');
    useUp(store, 0);
    const service = await serveStore({ store });
    const get = (path: string, accept = 'application/json'): Promise<Reply> =>
      service.request(path, { headers: { authorization: `Bearer ${key}`, accept } });
    const post = (path: string, body: unknown): Promise<Reply> => service.post(path, body, { key });
    const replies = [
      await get('/v1/contacts/search?title=cto'),
      await post('/v1/contacts/search', { title: 'cto' }),
      await get('/v1/companies/acme.example'),
      await post('/v1/enrich', { id: 'pe_1' }),
      await post('/v1/enrich/bulk', bulk(1)),
      await post('/v1/contacts/reveal', { id: 'pe_1' }),
      await post('/v1/emails/verify', { email: 'a@' }),
      await get('/v1/signals'),
      await get('/v1/signals', 'application/x-ndjson'),
      await get('/v1/signals', 'text/event-stream'),
    ];
    expect(replies.map(({ status, json }) => [status, json['code']])).toEqual(replies.map(() => [402, 'insufficient_credits']));
    expect(callsUsed(store)).toEqual([1_000]);
  });
});

describe('a refusal with 429 or 503', () => {
  const busy = (): void =>
    void vi
      .spyOn(VerifyGate.prototype, 'verify')
      .mockRejectedValueOnce(new ServiceError('overloaded', 'no room', { headers: { 'retry-after': '5' } }));
  const full = (): void => void vi.spyOn(EventStreams.prototype, 'open').mockReturnValueOnce(null);
  const stream = (service: Served, key: string): Promise<Reply> =>
    service.request('/v1/signals', { headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream' } });

  it.each<[string, number, (service: Served, key: string) => Promise<Reply>]>([
    ['a bulk', 429, (service, key) => service.post('/v1/enrich/bulk', bulk(60), { key })],
    ['a stream', 503, (service, key) => (full(), stream(service, key))],
    ['verification', 503, (service, key) => (busy(), service.post('/v1/emails/verify', { email: 'a@acme.example' }, { key }))],
    [
      'enrichment with a verdict',
      503,
      (service, key) => (busy(), service.post('/v1/enrich', { id: 'pe_1', verify: true }, { key, headers: { 'idempotency-key': 'one' } })),
    ],
  ])('costs neither calls nor credits nor quota: %s', async (_what, status, send) => {
    const store = await makeStore();
    const key = await makeKey(store, 'trial', { credits: 5 });
    const service = await serveStore({ store });
    const left = ({ headers }: Reply): number => Number(headers.get('x-ratelimit-remaining'));
    const first = left(await service.post('/v1/enrich', { id: 'pe_1' }, { key }));
    const refused = await send(service, key);
    expect([refused.status, refused.headers.get('x-credits-charged')]).toEqual([status, '0']);
    expect(left(refused)).toBeGreaterThanOrEqual(first);
    expect(left(await service.post('/v1/enrich', { id: 'pe_1' }, { key }))).toBeGreaterThanOrEqual(first - 1);
    await service.close();
    expect(callsUsed(store)).toEqual([2]);
  });

  it('tells a bulk that exceeds the quota when the quota will hold it', async () => {
    const store = await makeStore();
    const key = await makeKey(store, 'trial');
    const service = await serveStore({ store });
    expect((await service.post('/v1/enrich/bulk', bulk(40), { key })).status).toBe(200);
    const { headers } = await service.post('/v1/enrich/bulk', bulk(40), { key });
    // 20 of 60 are left, one flows in a second.
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(20);
    expect(Number(headers.get('x-ratelimit-remaining'))).toBeGreaterThanOrEqual(20);
  });
});
