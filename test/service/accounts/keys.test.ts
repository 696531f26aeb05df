import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { changeKey, createKey, listKeys, revokeKey, rotateKey } from '../../../src/service/accounts/keys.ts';
import { DurableQuota } from '../../../src/service/accounts/durable-quota.ts';
import { KeyRing, type ActiveKey } from '../../../src/service/accounts/key-ring.ts';
import { KeyWrites } from '../../../src/service/accounts/key-writes.ts';
import { Journal } from '../../../src/service/store/journal.ts';
import { transaction } from '../../../src/sqlite/transaction.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { makeStore, serveStore } from '../harness.ts';

describe('an API key', () => {
  it('lies in the store as a digest only', async () => {
    const path = await makeStore();
    const store = openStore(path);
    const { id, key } = createKey(store, { plan: 'scale', region: 'eu', credits: 10, label: 'crm' }, 5);
    expect(key).toMatch(/^mr_eu_[\w-]{43}$/);
    expect(listKeys(store)).toEqual([
      {
        id,
        label: 'crm',
        plan: 'scale',
        region: 'eu',
        credits: 10,
        creditsUsed: 0,
        callsUsed: 0,
        createdMs: 5,
        rotatedMs: null,
        overlapUntilMs: null,
        revokedMs: null,
      },
    ]);
    store.close();
    expect((await readFile(path)).includes(key)).toBe(false);
  });

  it('works in a service that started before the key was made', async () => {
    const service = await serveStore();
    const store = openStore(service.store);
    const { key } = createKey(store, { plan: 'growth' });
    store.close();
    const reply = await service.post('/v1/enrich', { id: 'pe_1' }, { key });
    expect([reply.status, reply.headers.get('x-ratelimit-limit'), reply.headers.get('ratelimit-policy')]).toEqual([
      200,
      '1000',
      '"growth";q=1000;w=60',
    ]);
  });

  it('keeps its reservations, neither twice nor lost, while another process changes the key', async () => {
    const path = await makeStore();
    const [store, elsewhere] = [openStore(path), openStore(path)];
    const journal = new Journal(store, () => undefined);
    const ring = new KeyRing(store, new KeyWrites(store, journal), () => 0);
    const { id } = createKey(elsewhere, { plan: 'trial', credits: 100 });
    const key = ring.find(id) ?? expect.fail();
    const [spent, unspent] = [ring.reserve(key, { credits: 20, calls: 3 }), ring.reserve(key, { credits: 10, calls: 2 })];
    ring.book(key, { credits: 10, calls: 1 });
    expect(ring.left(key)).toEqual({ credits: 60, calls: 994 });
    changeKey(elsewhere, id, { addCredits: 50 });
    ring.find(id);
    expect(ring.left(key)).toEqual({ credits: 110, calls: 994 });
    unspent.release();
    transaction(store.books, () => spent.write());
    spent.written();
    journal.flush();
    for (const one of [ring, new KeyRing(store, new KeyWrites(store, new Journal(store, () => undefined)), () => 0)])
      expect(one.find(id) === null ? null : one.left(key)).toEqual({ credits: 120, calls: 996 });
    expect(listKeys(elsewhere)[0]).toMatchObject({ creditsUsed: 30, callsUsed: 4 });
    expect(ring.find('key_none')).toBeNull();
    revokeKey(elsewhere, id);
    expect(ring.find(id)).toBeNull();
    for (const one of [store, elsewhere]) one.close();
  });

  it.each(['growth', 'trial'] as const)(
    'spends calls that were reserved on the plan %s once, although only one of the plans counts calls',
    async (begun) => {
      const [store, other] = [openStore(await makeStore()), begun === 'trial' ? 'growth' : 'trial'] as const;
      const ring = new KeyRing(store, new KeyWrites(store, new Journal(store, () => undefined)), () => 0);
      const { id } = createKey(store, { plan: begun });
      const key = ring.find(id) ?? expect.fail();
      const use = { credits: 0, calls: 5 };
      const spent = ring.reserve(key, use);
      changeKey(store, id, { plan: other });
      ring.find(id);
      transaction(store.books, () => spent.write());
      spent.written();
      const unspent = ring.reserve(key, use);
      changeKey(store, id, { plan: 'trial' });
      ring.find(id);
      unspent.release();
      const again = new KeyRing(store, new KeyWrites(store, new Journal(store, () => undefined)), () => 0);
      again.find(id);
      expect(ring.left(key)).toEqual(again.left(key));
      ring.find(id);
      expect(ring.left(key)).toEqual(again.left(key));
      store.close();
    },
  );

  it('stops working within a second of its revocation', async () => {
    const path = await makeStore();
    const [store, elsewhere] = [openStore(path), openStore(path)];
    let now = 0;
    const ring = new KeyRing(store, new KeyWrites(store, new Journal(store, () => undefined)), () => now);
    const { id, key } = createKey(elsewhere, { plan: 'growth' });
    expect(ring.resolve(`Bearer ${key}`)?.id).toBe(id);
    expect(ring.resolve(`bearer ${key}`)?.id).toBe(id);
    expect(revokeKey(elsewhere, id)).toBe(true);
    expect(revokeKey(elsewhere, id)).toBe(false);
    now = 1_001;
    expect(ring.resolve(`Bearer ${key}`)).toBeNull();
    expect(ring.resolve(`Basic ${key}`)).toBeNull();
    elsewhere.close();
    store.close();
  });

  it('gets read again after a second only if another connection has written to the store', async () => {
    const path = await makeStore();
    const [store, elsewhere] = [openStore(path), openStore(path)];
    const { key } = createKey(elsewhere, { plan: 'growth' });
    let now = 0;
    const ring = new KeyRing(store, new KeyWrites(store, new Journal(store, () => undefined)), () => now);
    const asRead = ring.resolve(`Bearer ${key}`);
    for (now = 1_001; now < 10_000; now += 1_001) expect(ring.resolve(`Bearer ${key}`)).toBe(asRead);
    createKey(elsewhere, { plan: 'growth' });
    now += 1_001;
    const again = ring.resolve(`Bearer ${key}`);
    expect(again).toEqual(asRead);
    expect(again).not.toBe(asRead);
    elsewhere.close();
    store.close();
  });

  it('accepts the former secret until the end of the overlap, also after a restart, and not after the key is revoked', async () => {
    const path = await makeStore();
    let store = openStore(path);
    const [atMs, overlapMs] = [Date.parse('2026-01-01'), 3_600_000];
    let nowMs = atMs;
    // The clock of the cache stands still: what was remembered stays remembered.
    const openRing = (): KeyRing =>
      new KeyRing(
        store,
        new KeyWrites(store, new Journal(store, () => undefined)),
        () => 0,
        () => nowMs,
      );
    let ring = openRing();
    const letIn = (...keys: string[]): boolean[] => keys.map((key) => ring.resolve(`Bearer ${key}`)?.id === first.id);
    const first = createKey(store, { plan: 'growth' });
    const second = rotateKey(store, first.id, overlapMs, nowMs);
    if (second === null) throw new Error('not rotated');
    expect([second.overlapUntilMs, letIn(first.key, second.key), ring.digestsOf(first.id).length]).toEqual([
      atMs + overlapMs,
      [true, true],
      2,
    ]);
    store.close();
    store = openStore(path);
    ring = openRing();
    nowMs = atMs + overlapMs - 1;
    expect([letIn(first.key, second.key), listKeys(store)]).toMatchObject([[true, true], [{ overlapUntilMs: atMs + overlapMs }]]);
    nowMs++;
    expect([letIn(first.key, second.key), ring.digestsOf(first.id).length]).toEqual([[false, true], 1]);
    // The next rotation ends an overlap of before; one without an overlap ends every former secret.
    const third = rotateKey(store, first.id, overlapMs, nowMs);
    ring = openRing();
    expect(letIn(first.key, second.key, third?.key ?? '')).toEqual([false, true, true]);
    revokeKey(store, first.id, nowMs);
    ring = openRing();
    expect([letIn(second.key, third?.key ?? ''), [second.key, third?.key].map((key) => ring.wasRevoked(`Bearer ${key}`))]).toEqual([
      [false, false],
      [true, true],
    ]);
    store.close();
  });

  it('stays the same key with another secret after a rotation', async () => {
    const service = await serveStore();
    const store = openStore(service.store);
    const old = createKey(store, { plan: 'trial', credits: 2, label: 'x' });
    const spend = async (key: string, idempotencyKey: string): Promise<unknown[]> => {
      const { status, headers } = await service.post('/v1/enrich', { id: 'pe_1' }, { key, headers: { 'idempotency-key': idempotencyKey } });
      return [status, headers.get('x-ratelimit-remaining'), headers.get('idempotency-replayed')];
    };
    expect(await spend(old.key, 'a')).toEqual([200, '59', null]);
    const made = rotateKey(store, old.id, 0, 7);
    if (made === null) throw new Error('not rotated');
    expect([made.id, made.key === old.key]).toEqual([old.id, false]);
    // Both secrets share the balance, the quota and the stored answers of the key.
    expect(await spend(made.key, 'a')).toEqual([200, '58', 'true']);
    expect(await spend(made.key, 'b')).toEqual([200, '57', null]);
    expect((await spend(old.key, 'c'))[0]).not.toBe(200);
    expect((await spend(made.key, 'd'))[0]).toBe(402);
    expect(listKeys(store)).toMatchObject([
      { id: old.id, plan: 'trial', credits: 2, creditsUsed: 2, callsUsed: 2, rotatedMs: 7, revokedMs: null },
    ]);
    revokeKey(store, old.id);
    expect(rotateKey(store, old.id)).toBeNull();
    store.close();
  });

  it('has its new plan and credits within a second of a change', async () => {
    const path = await makeStore();
    const [store, elsewhere] = [openStore(path), openStore(path)];
    let now = 0;
    const journal = new Journal(store, () => undefined);
    const writes = new KeyWrites(store, journal);
    const [ring, quota] = [
      new KeyRing(store, writes, () => now),
      new DurableQuota(
        store,
        writes,
        () => now,
        () => now,
      ),
    ];
    const { id, key } = createKey(store, { plan: 'trial', credits: 1 });
    const active = (): ActiveKey => {
      const found = ring.resolve(`Bearer ${key}`);
      if (found === null) throw new Error('unknown');
      return found;
    };
    ring.book(active(), { calls: 1_000, credits: 1 });
    quota.take(id, 60, now, 60);
    expect([ring.affordsCalls(active(), 1), ring.affordsCredits(active(), 1), active().rpm]).toEqual([false, false, 60]);
    journal.flush();
    expect(changeKey(elsewhere, id, { plan: 'growth', addCredits: 5 })).toMatchObject({
      plan: 'growth',
      credits: 6,
      creditsUsed: 1,
      label: null,
    });
    now = 1_001;
    expect([ring.affordsCalls(active(), 1), ring.affordsCredits(active(), 5), ring.affordsCredits(active(), 6), active()]).toEqual([
      true,
      true,
      false,
      { id, policy: 'growth', rpm: 1_000, region: 'us' },
    ]);
    // Recent requests count. A minute later the whole quota of the new plan is there.
    expect(quota.peek(id, 1_000, now).remaining).toBeLessThan(60);
    now += 60_000;
    expect(quota.peek(id, 1_000, now).remaining).toBe(1_000);
    quota.releaseReserves();
    journal.close();
    expect(store.books.prepare('SELECT tokens FROM keys').get()).toEqual({ tokens: 1_000 });
    const uncounted = createKey(elsewhere, { plan: 'growth' });
    expect(changeKey(elsewhere, uncounted.id, { addCredits: 5 })).toBe('uncounted');
    revokeKey(elsewhere, id);
    expect(changeKey(elsewhere, id, { label: 'x' })).toBeNull();
    elsewhere.close();
    store.close();
  });

  it('keeps its balance across writing and reading it again', async () => {
    const store = openStore(await makeStore());
    let now = 0;
    const journal = new Journal(store, () => undefined);
    const ring = new KeyRing(store, new KeyWrites(store, journal), () => now);
    const { key } = createKey(store, { plan: 'growth', credits: 4 });
    for (let spent = 0; spent < 4; spent++) {
      now += 2_000;
      const active = ring.resolve(`Bearer ${key}`);
      if (active === null) throw new Error('unknown');
      expect([ring.affordsCredits(active, 4 - spent), ring.affordsCredits(active, 5 - spent)]).toEqual([true, false]);
      ring.book(active, { calls: 1, credits: 1 });
      if (spent % 2 === 0) journal.flush();
    }
    journal.close();
    expect(listKeys(store)).toMatchObject([{ creditsUsed: 4, callsUsed: 4 }]);
    store.close();
  });
});
