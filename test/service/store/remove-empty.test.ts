import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../../src/service/store/open-store.ts';
import { closeOrRemove } from '../../../src/service/store/remove-empty.ts';
import { sourceNumber } from '../../../src/service/store/sources.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { suppress } from '../../../src/service/store/suppress.ts';
import { temporaryFolder } from '../harness.ts';
import { load } from '../loading.ts';

/** What is left of a store with that in it, once it was closed; it can be opened again. */
async function leftOf(fill: (store: Store, path: string) => unknown): Promise<string[]> {
  const folder = await temporaryFolder();
  const path = join(folder, 's.sqlite');
  const store = openStore(path);
  await fill(store, path);
  closeOrRemove(store, path);
  expect(store.isOpen).toBe(false);
  if (existsSync(path)) openStore(path).close();
  return readdir(folder);
}

describe('a store that was made for nothing', () => {
  it('is removed, with what lies beside it', async () => {
    expect(await leftOf(() => undefined)).toEqual([]);
    expect(await leftOf((store) => sourceNumber(store, 'crm.csv'))).toEqual([]);
    expect(await leftOf((store) => load(store, [{ title: 'nobody' }]))).toEqual([]);
  });

  it('stays with anything in it', async () => {
    expect(await leftOf((store) => load(store, [{ email: 'ada@acme.example' }]))).toEqual(['s.sqlite']);
    expect(await leftOf((store) => suppress(store, ['ada@acme.example'], 0))).toEqual(['s.sqlite']);
    expect(await leftOf((store) => store.exec("INSERT INTO keys (id, hash, plan, region, created_at) VALUES ('k', x'00', 'growth', 'us', 0)"))).toEqual(['s.sqlite']);
  });

  it('stays while somebody else has it open', async () => {
    const others: Store[] = [];
    expect(await leftOf((_store, path) => others.push(openStore(path)))).toContain('s.sqlite');
    for (const other of others) other.close();
  });
});
