/** Concurrent runs on one ledger in Redis: which run asks for a lookup, and which runs wait. */
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { RedisContents } from '../../src/ledger/redis/redis-contents.ts';
import { describeWith } from '../services/needed.ts';
import { RedisServer } from '../services/redis.ts';
import { ask, HIT, scopeOf } from './asking.ts';
import { freeDatabase, redisSite, START } from './shared.ts';

/** The longest outage that a run waits out. It leaves time to open the ledger on a busy machine; tests of an outage take this long. */
const MAX_OUTAGE_MS = 3_000;

await describeWith('redis', 'claims in Redis', (facts) => {
  it("the claims of a run that ends go to others at once, and those of a dead run after a lease, with the first run's keys", async () => {
    const uri = await freeDatabase(facts);
    const site = redisSite(uri);
    const [ends, dies, heir] = await Promise.all(['ends', 'dies', 'heir'].map((run) => site.open({ run, machine: run })));
    if (ends === undefined || dies === undefined || heir === undefined) throw new Error('three runs were opened');
    expect([await ask(ends, 'k1').answered, await ask(dies, 'k2').answered]).toEqual([null, null]);
    const first = ask(heir, 'k1');
    const second = ask(heir, 'k2');
    await expect.poll(() => heir.waiting).toBe(2);
    await ends.close();
    expect([await first.answered, first.seed()]).toEqual([null, 'seed of ends']);
    expect(second.isAnswered()).toBe(false);
    const client = new Redis(uri);
    // A lease is a key that Redis lets expire.
    const [holder = ''] = await client.keys('millrace:ledger:*:h:dies');
    expect(await client.pttl(holder)).toBeGreaterThan(20_000);
    expect(await client.pttl(holder)).toBeLessThanOrEqual(30_000);
    await client.pexpire(holder, 1);
    expect([await second.answered, second.seed()]).toEqual([null, 'seed of dies']);
    client.disconnect();
    await heir.close();
    const last = await site.open({ run: 'last', machine: 'last' });
    const again = [ask(last, 'k2'), ask(last, 'k3')];
    expect([await Promise.all(again.map(({ answered }) => answered)), again.map(({ seed }) => seed())]).toEqual([
      [null, null],
      ['seed of dies', null],
    ]);
  });

  it('a retry asks again for a failure that came from another run, also in a shard with a run name of its own', async () => {
    const failed = { kind: 'failed', code: 'http_500', attempts: 5, requestId: null } as const;
    const site = redisSite(await freeDatabase(facts));
    const a = await site.open({ run: 'run-0', machine: 'a', now: () => START + 100 });
    const b = await site.open({ run: 'run-1', machine: 'b', now: () => START + 50 });
    expect(await ask(a, 'k').answered).toBeNull();
    const waits = ask(b, 'k');
    a.put([{ scope: scopeOf(a), key: 'k', answer: failed }]);
    expect(await waits.answered).toEqual(failed);
    await Promise.all([a.keep(), b.keep()]);
    await Promise.all([a.close(), b.close()]);
    for (const run of ['run', 'run-1']) {
      const now = (): number => START + 200;
      const finished = await site.open({ run, machine: 'b', now });
      const failedUpTo = finished.lastAnswer();
      await finished.close();
      const retry = await site.open({ run, machine: 'b', now, failedUpTo, since: Math.max(START, failedUpTo + 1) });
      expect(retry.get(scopeOf(retry), 'k')).toBeNull();
      expect(await ask(retry, 'k').answered).toBeNull();
      await retry.close();
    }
  });

  it('a purge removes the answer from each local copy too, and leaves the other answers', async () => {
    const uri = await freeDatabase(facts);
    const site = redisSite(uri);
    const first = await site.open();
    for (const key of ['ada@works.example', 'bo@works.example']) {
      expect(await ask(first, key).answered).toBeNull();
      first.put([{ scope: scopeOf(first), key, answer: HIT }]);
    }
    await first.keep();
    await first.close();
    const contents = RedisContents.open(uri);
    expect(await contents.purge({ email: 'ada@works.example', before: null })).toMatchObject({ answers: 1, steps: { enrich: 1 } });
    contents.close();
    const again = await site.open();
    expect(again.get(scopeOf(again), 'ada@works.example')).toBeNull();
    expect([await ask(again, 'ada@works.example').answered, await ask(again, 'bo@works.example').answered]).toEqual([null, HIT]);
  });

  it("a purge removes a person's open promises from the claims, also where only the ticket names the person, and no other", async () => {
    const uri = await freeDatabase(facts);
    const site = redisSite(uri);
    const first = await site.open();
    const tickets = { 'ada@works.example': 'job-1', '+4930123': 'job/ada@works.example', 'bo@works.example': 'job-2' };
    const client = new Redis(uri);
    onTestFinished(() => client.disconnect());
    for (const [key, ticket] of Object.entries(tickets)) {
      expect(await ask(first, key).answered).toBeNull();
      first.put([{ scope: scopeOf(first), key, answer: { kind: 'asking', text: JSON.stringify([key, 1, 1, ticket, START]) } }]);
    }
    // Older versions noted the ticket without its lookup.
    await client.set('millrace:ledger:{shared}:c:old', 'run-0\nseed\u001f["part",1,1,"job/ada@works.example",1]');
    await first.keep();
    await first.close();
    const contents = RedisContents.open(uri);
    onTestFinished(() => contents.close());
    expect(await contents.purge({ email: 'ada@works.example', before: START - 1 })).toMatchObject({ answers: 0 });
    expect(await contents.purge({ email: 'ada@works.example', before: null })).toMatchObject({
      answers: 3,
      steps: { enrich: 2, unknown: 1 },
    });
    const values = await Promise.all((await client.keys('*:c:*')).map((key) => client.get(key)));
    expect(values).toHaveLength(4);
    expect(values.join('\n')).not.toContain('ada@works.example');
    expect(values.filter((value) => value?.includes('job-2'))).toHaveLength(1);
    expect(await contents.purge({ email: null, before: START + 1 })).toMatchObject({ answers: 1 });
  });

  it('a run asks with the ticket in a claim of an older version, which names no lookup', async () => {
    const uri = await freeDatabase(facts);
    const ledger = await redisSite(uri).open();
    const client = new Redis(uri);
    onTestFinished(() => client.disconnect());
    expect(await ask(ledger, 'k').answered).toBeNull();
    const [claim = ''] = await client.keys('*:c:*');
    const note = '["part",1,1,"ticket",1700000000000]';
    await client.set(claim, `${await client.get(claim)}\u001f${note}`);
    expect(await new Promise((resolve) => ledger.ask(scopeOf(ledger), 'k', (_answer, _seed, promised) => resolve(promised)))).toBe(note);
  });

  it('without Redis no call is made, no ledger opens, and the run ends in time with its error', async () => {
    const server = await RedisServer.start();
    try {
      const logged: string[] = [];
      const ledger = await redisSite(server.uri).open({
        maxOutageMs: MAX_OUTAGE_MS,
        tell: { info: (event) => logged.push(event), warn: (event) => logged.push(event) },
      });
      const failure = new Promise((resolve) => ledger.listen({ moved: () => undefined, failed: resolve }));
      ledger.put([{ scope: scopeOf(ledger), key: 'stored', answer: HIT }]);
      await ledger.keep();
      await server.kill();
      const never = ask(ledger, 'k');
      ledger.put([{ scope: scopeOf(ledger), key: 'late', answer: HIT }]);
      await expect(ledger.keep()).rejects.toMatchObject({ exitCode: 74, code: 'redis_unavailable' });
      expect(await failure).toMatchObject({ exitCode: 74 });
      expect([never.isAnswered(), logged]).toEqual([false, ['ledger_down']]);
      // The stopping run does not spend the wait budget again.
      await expect(ledger.keep()).rejects.toMatchObject({ exitCode: 74 });
      await expect(redisSite(server.uri).open({ maxOutageMs: 300 })).rejects.toMatchObject({ exitCode: 74, code: 'redis_unavailable' });
      await server.startAgain();
      const again = await redisSite(server.uri).open({ machine: 'two' });
      expect(await ask(again, 'stored').answered).toEqual(HIT);
    } finally {
      await server.end();
    }
  });

  it('a run ends with 74 when the Redis server accepts its commands and never answers', async () => {
    const server = await RedisServer.start();
    try {
      const ledger = await redisSite(server.uri).open({ maxOutageMs: MAX_OUTAGE_MS });
      server.pause();
      ledger.put([{ scope: scopeOf(ledger), key: 'k', answer: HIT }]);
      await expect(ledger.keep()).rejects.toMatchObject({ exitCode: 74 });
    } finally {
      await server.end();
    }
  });

  it('the next run on a machine sends the answers that the last one could not send to Redis', async () => {
    const server = await RedisServer.start();
    try {
      const site = redisSite(server.uri);
      const first = await site.open({ maxOutageMs: MAX_OUTAGE_MS });
      await server.kill();
      first.put([{ scope: scopeOf(first), key: 'k', answer: HIT }]);
      await expect(first.keep()).rejects.toMatchObject({ exitCode: 74 });
      await first.close();
      await server.startAgain();
      await (await site.open()).close();
      expect(await ask(await site.open({ machine: 'two' }), 'k').answered).toEqual(HIT);
    } finally {
      await server.end();
    }
  });
});
