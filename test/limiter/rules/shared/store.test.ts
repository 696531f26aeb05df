/** The contract of a store for a shared quota, for the store in memory of the simulator and for Redis. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  PERMIT_LEASE_MS,
  partLeftBy,
  type QuotaEvent,
  type QuotaStore,
  type PodTurn,
} from '../../../../src/limiter/rules/shared/messages.ts';
import { RedisQuotaStore } from '../../../../src/limiter/rules/shared/redis-store.ts';
import { describeWith } from '../../../services/needed.ts';
import { RedisCluster } from '../../../services/redis-cluster.ts';
import { freeDatabase } from '../../../ledger/shared.ts';
import { MemoryStore } from './memory-store.ts';

const turnOf = (pod: string, more: Partial<PodTurn> = {}): PodTurn => ({
  pod,
  token: `${pod}~0`,
  want: 0,
  inFlight: 0,
  spent: 0,
  events: [],
  ...more,
});
const unsent = (...ids: string[]): QuotaEvent => ({ kind: 'unsent', ids });
const grant = (pod: string, ...ids: string[]): QuotaEvent => ({ kind: 'grant', pod, ids });
const leadBy = (pod: string, ...events: QuotaEvent[]) => ({ token: `${pod}~0`, events, freeAtMs: 0, forget: [] });

function promises(open: () => QuotaStore): void {
  const make = (): QuotaStore => {
    const store = open();
    onTestFinished(() => store.close());
    return store;
  };

  test('the first pod leads, and another when it has left', async () => {
    const store = make();
    expect(await store.turn(turnOf('a', { spent: 30 }))).toMatchObject({ leader: 'a~0', share: 1, spent: 30, grants: [] });
    expect(await store.turn(turnOf('b', { spent: 12 }))).toMatchObject({ leader: 'a~0', share: 0.5, spent: 42 });
    expect(await store.lead(leadBy('b'))).toBeNull();
    await store.leave('a', 'a~0', [unsent('x')]);
    expect(await store.turn(turnOf('b'))).toMatchObject({ leader: 'b~0', share: 1 });
    expect(await store.lead(leadBy('b'))).toMatchObject({ events: [unsent('x')], pods: [{ pod: 'b' }] });
  });

  test('a pod that lost its way leads again at once, and what it said before counts no more', async () => {
    const store = make();
    await store.turn(turnOf('a'));
    expect((await store.turn(turnOf('a', { token: 'a~1' }))).leader).toBe('a~1');
    expect(await store.lead(leadBy('a', grant('a', '1')))).toBeNull();
    expect((await store.turn(turnOf('a', { token: 'a~1' }))).grants).toEqual([]);
  });

  test('a grant reaches its pod once, with the time of the grant', async () => {
    const store = make();
    await store.turn(turnOf('a'));
    await store.turn(turnOf('b', { want: 5, inFlight: 2, spent: 40 }));
    const led = await store.lead(leadBy('a'));
    expect(led?.pods.toSorted((one, other) => one.pod.localeCompare(other.pod))).toEqual([
      { pod: 'a', want: 0, inFlight: 0, spent: 0 },
      { pod: 'b', want: 5, inFlight: 2, spent: 40 },
    ]);
    // A permit on its way no longer counts as wanted, but its pod may use it at any time.
    const again = await store.lead(leadBy('a', grant('b', '1', '2')));
    expect(again?.pods).toContainEqual({ pod: 'b', want: 3, inFlight: 4, spent: 40 });
    const { grants, nowMs } = await store.turn(turnOf('b', { want: 3, inFlight: 2 }));
    expect(grants.map(({ id }) => id)).toEqual(['1', '2']);
    for (const { atMs } of grants) expect(nowMs - atMs).toBeLessThan(PERMIT_LEASE_MS * 10);
    expect((await store.lead(leadBy('a')))?.pods).toContainEqual({ pod: 'b', want: 1, inFlight: 4, spent: 0 });
    expect((await store.turn(turnOf('b'))).grants).toEqual([]);
  });

  test('the history is all that was told and granted, in order', async () => {
    const store = make();
    expect(await store.history()).toEqual([]);
    await store.turn(turnOf('a', { events: [{ kind: 'join', pod: 'a', apart: [], has: [] }] }));
    await store.lead(leadBy('a', { kind: 'fresh', spent: 7 }));
    const answer: QuotaEvent = {
      kind: 'answer',
      id: '1',
      plan: { limit: 7, remaining: 3, reset: { form: 'date', inMs: 61.5, slackMs: 1_000 } },
      throttled: false,
      waitMs: null,
      failed: false,
      ownMs: 61.5,
    };
    await store.turn(turnOf('a', { events: [answer, unsent('2')] }));
    expect((await store.lead(leadBy('a', grant('a', '3'))))?.events).toEqual([answer, unsent('2')]);
    const history = await store.history();
    expect(history.map(({ event }) => event)).toEqual([
      { kind: 'fresh', spent: 7 },
      { kind: 'join', pod: 'a', apart: [], has: [] },
      grant('a', '3'),
      answer,
      unsent('2'),
    ]);
    expect(history.map(({ atMs }) => atMs)).toEqual(history.map(({ atMs }) => atMs).toSorted((one, other) => one - other));
  });

  test('when calls may start again is told to all', async () => {
    const store = make();
    const { nowMs } = await store.turn(turnOf('a'));
    await store.lead({ ...leadBy('a'), freeAtMs: nowMs + 9_000 });
    expect((await store.turn(turnOf('b'))).freeAtMs).toBe(nowMs + 9_000);
  });
}

function inMemory(): QuotaStore {
  const store = new MemoryStore(Date.now);
  return {
    turn: async (turn) => store.turn(turn),
    lead: async (turn) => store.lead(turn),
    history: async () => store.history(),
    leave: async (...left) => store.leave(...left),
    close: () => undefined,
  };
}

describe('a store in memory', () => promises(inMemory));

await describeWith('redis', 'a store in Redis', async (facts) => {
  const uri = await freeDatabase(facts);
  promises(() => new RedisQuotaStore(uri, randomUUID()));

  test('two accounts have nothing in common, and neither is to be seen', async () => {
    const account = randomUUID();
    const stores = [account, `${account}2`].map((name) => new RedisQuotaStore(uri, name));
    onTestFinished(() => stores.forEach((store) => store.close()));
    for (const [i, store] of stores.entries()) expect(await store.turn(turnOf(`pod${i}`))).toMatchObject({ leader: `pod${i}~0`, share: 1 });
  });

  test('a new pod does not get the share that missing pods were granted', async () => {
    const alone = await freeDatabase(facts);
    const [store, client] = [new RedisQuotaStore(alone, randomUUID()), new Redis(alone)];
    onTestFinished(() => {
      store.close();
      client.disconnect();
    });
    await Promise.all([store.turn(turnOf('a')), once(client, 'ready')]);
    const [pods = ''] = await client.keys('millrace:quota:*:pods');
    const shareBeside = async (...shares: number[]): Promise<number> => {
      for (const [i, share] of shares.entries()) await client.hset(pods, `gone${i}`, `1 0 0 0 ${share}`);
      return (await store.turn(turnOf('a'))).share;
    };
    for (const shares of [[], [0.25], [0.25, 0.5], [1, 0.5]])
      expect(await shareBeside(...shares)).toBeCloseTo(partLeftBy(shares.map((share) => ({ pod: '', share }))), 9);
    await client.del(pods);
  });

  test('a server that is not there is no answer, within two seconds', async () => {
    const store = new RedisQuotaStore('redis://127.0.0.1:1/0', 'x');
    onTestFinished(() => store.close());
    await expect(store.turn(turnOf('a'))).rejects.toThrow(/ECONNREFUSED|no answer/);
  });
});

await describeWith('redis', 'a store in a Redis Cluster', () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await RedisCluster.start();
  });
  afterAll(() => cluster.end());
  promises(() => new RedisQuotaStore(cluster.uri, randomUUID()));
});
