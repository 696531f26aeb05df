import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { createKey, listKeys, revokeKey, rotateKey } from '../../src/service/keys.ts';
import { KeyRing } from '../../src/service/key-ring.ts';
import { Journal } from '../../src/service/store/journal.ts';
import { openStore } from '../../src/service/store/open-store.ts';
import { makeStore, serveStore } from './harness.ts';

describe('keys', () => {
  it('are in the store as digests only', async () => {
    const path = await makeStore();
    const store = openStore(path);
    const { id, key } = createKey(store, { plan: 'scale', region: 'eu', credits: 10, label: 'crm' }, 5);
    expect(key).toMatch(/^mr_eu_[\w-]{43}$/);
    expect(listKeys(store)).toEqual([{ id, label: 'crm', plan: 'scale', region: 'eu', credits: 10, creditsUsed: 0, callsUsed: 0, createdMs: 5, revokedMs: null }]);
    store.close();
    expect((await readFile(path)).includes(key)).toBe(false);
  });

  it('work while a service runs that was started before them', async () => {
    const service = await serveStore();
    const store = openStore(service.store);
    const { key } = createKey(store, { plan: 'growth' });
    store.close();
    const reply = await service.post('/v1/enrich', { id: 'pe_1' }, { key });
    expect([reply.status, reply.headers.get('x-ratelimit-limit'), reply.headers.get('ratelimit-policy')]).toEqual([200, '1000', '"growth";q=1000;w=60']);
  });

  it('are refused within a second of being revoked', async () => {
    const store = openStore(await makeStore());
    let now = 0;
    const ring = new KeyRing(store, new Journal(store, () => undefined), () => now);
    const { id, key } = createKey(store, { plan: 'growth' });
    expect(ring.resolve(`Bearer ${key}`)?.id).toBe(id);
    expect(ring.resolve(`bearer ${key}`)?.id).toBe(id);
    expect(revokeKey(store, id)).toBe(true);
    expect(revokeKey(store, id)).toBe(false);
    now = 1_001;
    expect(ring.resolve(`Bearer ${key}`)).toBeNull();
    expect(ring.resolve(`Basic ${key}`)).toBeNull();
    store.close();
  });

  it('pass on what is left of them when they are rotated', async () => {
    const store = openStore(await makeStore());
    const old = createKey(store, { plan: 'trial', region: 'apac', credits: 10, label: 'x' });
    store.exec('UPDATE keys SET credits_used = 4, calls_used = 7');
    const made = rotateKey(store, old.id);
    expect(made?.key).not.toBe(old.key);
    expect(listKeys(store).find(({ id }) => id === made?.id)).toMatchObject({ plan: 'trial', region: 'apac', credits: 10, creditsUsed: 4, callsUsed: 7, revokedMs: null });
    expect(rotateKey(store, old.id)).toBeNull();
    store.close();
  });

  it('keep their balance across writing and reading it again', async () => {
    const store = openStore(await makeStore());
    let now = 0;
    const journal = new Journal(store, () => undefined);
    const ring = new KeyRing(store, journal, () => now);
    const { key } = createKey(store, { plan: 'growth', credits: 4 });
    for (let spent = 0; spent < 4; spent++) {
      now += 2_000;
      const active = ring.resolve(`Bearer ${key}`);
      if (active === null) throw new Error('unknown');
      expect([ring.affords(active, 4 - spent), ring.affords(active, 5 - spent)]).toEqual([true, false]);
      ring.charge(active, 1);
      if (spent % 2 === 0) journal.flush();
    }
    journal.close();
    expect(listKeys(store)).toMatchObject([{ creditsUsed: 4, callsUsed: 4 }]);
    store.close();
  });
});
