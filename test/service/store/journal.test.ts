import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { listKeys } from '../../../src/service/accounts/keys.ts';
import { Journal, type JournalMember } from '../../../src/service/store/journal.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { makeKey, makeStore, serveStore } from '../harness.ts';

const WAIT_BUDGET_MS = 2_000;

let store: Store;
let other: Store;
let journal: Journal;
let errors: unknown[];
let nowMs = 0;
let waiting: number[] = [];
const member: JournalMember = {
  where: 'test',
  get size() {
    return waiting.length;
  },
  flushed() {
    waiting = [];
  },
  parts: () => (waiting.length === 0 ? [] : [{ write: insert, giveUp: () => void (waiting = []) }]),
};
function insert(): void {
  for (const n of waiting) store.books.prepare('INSERT INTO written (name) VALUES (?)').run(String(n));
}
const written = (): unknown => other.books.prepare('SELECT count(*) AS n FROM written').get()?.['n'];

beforeEach(async () => {
  const path = await makeStore();
  store = openStore(path, 0);
  other = openStore(path);
  store.books.exec('CREATE TABLE written (name TEXT)');
  errors = [];
  waiting = [];
  journal = new Journal(
    store,
    (error) => errors.push(error),
    () => nowMs,
  );
  journal.join(member);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  journal.close();
  store.close();
  other.close();
});

it('answers of one event-loop turn share a transaction, and are sent only after its commit', async () => {
  waiting.push(1);
  const first = journal.written();
  waiting.push(2);
  expect(journal.written()).toBe(first);
  expect([await first, written()]).toEqual([true, 2]);
});

it('a write retries while another process writes, commits right after it, and reports no failure', async () => {
  other.books.exec('BEGIN IMMEDIATE');
  waiting.push(1);
  const result = journal.written();
  expect(journal.flush()).toBe(false);
  nowMs += 100;
  expect(journal.stuckMs).toBe(100);
  other.books.exec('COMMIT');
  expect([await result, written(), journal.stuckMs, errors]).toEqual([true, 1, 0, []]);
});

it('a store that stays busy is reported once, waiting answers give up, and the writes are committed later', async () => {
  other.books.exec('BEGIN IMMEDIATE');
  waiting.push(1);
  const answer = journal.written();
  journal.flush();
  nowMs += WAIT_BUDGET_MS - 1;
  expect([journal.flush(), errors]).toEqual([false, []]);
  nowMs += 1;
  expect([journal.flush(), journal.flush()]).toEqual([false, false]);
  expect([await answer, errors.length]).toEqual([false, 1]);
  const next = journal.written();
  other.books.exec('COMMIT');
  expect([await next, written()]).toEqual([true, 1]);
});

it('a full disk is reported once and refuses writes at once; recovery is noticed without any write', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate'] });
  const recovered = vi.fn();
  const own = new Journal(
    store,
    (_error, failure) => errors.push(failure),
    () => nowMs,
    { onDamage: () => undefined, onRecovered: recovered },
  );
  cleanUp(() => own.close());
  own.join(member);
  const pages = Number(store.books.prepare('PRAGMA page_count').get()?.['page_count']);
  // SQLite reports the same error as for a full disk.
  store.books.exec(`PRAGMA max_page_count = ${pages}`);
  waiting = Array.from({ length: 2_000 }, (_, n) => n);
  const first = own.written();
  await vi.advanceTimersToNextTimerAsync();
  expect([await first, await own.written(), own.failure, errors]).toEqual([false, false, 'disk_full', ['disk_full']]);
  // One attempt at a time.
  expect(vi.getTimerCount()).toBe(1);
  nowMs += 700;
  expect(own.stuckMs).toBe(700);
  waiting = [];
  store.books.exec(`PRAGMA max_page_count = ${10 * pages}`);
  await vi.advanceTimersToNextTimerAsync();
  expect([own.failure, own.stuckMs, recovered.mock.calls.length, vi.getTimerCount()]).toEqual([null, 0, 1, 0]);
});

it('damage prevents no other write, and is reported with the label of its member', async () => {
  const damage = Object.assign(new Error('database disk image is malformed'), { errcode: 11 });
  const settled: string[] = [];
  const own = new Journal(
    store,
    (error) => errors.push(error),
    () => nowMs,
    { onDamage: (where) => settled.push(where), onRecovered: () => undefined },
  );
  cleanUp(() => own.close());
  const broken = new Set(['bad', 'good']);
  const write = (name: string): void => {
    store.books.prepare('INSERT INTO written (name) VALUES (?)').run(name === 'bad' ? 'x' : '8');
    if (name === 'bad') throw damage;
  };
  const parts = () => [...broken].map((name) => ({ write: () => write(name), giveUp: () => void broken.delete(name) }));
  own.join({
    where: 'broken',
    get size() {
      return broken.size;
    },
    flush: () => broken.forEach(write),
    flushed: () => broken.clear(),
    parts,
  });
  own.join(member);
  waiting = [9];
  expect([await own.written(), settled, errors, written()]).toEqual([true, ['broken'], [], 2]);
});

it('if the charge of a key hits damage, the answers it pays for are not written, and all others are', async () => {
  const damage = Object.assign(new Error('database disk image is malformed'), { errcode: 11 });
  const given: string[] = [];
  const insert = store.books.prepare('INSERT INTO written (name) VALUES (?)');
  const left = new Set(['charge', 'bought', 'another']);
  const parts = () =>
    [...left].map((name) => ({
      ...(name === 'charge' ? { charges: 'key' } : name === 'bought' ? { chargedTo: 'key' } : { chargedTo: 'other' }),
      // During the write, the store has no row of it: a crash leaves all or nothing.
      write: () => {
        expect(written()).toBe(0);
        if (name === 'charge') throw damage;
        insert.run('7');
      },
      giveUp: () => {
        left.delete(name);
        given.push(name);
      },
    }));
  journal.join({
    where: 'charges',
    get size() {
      return left.size;
    },
    flushed: () => left.clear(),
    parts,
  });
  waiting = [1, 2];
  expect([await journal.written(), written(), given]).toEqual([true, 3, ['charge', 'bought']]);
});

it('writes after close are dropped and do not keep the process alive', async () => {
  journal.close();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate'] });
  waiting.push(1);
  journal.wake();
  const late = journal.written();
  expect(vi.getTimerCount()).toBe(0);
  expect([await late, written(), errors]).toEqual([false, 0, []]);
});

it('neither a paid answer nor a stored one waits for an import', async () => {
  const path = await makeStore();
  const key = await makeKey(path, 'growth', { credits: 10 });
  const service = await serveStore({ store: path });
  const importing = openStore(path);
  importing.exec('BEGIN IMMEDIATE');
  const ask = () => service.post('/v1/enrich', { id: 'pe_1' }, { key, headers: { 'idempotency-key': 'k' } });
  const replies = [await ask(), await ask()];
  expect(replies.map(({ status, headers }) => [status, headers.get('idempotency-replayed')])).toEqual([
    [200, null],
    [200, 'true'],
  ]);
  expect(listKeys(importing).map(({ creditsUsed }) => creditsUsed)).toEqual([1]);
  importing.exec('COMMIT');
  importing.close();
});

it('a request whose charge cannot be written gets 503, costs nothing, stores nothing, and works later', async () => {
  const path = await makeStore();
  const key = await makeKey(path, 'trial', { credits: 1 });
  const service = await serveStore({ store: path });
  const ask = (id = 'pe_1') => service.post('/v1/enrich', { id }, { key, headers: { 'idempotency-key': 'k' } });
  vi.spyOn(Journal.prototype, 'written').mockResolvedValueOnce(false);
  const refused = await ask();
  expect([refused.status, refused.json['code'], refused.json['request_id']]).toEqual([
    503,
    'overloaded',
    refused.headers.get('x-request-id'),
  ]);
  expect(
    ['retry-after', 'x-credits-charged', 'x-ratelimit-limit', 'idempotency-replayed', 'content-type'].map((name) =>
      refused.headers.get(name),
    ),
  ).toEqual(['1', '0', '60', null, 'application/problem+json']);
  const answered = await ask();
  expect([answered.status, answered.headers.get('x-credits-charged'), answered.headers.get('idempotency-replayed')]).toEqual([
    200,
    '1',
    null,
  ]);
  await service.close();
  const open = openStore(path);
  expect(listKeys(open)).toMatchObject([{ creditsUsed: 1, callsUsed: 1 }]);
  open.close();
});
