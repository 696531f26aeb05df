import { expect, it } from 'vitest';
import { createKey } from '../../../src/service/accounts/keys.ts';
import { KeyWrites } from '../../../src/service/accounts/key-writes.ts';
import { Journal } from '../../../src/service/store/journal.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { makeStore } from '../harness.ts';

it('use and quota of a key are written with one statement a transaction, and each leaves what only the other has', async () => {
  const store = openStore(await makeStore());
  const { id } = createKey(store, { plan: 'trial', credits: 100 });
  const journal = new Journal(store, (error) => {
    throw error;
  });
  const writes = new KeyWrites(store, journal);
  const updates: number[] = [];
  const row = (): unknown => {
    expect([journal.flush(), writes.has(id), writes.useOf(id)]).toEqual([true, false, { credits: 0, calls: 0 }]);
    updates.push(Number(store.books.prepare('SELECT total_changes() AS n').get()?.['n']));
    return store.books.prepare('SELECT credits_used, calls_used, tokens, tokens_at FROM keys WHERE id = ?').get(id);
  };
  writes.addUse(id, { credits: 5, calls: 1 });
  writes.setBound(id, { tokens: 50, atMs: 1_000 });
  writes.addUse(id, { credits: -2, calls: 1 });
  writes.setBound(id, { tokens: 40, atMs: 2_000 });
  expect([writes.has(id), writes.useOf(id)]).toEqual([true, { credits: 3, calls: 2 }]);
  expect(row()).toEqual({ credits_used: 3, calls_used: 2, tokens: 40, tokens_at: 2_000 });
  writes.addUse(id, { credits: 1, calls: 0 });
  expect(row()).toEqual({ credits_used: 4, calls_used: 2, tokens: 40, tokens_at: 2_000 });
  writes.setBound(id, { tokens: 0, atMs: 3_000 });
  expect(row()).toEqual({ credits_used: 4, calls_used: 2, tokens: 0, tokens_at: 3_000 });
  expect(updates.slice(1).map((n, at) => n - (updates[at] as number))).toEqual([1, 1]);
  journal.close();
  store.close();
});
