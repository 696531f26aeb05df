import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { listKeys } from '../../src/service/keys.ts';
import { Journal, type Pending } from '../../src/service/store/journal.ts';
import { openStore } from '../../src/service/store/open-store.ts';
import type { Store } from '../../src/service/store/store.ts';
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
};
const written = (): unknown => other.prepare('SELECT count(*) AS n FROM sources WHERE length(name) < 3').get()?.['n'];

beforeEach(async () => {
  const path = await makeStore();
  store = openStore(path, 0);
  other = openStore(path);
  errors = [];
  waiting = [];
  journal = new Journal(store, (error) => errors.push(error), () => nowMs);
  journal.join(member);
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
