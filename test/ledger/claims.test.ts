/** Runs that go on at the same time over one ledger in Redis: who asks, and who waits. */
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { RedisContents } from '../../src/ledger/redis/redis-contents.ts';
import { describeWith } from '../services/needed.ts';
import { RedisServer } from '../services/redis.ts';
import { ask, HIT, scopeOf } from './asking.ts';
import { freeDatabase, redisSite, START } from './shared.ts';

/** Enough to open it with on a busy machine, and as long as those tests take that wait for it in vain. */
const PATIENT_MS = 3_000;

await describeWith('redis', 'claims in Redis', (facts) => {
  it('what a run that ends has not asked for goes to others at once; what one leaves that dies, when it has not been heard of for a lease; with the keys of the first that asked', async () => {
    const uri = await freeDatabase(facts);
    const site = redisSite(uri);
    const [ends, dies, heir] = await Promise.all(['ends', 'dies', 'heir'].map((run) => site.open({ run, machine: run })));
    if (ends === undefined || dies === undefined || heir === undefined) throw new Error('three were opened');
    expect([await ask(ends, 'k1').told, await ask(dies, 'k2').told]).toEqual([null, null]);
    const first = ask(heir, 'k1');
    const second = ask(heir, 'k2');
    await expect.poll(() => heir.waiting).toBe(2);
    await ends.close();
    expect([await first.told, first.seed()]).toEqual([null, 'seed of ends']);
    expect(second.isTold()).toBe(false);
    const client = new Redis(uri);
    // A lease is a key that Redis lets expire.
    const [holder = ''] = await client.keys('millrace:ledger:*:h:dies');
    expect(await client.pttl(holder)).toBeGreaterThan(20_000);
    expect(await client.pttl(holder)).toBeLessThanOrEqual(30_000);
    await client.pexpire(holder, 1);
    expect([await second.told, second.seed()]).toEqual([null, 'seed of dies']);
    client.disconnect();
    await heir.close();
    const last = await site.open({ run: 'last', machine: 'last' });
    const again = [ask(last, 'k2'), ask(last, 'k3')];
    expect([await Promise.all(again.map(({ told }) => told)), again.map(({ seed }) => seed())]).toEqual([[null, null], ['seed of dies', null]]);
  });

  it('a retry asks again for what failed for others and was used, also by shards under names of their own', async () => {
    const failed = { kind: 'failed', code: 'http_500', attempts: 5, requestId: null } as const;
    const site = redisSite(await freeDatabase(facts));
    const a = await site.open({ run: 'run-0', machine: 'a', now: () => START + 100 });
    const b = await site.open({ run: 'run-1', machine: 'b', now: () => START + 50 });
    expect(await ask(a, 'k').told).toBeNull();
    const waits = ask(b, 'k');
    a.put([{ scope: scopeOf(a), key: 'k', answer: failed }]);
    expect(await waits.told).toEqual(failed);
    await Promise.all([a.keep(), b.keep()]);
    await Promise.all([a.close(), b.close()]);
    for (const run of ['run', 'run-1']) {
      const now = (): number => START + 200;
      const finished = await site.open({ run, machine: 'b', now });
      const failedUpTo = finished.lastAnswer();
      await finished.close();
      const retry = await site.open({ run, machine: 'b', now, failedUpTo, since: Math.max(START, failedUpTo + 1) });
      expect(retry.get(scopeOf(retry), 'k')).toBeNull();
      expect(await ask(retry, 'k').told).toBeNull();
      await retry.close();
    }
  });

  it('what is purged is in no copy either, and what is not purged still is', async () => {
    const uri = await freeDatabase(facts);
    const site = redisSite(uri);
    const first = await site.open();
    for (const key of ['ada@works.example', 'bo@works.example']) {
      expect(await ask(first, key).told).toBeNull();
      first.put([{ scope: scopeOf(first), key, answer: HIT }]);
    }
    await first.keep();
    await first.close();
    const contents = RedisContents.open(uri);
    expect(await contents.purge({ email: 'ada@works.example', before: null })).toMatchObject({ answers: 1, steps: { enrich: 1 } });
    contents.close();
    const again = await site.open();
    expect(again.get(scopeOf(again), 'ada@works.example')).toBeNull();
    expect([await ask(again, 'ada@works.example').told, await ask(again, 'bo@works.example').told]).toEqual([null, HIT]);
  });

  it('Redis that is gone: nothing is called meanwhile; given up in time, with what the run ends with; without it nothing opens', async () => {
    const server = await RedisServer.start();
    try {
      const said: string[] = [];
      const ledger = await redisSite(server.uri).open({ maxOutageMs: PATIENT_MS, tell: { info: (event) => said.push(event), warn: (event) => said.push(event) } });
      const failure = new Promise((resolve) => ledger.listen({ moved: () => undefined, failed: resolve }));
      ledger.put([{ scope: scopeOf(ledger), key: 'kept', answer: HIT }]);
      await ledger.keep();
      await server.kill();
      const never = ask(ledger, 'k');
      ledger.put([{ scope: scopeOf(ledger), key: 'late', answer: HIT }]);
      await expect(ledger.keep()).rejects.toMatchObject({ exitCode: 74, code: 'redis_unavailable' });
      expect(await failure).toMatchObject({ exitCode: 74 });
      expect([never.isTold(), said]).toEqual([false, ['ledger_down']]);
      // Whoever stops does not wait for the same again.
      await expect(ledger.keep()).rejects.toMatchObject({ exitCode: 74 });
      await expect(redisSite(server.uri).open({ maxOutageMs: 300 })).rejects.toMatchObject({ exitCode: 74, code: 'redis_unavailable' });
      await server.startAgain();
      const again = await redisSite(server.uri).open({ machine: 'two' });
      expect(await ask(again, 'kept').told).toEqual(HIT);
    } finally {
      await server.end();
    }
  });

  it('a server that holds its tongue is given up as well', async () => {
    const server = await RedisServer.start();
    try {
      const ledger = await redisSite(server.uri).open({ maxOutageMs: PATIENT_MS });
      server.pause();
      ledger.put([{ scope: scopeOf(ledger), key: 'k', answer: HIT }]);
      await expect(ledger.keep()).rejects.toMatchObject({ exitCode: 74 });
    } finally {
      await server.end();
    }
  });

  it('what a run was told and could not send is sent by the next one on that machine', async () => {
    const server = await RedisServer.start();
    try {
      const site = redisSite(server.uri);
      const first = await site.open({ maxOutageMs: PATIENT_MS });
      await server.kill();
      first.put([{ scope: scopeOf(first), key: 'k', answer: HIT }]);
      await expect(first.keep()).rejects.toMatchObject({ exitCode: 74 });
      await first.close();
      await server.startAgain();
      await (await site.open()).close();
      expect(await ask(await site.open({ machine: 'two' }), 'k').told).toEqual(HIT);
    } finally {
      await server.end();
    }
  });
});
