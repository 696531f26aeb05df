/** A charge and its answer are both in the store or neither is, also when one of them meets damage. */
import { expect, it } from 'vitest';
import { Idempotency } from '../../../src/service/calls/idempotency.ts';
import { KeyRing } from '../../../src/service/accounts/key-ring.ts';
import { KeyWrites } from '../../../src/service/accounts/key-writes.ts';
import { listKeys } from '../../../src/service/accounts/keys.ts';
import { Journal } from '../../../src/service/store/journal.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { makeKey, makeStore } from '../harness.ts';

const DAMAGE = Object.assign(new Error('database disk image is malformed'), { errcode: 11 });
const ANSWER = { status: 200, headers: {}, text: '{"email":"jane.doe@acme.example"}', named: {}, secret: null };

/** The store, where statements that begin so meet damage. */
function damagedIn(store: Store, begin: string): Store {
  const run = (): never => {
    throw DAMAGE;
  };
  const damaged = new Proxy(store.books, {
    get(target, name) {
      if (name === 'prepare') return (sql: string) => (sql.startsWith(begin) ? { run } : target.prepare(sql));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  return { books: damaged, prepare: (sql: string) => store.prepare(sql) } as unknown as Store;
}

/** Books an answer with its charge, and reads through another connection what the store then holds. */
async function paid(begin: string) {
  const path = await makeStore();
  const secret = await makeKey(path, 'enterprise', { credits: 10 });
  const [store, other] = [openStore(path, 0), openStore(path)];
  const damaged = damagedIn(store, begin);
  const journal = new Journal(store, () => undefined);
  const keys = new KeyRing(damaged, new KeyWrites(damaged, journal), () => 0);
  const idempotency = new Idempotency(damaged, journal, Date.now);
  cleanUp(() => {
    journal.close();
    store.close();
    other.close();
  });
  const key = keys.resolve(`Bearer ${secret}`) ?? expect.fail();
  const begun = idempotency.claim(key.id, 'k', '/v1/enrich', Buffer.from('{}'));
  const ticket = begun.kind === 'new' ? begun.ticket : expect.fail();
  keys.book(key, { credits: 1 });
  idempotency.finish(ticket, ANSWER, () => keys.book(key, { credits: -1 }));
  expect(await journal.written()).toBe(true);
  return {
    creditsUsed: listKeys(other)[0]?.creditsUsed,
    answers: other.books.prepare('SELECT count(*) AS n FROM answers').get()?.['n'],
    isLost: idempotency.isLost(ticket),
    isDamaged: keys.isDamaged(key.id),
  };
}

it.each([
  ['the charge', 'UPDATE keys SET credits_used', { creditsUsed: 0, answers: 0, isLost: true, isDamaged: true }],
  ['the answer', 'INSERT OR REPLACE INTO answers', { creditsUsed: 0, answers: 0, isLost: true, isDamaged: false }],
  ['neither', 'INSERT INTO nothing', { creditsUsed: 1, answers: 1, isLost: false, isDamaged: false }],
])('a charge and its answer are both in the store, or neither is, when %s meets damage', async (_what, begin, left) => {
  expect(await paid(begin)).toEqual(left);
});
