import { expect, it } from 'vitest';
import { StoreWrites } from '../../../src/service/calls/store-writes.ts';
import { Journal } from '../../../src/service/store/journal.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { makeStore } from '../harness.ts';

it('a change that fails rolls itself back, whatever it throws, and does not disturb another change', async () => {
  const store = openStore(await makeStore(), 0);
  const failures: unknown[] = [];
  const journal = new Journal(store, (error) => void failures.push(error));
  cleanUp(() => {
    journal.close();
    store.close();
  });
  const writes = new StoreWrites(store, journal);
  const note = (person: string) => () => void store.books.prepare('INSERT INTO batch_bytes (key_id, bytes) VALUES (?, 0)').run(person);
  const broken = writes.write(() => {
    note('broken')();
    return JSON.parse('{') as unknown;
  });
  const [failed] = await Promise.allSettled([broken, writes.write(note('whole'))]);
  expect(failed).toMatchObject({ status: 'rejected', reason: { name: 'SyntaxError' } });
  expect([store.books.prepare('SELECT key_id AS person FROM batch_bytes').all(), failures]).toEqual([[{ person: 'whole' }], []]);
});
