import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../../../src/service/store/open-store.ts';
import { closeOrRemove } from '../../../../src/service/admin/import/remove-empty.ts';
import { sourceId } from '../../../../src/service/store/rows/report-sources.ts';
import type { Store } from '../../../../src/service/store/store.ts';
import { suppress } from '../../../../src/service/erasure/suppress.ts';
import { temporaryFolder } from '../../harness.ts';
import { load } from '../../loading.ts';

/** The files that remain of a store with this content after it was closed. It must be possible to open it again. */
async function leftOf(fill: (store: Store, path: string) => unknown): Promise<string[]> {
  const folder = await temporaryFolder();
  const path = join(folder, 's.sqlite');
  const store = openStore(path);
  await fill(store, path);
  closeOrRemove(store);
  expect(store.isOpen).toBe(false);
  if (existsSync(path)) openStore(path).close();
  return readdir(folder);
}

describe('an empty store of a failed command', () => {
  it('an empty store is removed with the files beside it', async () => {
    expect(await leftOf(() => undefined)).toEqual([]);
    expect(await leftOf((store) => sourceId(store, 'crm.csv'))).toEqual([]);
    expect(await leftOf((store) => load(store, [{ title: 'nobody' }]))).toEqual([]);
  });

  it('a store with any row stays', async () => {
    expect(await leftOf((store) => load(store, [{ email: 'ada@acme.example' }]))).toEqual(['s.books.sqlite', 's.sqlite']);
    expect(await leftOf((store) => suppress(store, ['ada@acme.example'], 0))).toEqual(['s.books.sqlite', 's.sqlite']);
    expect(
      await leftOf((store) =>
        store.books.exec("INSERT INTO keys (id, hash, plan, region, created_at) VALUES ('k', x'00', 'growth', 'us', 0)"),
      ),
    ).toEqual(['s.books.sqlite', 's.sqlite']);
  });

  it('an empty store stays while another process has it open', async () => {
    const others: Store[] = [];
    expect(await leftOf((_store, path) => others.push(openStore(path)))).toContain('s.sqlite');
    for (const other of others) other.close();
  });
});
