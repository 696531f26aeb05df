import { expect, it } from 'vitest';
import { ColumnReader, ColumnWriter } from '../../../../src/service/store/index/sort-columns.ts';
import { CHUNK } from '../../../../src/service/store/index/packed-chunk.ts';
import type { Store } from '../../../../src/service/store/store.ts';
import { transaction } from '../../../../src/sqlite/transaction.ts';
import { emptyStore } from '../../loading.ts';

/** @param distances by chunk: greatest number minus least, which decides the bytes of each number */
async function storeOf(distances: readonly number[]): Promise<Store> {
  const store = await emptyStore();
  const writer = new ColumnWriter(store, 'person_ranks');
  transaction(store, () => {
    for (const [chunk, distance] of distances.entries())
      for (const [at, number] of [1, 1 + distance].entries()) writer.change(chunk * CHUNK + at, number);
    writer.flush();
  });
  return store;
}

it('a column reads a chunk again after reading another one failed', async () => {
  const store = await storeOf([99, 99]);
  const reader = new ColumnReader(store, 'person_ranks');
  const before = [...reader.chunk(0).codes];
  store.exec('ALTER TABLE person_ranks RENAME TO elsewhere');
  expect(() => reader.chunk(1)).toThrow('no such table');
  store.exec('ALTER TABLE elsewhere RENAME TO person_ranks');
  expect([...reader.chunk(0).codes]).toEqual(before);
  store.close();
});

it('a column counts the chunks outside its cache, though a smaller later one fits', async () => {
  const store = await storeOf([99, 99_999, 99]);
  const reader = new ColumnReader(store, 'person_ranks', 2 * CHUNK);
  for (const chunk of [0, 1, 2]) reader.chunk(chunk);
  expect(reader.uncachedChunks).toBe(1);
  reader.invalidate();
  expect(reader.uncachedChunks).toBe(0);
  store.close();
});
