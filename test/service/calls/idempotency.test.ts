import { describe, expect, it } from 'vitest';
import { transaction } from '../../../src/sqlite/transaction.ts';
import { Idempotency } from '../../../src/service/calls/idempotency.ts';
import { settlesRequest } from '../../../src/service/http/problem.ts';
import { listKeys } from '../../../src/service/accounts/keys.ts';
import { Journal } from '../../../src/service/store/journal.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { makeKey, makeStore, serveStore } from '../harness.ts';

const withKey = (key: string, idempotencyKey: string): { key: string; headers: Record<string, string> } => ({
  key,
  headers: { 'idempotency-key': idempotencyKey },
});

describe('Idempotency-Key', () => {
  it.each([
    ['/v1/enrich', { email: 'jane.doe@acme.example' }, 200, '1'],
    ['/v1/enrich', { email: 'nobody@acme.example' }, 404, '0'],
    ['/v1/enrich', { email: 'gone@acme.example' }, 451, '0'],
    ['/v1/enrich', { email: 'jane@' }, 422, '0'],
    ['/v1/emails/verify', { emails: Array.from({ length: 50 }, (_, n) => `user${n}@mailinator.com`) }, 200, '50'],
  ])('replays the first answer of %s %j, uncharged, also after a restart', async (path, body, status, credits) => {
    const store = await makeStore();
    const key = await makeKey(store, 'growth');
    const service = await serveStore({ store });
    const first = await service.post(path, body, withKey(key, 'one'));
    expect([first.status, first.headers.get('x-credits-charged'), first.headers.get('idempotency-replayed')]).toEqual([
      status,
      credits,
      null,
    ]);
    const at = async (running: typeof service): Promise<void> => {
      const again = await running.post(path, body, withKey(key, 'one'));
      expect([again.status, again.text, again.headers.get('content-type')]).toEqual([
        first.status,
        first.text,
        first.headers.get('content-type'),
      ]);
      expect([again.headers.get('x-credits-charged'), again.headers.get('idempotency-replayed')]).toEqual(['0', 'true']);
    };
    await at(service);
    await service.close();
    await at(await serveStore({ store }));
  });

  it('refuses the same key with another body or path, and keeps API keys apart', async () => {
    const store = await makeStore();
    const [one, two] = [await makeKey(store, 'growth'), await makeKey(store, 'growth')];
    const service = await serveStore({ store });
    await service.post('/v1/enrich', { email: 'jane.doe@acme.example' }, withKey(one, 'k'));
    for (const [path, body] of [
      ['/v1/enrich', { email: 'solo@nowhere.example' }],
      ['/v1/emails/verify', { email: 'jane.doe@acme.example' }],
    ] as const) {
      const { status, json } = await service.post(path, body, withKey(one, 'k'));
      expect([status, json['code']]).toEqual([422, 'idempotency_mismatch']);
    }
    expect(
      (await service.post('/v1/enrich', { email: 'solo@nowhere.example' }, withKey(two, 'k'))).headers.get('idempotency-replayed'),
    ).toBeNull();
  });

  it.each(['', 'é', 'x'.repeat(256)])('refuses the key %j', async (key) => {
    const service = await serveStore();
    const { status, json } = await service.post('/v1/enrich', { id: 'pe_1' }, { headers: { 'idempotency-key': key } });
    expect([status, json['code']]).toEqual([400, 'invalid_parameter']);
  });

  it('does not keep a 402, a 429 or a 500', async () => {
    expect([402, 408, 409, 425, 429, 500, 503].map(settlesRequest)).toEqual([false, false, false, false, false, false, false]);
    expect([200, 404, 422, 451].map(settlesRequest)).toEqual([true, true, true, true]);
    const service = await serveStore({ faults: { errorRate: 0.9, seed: 1 } });
    const statuses: number[] = [];
    while (statuses.at(-1) !== 200)
      statuses.push((await service.post('/v1/enrich', { id: 'pe_1' }, { headers: { 'idempotency-key': 'k' } })).status);
    expect(statuses.length).toBeGreaterThan(1);
  });

  it('expires stored answers after 24 hours, and reports a request that is in flight', async () => {
    const path = await makeStore();
    const store = openStore(path);
    const journal = new Journal(store, (error) => {
      throw error;
    });
    let now = 1_000_000;
    const idempotency = new Idempotency(store, journal, () => now);
    const begin = (body: string): ReturnType<Idempotency['claim']> => idempotency.claim('key', 'k', '/v1/enrich', Buffer.from(body));
    const first = begin('a');
    if (first.kind !== 'new') throw new Error(first.kind);
    expect(begin('a').kind).toBe('in_flight');
    expect(begin('b').kind).toBe('mismatch');
    idempotency.finish(first.ticket, null);
    const found = { status: 404, headers: { 'content-type': 'text/x' }, text: JSON.stringify('x'.repeat(5_000)), named: {} };
    const second = begin('b');
    if (second.kind !== 'new') throw new Error(second.kind);
    idempotency.finish(second.ticket, { ...found, secret: null });
    for (const flush of [false, true]) {
      if (flush) journal.flush();
      expect(begin('b')).toMatchObject({ kind: 'replay', answer: found });
      expect(begin('a').kind).toBe('mismatch');
    }
    now += 24 * 3_600_000;
    expect(begin('a').kind).toBe('new');
    journal.close();
    store.close();
  });

  it('stores the given answer after a busy store undid a change with another answer and refused it at the second attempt', async () => {
    const store = openStore(await makeStore());
    const journal = new Journal(store, (error) => {
      throw error;
    });
    const idempotency = new Idempotency(store, journal, () => 1_000_000);
    const begin = (): ReturnType<Idempotency['claim']> => idempotency.claim('key', 'k', '/v1/webhooks', Buffer.of());
    const first = begin();
    if (first.kind !== 'new') throw new Error(first.kind);
    const refusal = { status: 422, headers: {}, text: '"too many"', named: {}, secret: null };
    expect(() =>
      transaction(store.books, () => {
        idempotency.write(first.ticket, { ...refusal, status: 201, text: '"made"' });
        throw new Error('busy');
      }),
    ).toThrow('busy');
    idempotency.finish(first.ticket, refusal);
    expect(begin()).toEqual({ kind: 'replay', answer: refusal });
    journal.close();
    store.close();
  });
});

describe('a replay', () => {
  it('takes one request of the quota for a bulk, and no calls', async () => {
    const store = await makeStore();
    const key = await makeKey(store, 'trial');
    const service = await serveStore({ store });
    const requests = Array.from({ length: 40 }, () => ({ params: { id: 'pe_1' } }));
    const send = (): ReturnType<typeof service.post> => service.post('/v1/enrich/bulk', { requests }, withKey(key, 'bulk'));
    const first = await send();
    const again = await send();
    expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([200, first.text, 'true']);
    expect(Number(first.headers.get('x-ratelimit-remaining')) - Number(again.headers.get('x-ratelimit-remaining'))).toBeLessThanOrEqual(1);
    await service.close();
    const open = openStore(store);
    expect(listKeys(open)).toMatchObject([{ callsUsed: 40 }]);
    open.close();
  });
});

describe('credits', () => {
  it('pay for hits, and not for misses, unknown results and replays, also in the store', async () => {
    const store = await makeStore();
    const key = await makeKey(store, 'growth', { credits: 3 });
    const service = await serveStore({ store });
    await service.post('/v1/enrich', { email: 'jane.doe@acme.example' }, withKey(key, 'a'));
    await service.post('/v1/enrich', { email: 'jane.doe@acme.example' }, withKey(key, 'a'));
    await service.post('/v1/enrich', { email: 'nobody@acme.example' }, { key });
    await service.post('/v1/emails/verify', { emails: ['new@acme.example', 'new2@acme.example'] }, { key });
    // Two credits are left: three are too many, and the refusal costs nothing.
    const three = await service.post('/v1/emails/verify', { emails: ['a@', 'b@', 'c@'] }, { key });
    expect([three.status, three.json['code'], three.headers.get('x-credits-charged')]).toEqual([402, 'insufficient_credits', '0']);
    expect((await service.post('/v1/emails/verify', { emails: ['a@', 'b@'] }, { key })).status).toBe(200);
    expect((await service.post('/v1/enrich', { id: 'pe_1' }, { key })).status).toBe(402);
    // A replay of a paid answer needs no credits.
    expect((await service.post('/v1/enrich', { email: 'jane.doe@acme.example' }, withKey(key, 'a'))).status).toBe(200);
    await service.close();
    const open = openStore(store);
    expect(listKeys(open)).toMatchObject([{ credits: 3, creditsUsed: 3 }]);
    open.close();
  });

  it('play no part in a trial, which ends after 1,000 calls', async () => {
    const store = await makeStore();
    const key = await makeKey(store, 'trial');
    const open = openStore(store);
    open.books.exec('UPDATE keys SET calls_used = 998');
    open.close();
    const service = await serveStore({ store });
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await service.post('/v1/enrich', { email: 'nobody@acme.example' }, { key })).status);
    expect(statuses).toEqual([404, 404, 402]);
  });

  it('pay for exactly the number of concurrent requests that a trial or a balance has left', async () => {
    const store = await makeStore();
    const [trial, counted] = [await makeKey(store, 'trial'), await makeKey(store, 'growth', { credits: 7 })];
    const open = openStore(store);
    open.books.exec("UPDATE keys SET calls_used = 991 WHERE plan = 'trial'");
    const service = await serveStore({ store });
    const many = async (key: string): Promise<number[]> => {
      const replies = await Promise.all(
        Array.from({ length: 40 }, (_, n) =>
          n % 2 === 0
            ? service.post('/v1/emails/verify', { email: `a${n}@` }, { key })
            : service.post('/v1/enrich', { id: n % 4 === 1 ? 'pe_1' : 'none' }, { key }),
        ),
      );
      return replies.map(({ status }) => status).filter((status) => status !== 402);
    };
    expect(await many(trial)).toHaveLength(9);
    expect((await many(counted)).filter((status) => status === 200)).toHaveLength(7);
    await service.close();
    const used = new Map(listKeys(open).map(({ plan, callsUsed, creditsUsed }) => [plan, { callsUsed, creditsUsed }]));
    expect([used.get('trial')?.callsUsed, used.get('growth')?.creditsUsed]).toEqual([1_000, 7]);
    open.close();
  });
});
