import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { listKeys } from '../../src/service/keys.ts';
import { Journal, type Pending } from '../../src/service/store/journal.ts';
import { openStore } from '../../src/service/store/open-store.ts';
import type { Store } from '../../src/service/store/store.ts';
import { cleanUp } from '../support/clean-up.ts';
import { makeKey, makeStore, serveStore } from './harness.ts';

const PATIENCE_MS = 2_000;

let store: Store;
let other: Store;
let journal: Journal;
let errors: unknown[];
let nowMs = 0;
let waiting: number[] = [];
const member: Pending = {
  get size() {
    return waiting.length;
  },
  flush() {
    for (const n of waiting) store.prepare('INSERT INTO sources (name) VALUES (?)').run(String(n));
  },
  flushed() {
    waiting = [];
  },
  parts: () => (waiting.length === 0 ? [] : [{ write: () => member.flush(), giveUp: () => void (waiting = []) }]),
};
const written = (): unknown => other.prepare('SELECT count(*) AS n FROM sources WHERE length(name) < 3').get()?.['n'];

beforeEach(async () => {
  const path = await makeStore();
  store = openStore(path, 0);
  other = openStore(path);
  errors = [];
  waiting = [];
  journal = new Journal(store, (error) => errors.push(error), () => nowMs);
  journal.join(member, 'test');
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  journal.close();
  store.close();
  other.close();
});

it('answers wait for one transaction together, and it is in the store when they are told', async () => {
  waiting.push(1);
  const first = journal.written(PATIENCE_MS);
  waiting.push(2);
  expect(journal.written(PATIENCE_MS)).toBe(first);
  expect([await first, written()]).toEqual([true, 2]);
});

it('while somebody else writes it is tried again, in no time after they have finished, and nobody is told of it', async () => {
  other.exec('BEGIN IMMEDIATE');
  waiting.push(1);
  const result = journal.written(PATIENCE_MS);
  expect(journal.flush()).toBe(false);
  nowMs += 100;
  expect(journal.stuckMs).toBe(100);
  other.exec('COMMIT');
  expect([await result, written(), journal.stuckMs, errors]).toEqual([true, 1, 0, []]);
});

it('a store that stays busy is told of once, and those who wait are let go; what is collected is written when it can be', async () => {
  other.exec('BEGIN IMMEDIATE');
  waiting.push(1);
  const [hasty, patient] = [journal.written(50), journal.written(PATIENCE_MS)];
  journal.flush();
  nowMs += 50;
  journal.flush();
  expect([await hasty, errors]).toEqual([false, []]);
  nowMs += PATIENCE_MS;
  expect([journal.flush(), journal.flush()]).toEqual([false, false]);
  expect([await patient, errors.length]).toEqual([false, 1]);
  const next = journal.written(PATIENCE_MS);
  other.exec('COMMIT');
  expect([await next, written()]).toEqual([true, 1]);
});

it('a store without room is told of once and refuses at once; that there is room again is noticed with nothing to write', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate'] });
  const recovered = vi.fn();
  const own = new Journal(store, (_error, failure) => errors.push(failure), () => nowMs, { onDamage: () => undefined, onRecovered: recovered });
  cleanUp(() => own.close());
  own.join(member, 'test');
  const pages = Number(store.prepare('PRAGMA page_count').get()?.['page_count']);
  // What SQLite says is the same as of a full disk.
  store.exec(`PRAGMA max_page_count = ${pages}`);
  waiting = Array.from({ length: 2_000 }, (_, n) => n);
  const first = own.written(PATIENCE_MS);
  await vi.advanceTimersToNextTimerAsync();
  expect([await first, await own.written(PATIENCE_MS), own.failure, errors]).toEqual([false, false, 'disk_full', ['disk_full']]);
  // A try a time, not one after the other.
  expect(vi.getTimerCount()).toBe(1);
  nowMs += 700;
  expect(own.stuckMs).toBe(700);
  waiting = [];
  store.exec(`PRAGMA max_page_count = ${10 * pages}`);
  await vi.advanceTimersToNextTimerAsync();
  expect([own.failure, own.stuckMs, recovered.mock.calls.length, vi.getTimerCount()]).toEqual([null, 0, 1, 0]);
});

it('what is damaged keeps nothing else from being written, and is told of with whose it is', async () => {
  const damage = Object.assign(new Error('database disk image is malformed'), { errcode: 11 });
  const told: string[] = [];
  const own = new Journal(store, (error) => errors.push(error), () => nowMs, { onDamage: (where) => told.push(where), onRecovered: () => undefined });
  cleanUp(() => own.close());
  const broken = new Set(['bad', 'good']);
  const write = (name: string): void => {
    store.prepare('INSERT INTO sources (name) VALUES (?)').run(name === 'bad' ? 'x' : '8');
    if (name === 'bad') throw damage;
  };
  const parts = () => [...broken].map((name) => ({ write: () => write(name), giveUp: () => void broken.delete(name) }));
  own.join({ get size() { return broken.size; }, flush: () => broken.forEach(write), flushed: () => broken.clear(), parts }, 'broken');
  own.join(member, 'whole');
  waiting = [9];
  expect([await own.written(PATIENCE_MS), told, errors, written()]).toEqual([true, ['broken'], [], 2]);
});

it('of a key whose charge meets damage nothing is written that was to be paid for, and the rest is written at once', async () => {
  const damage = Object.assign(new Error('database disk image is malformed'), { errcode: 11 });
  const given: string[] = [];
  const insert = store.prepare('INSERT INTO sources (name) VALUES (?)');
  const left = new Set(['charge', 'bought', 'another']);
  const parts = () => [...left].map((name) => ({
    ...(name === 'charge' ? { charges: 'key' } : name === 'bought' ? { chargedTo: 'key' } : { chargedTo: 'other' }),
    // While one is written nothing is in the store yet: a crash leaves all or nothing.
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
  journal.join({ get size() { return left.size; }, flush() { throw damage; }, flushed: () => left.clear(), parts }, 'charges');
  waiting = [1, 2];
  expect([await journal.written(PATIENCE_MS), written(), given]).toEqual([true, 3, ['charge', 'bought']]);
});

it('what comes after its end, such as of a request whose connection is gone, is not written, and keeps no process from ending', async () => {
  journal.close();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate'] });
  waiting.push(1);
  journal.wake();
  const late = journal.written(PATIENCE_MS);
  expect(vi.getTimerCount()).toBe(0);
  expect([await late, written(), errors]).toEqual([false, 0, []]);
});

it('an answer that is merely kept does not wait for an import', async () => {
  const path = await makeStore();
  const service = await serveStore({ store: path });
  const importing = openStore(path);
  importing.exec('BEGIN IMMEDIATE');
  const ask = () => service.post('/v1/enrich', { id: 'pe_1' }, { headers: { 'idempotency-key': 'k' } });
  const replies = [await ask(), await ask()];
  expect(replies.map(({ status, headers }) => [status, headers.get('idempotency-replayed')])).toEqual([[200, null], [200, 'true']]);
  importing.exec('COMMIT');
  importing.close();
});

it('what could not be written down is not answered: 503, nothing charged, nothing kept, and the same request works later', async () => {
  const path = await makeStore();
  const key = await makeKey(path, 'trial', { credits: 1 });
  const service = await serveStore({ store: path });
  const ask = (id = 'pe_1') => service.post('/v1/enrich', { id }, { key, headers: { 'idempotency-key': 'k' } });
  vi.spyOn(Journal.prototype, 'written').mockResolvedValueOnce(false);
  const refused = await ask();
  expect([refused.status, refused.json['code'], refused.json['request_id']]).toEqual([503, 'overloaded', refused.headers.get('x-request-id')]);
  expect(['retry-after', 'x-credits-charged', 'x-ratelimit-limit', 'idempotency-replayed', 'content-type'].map((name) => refused.headers.get(name))).toEqual(['1', '0', '60', null, 'application/problem+json']);
  const answered = await ask();
  expect([answered.status, answered.headers.get('x-credits-charged'), answered.headers.get('idempotency-replayed')]).toEqual([200, '1', null]);
  await service.close();
  const open = openStore(path);
  expect(listKeys(open)).toMatchObject([{ creditsUsed: 1, callsUsed: 1 }]);
  open.close();
});
