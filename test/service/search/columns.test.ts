import { expect, it } from 'vitest';
import { ColumnReader, ColumnWriter } from '../../../src/service/search/columns.ts';
import { CHUNK } from '../../../src/service/search/packed.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { transaction } from '../../../src/sqlite/transaction.ts';
import { emptyStore } from '../loading.ts';

/** By chunk: how far its greatest number is from its least, which says how many bytes each takes. */
async function storeOf(distances: readonly number[]): Promise<Store> {
  const store = await emptyStore();
  const writer = new ColumnWriter(store, 'person_ranks');
  transaction(store, () => {
    for (const [chunk, distance] of distances.entries()) for (const [at, number] of [1, 1 + distance].entries()) writer.change(chunk * CHUNK + at, number);
    writer.flush();
  });
  return store;
}

it('reads a chunk again after another could not be read', async () => {
  const store = await storeOf([99, 99]);
  const reader = new ColumnReader(store, 'person_ranks');
  const before = [...reader.chunk(0).codes];
  store.exec('ALTER TABLE person_ranks RENAME TO elsewhere');
  expect(() => reader.chunk(1)).toThrow('no such table');
  store.exec('ALTER TABLE elsewhere RENAME TO person_ranks');
  expect([...reader.chunk(0).codes]).toEqual(before);
  store.close();
});

it('says how many chunks have no room, though a smaller one that came later had', async () => {
  const store = await storeOf([99, 99_999, 99]);
  const reader = new ColumnReader(store, 'person_ranks', 2 * CHUNK);
  for (const chunk of [0, 1, 2]) reader.chunk(chunk);
  expect(reader.beyondRoom).toBe(1);
  reader.forget();
  expect(reader.beyondRoom).toBe(0);
  store.close();
});
