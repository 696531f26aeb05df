/** What every ledger promises runs that use it at the same time: one asks, the others wait. */
import { describe, expect, it } from 'vitest';
import type { LedgerAnswer } from '../../src/ledger/ledger.ts';
import type { RunLedger } from '../../src/ledger/run-ledger.ts';
import { neededFacts } from '../services/needed.ts';
import { answer, ask, HIT, scopeOf } from './asking.ts';
import { DAY, FILE, redisKind, START, type Site, type SiteKind } from './shared.ts';

const redis = await neededFacts('redis');
if (typeof redis === 'string' && process.env['CI'] === 'true') throw new Error(redis);
if (typeof redis === 'string') process.stderr.write(`\nSKIPPED: claims in Redis: ${redis}\n\n`);
const kinds: SiteKind[] = [FILE, ...(typeof redis === 'string' ? [] : [redisKind(redis)])];

type Runs<Names extends readonly string[]> = { readonly [name in keyof Names]: RunLedger };

/** A run of a job of its own for each name, with answers for all. */
function openRuns<const Names extends readonly string[]>(site: Site, names: Names): Promise<Runs<Names>> {
  return Promise.all(names.map((name) => site.open({ job: name, run: name, machine: name, maxAgeDays: 7 }))) as Promise<Runs<Names>>;
}

describe.each(kinds)('claims of a ledger in $name', ({ make }) => {
  it('one run asks, and the others wait for its answer, an unknown verdict and a refusal too', async () => {
    const [a, b, c] = await openRuns(await make(), ['a', 'b', 'c']);
    const answers: readonly LedgerAnswer[] = [HIT, { kind: 'miss' }, { kind: 'suppressed' }, { kind: 'unsettled', text: '{"result":"unknown"}' }, { kind: 'failed', code: 'http_400', attempts: 1, requestId: null }];
    for (const told of answers) {
      expect(await ask(a, told.kind).told).toBeNull();
      const others = [b, c].map((ledger) => ask(ledger, told.kind));
      await expect.poll(() => [b.waiting, c.waiting]).toEqual([1, 1]);
      expect(others.map(({ isTold }) => isTold())).toEqual([false, false]);
      answer(a, told.kind, told);
      expect(await Promise.all(others.map((other) => other.told))).toEqual([told, told]);
    }
    expect([a, b, c].map((ledger) => ledger.totals())).toEqual([{ lookups: 5, reused: 0 }, { lookups: 5, reused: 5 }, { lookups: 5, reused: 5 }]);
    expect([b.waiting, c.waiting]).toEqual([0, 0]);
  });

  it('what a run notes of a lookup that it still asks for is no answer to others: they wait on', async () => {
    const site = await make();
    const [a, b] = await Promise.all([site.open({ run: 'a', machine: 'a' }), site.open({ run: 'b', machine: 'b' })]);
    expect(await Promise.all([ask(a, 'k').told, ask(a, 'other').told])).toEqual([null, null]);
    const [waits, other] = [ask(b, 'k'), ask(b, 'other')];
    await expect.poll(() => b.waiting).toBe(2);
    const note = { kind: 'asking', text: '["part of a request",2,1]' } as const;
    answer(a, 'k', note);
    answer(a, 'other');
    expect(await other.told).toEqual(HIT);
    await expect.poll(() => b.waiting).toBe(1);
    expect([waits.isTold(), a.get(scopeOf(a), 'k')]).toEqual([false, note]);
    answer(a, 'k');
    expect(await waits.told).toEqual(HIT);
  });

  it('each of many keys that runs ask for in any order is asked for by one of them', async () => {
    const runs = await openRuns(await make(), ['a', 'b', 'c']);
    const keys = Array.from({ length: 600 }, (_, i) => `p${i}`);
    const called = new Map<string, number>();
    const outcomes = runs.map(async (ledger, shift) => {
      for (const i of keys.keys()) {
        const key = keys[(i * 7 + shift * 200) % keys.length] ?? '';
        for (let wait = ledger.room(); wait !== null; wait = ledger.room()) await wait;
        ledger.ask(scopeOf(ledger), key, (told) => {
          if (told !== null) return;
          called.set(key, (called.get(key) ?? 0) + 1);
          setImmediate(() => answer(ledger, key));
        });
      }
      await expect.poll(() => keys.every((key) => ledger.get(scopeOf(ledger), key) !== null), { timeout: 10_000 }).toBe(true);
      return ledger.totals().lookups - ledger.totals().reused;
    });
    const paid = await Promise.all(outcomes);
    expect([...called].filter(([, times]) => times > 1)).toEqual([]);
    expect(paid.reduce((sum, n) => sum + n, 0)).toBe(keys.length);
  });

  it('jobs that keep their answers for themselves do not wait for each other; runs of one job do', async () => {
    const site = await make();
    const [one, other, shard] = await Promise.all([['one', 'r1'], ['other', 'r2'], ['one', 'r3']].map(([job = '', run = '']) => site.open({ job, run, machine: run })));
    if (one === undefined || other === undefined || shard === undefined) throw new Error('three were opened');
    expect(await ask(one, 'k').told).toBeNull();
    expect(await ask(other, 'k').told).toBeNull();
    const waits = ask(shard, 'k');
    answer(one, 'k');
    expect(await waits.told).toEqual(HIT);
  });

  it('a run that ends gives what it has not asked for to another one', async () => {
    const [ends, heir, third] = await openRuns(await make(), ['ends', 'heir', 'third']);
    expect(await ask(ends, 'k').told).toBeNull();
    const waits = [ask(heir, 'k'), ask(third, 'k')];
    await expect.poll(() => [heir.waiting, third.waiting]).toEqual([1, 1]);
    await ends.close();
    expect(await Promise.race(waits.map(({ told }) => told))).toBeNull();
    expect(waits.filter(({ isTold }) => isTold()).length).toBe(1);
    answer(waits[0]?.isTold() === true ? heir : third, 'k');
    expect((await Promise.all(waits.map(({ told }) => told))).filter((told) => told !== null)).toEqual([HIT]);
  });

  it('a run that was killed and is started again holds its own claims at once', async () => {
    const site = await make();
    const killed = await site.open({ run: 'r', machine: 'one' });
    expect(await ask(killed, 'k').told).toBeNull();
    const again = await site.open({ run: 'r', machine: 'two' });
    expect(await ask(again, 'k').told).toBeNull();
  });

  it('an answer that is too old is asked for anew, by one run', async () => {
    const site = await make();
    const old = await site.open({ run: 'old', machine: 'old', maxAgeDays: 7 });
    expect(await ask(old, 'k').told).toBeNull();
    answer(old, 'k');
    await old.keep();
    await old.close();
    const now = (): number => START + 8 * DAY;
    const [a, b] = await Promise.all(['a', 'b'].map((run) => site.open({ run, machine: run, maxAgeDays: 7, now, since: now() })));
    if (a === undefined || b === undefined) throw new Error('two were opened');
    expect(await ask(a, 'k').told).toBeNull();
    const waits = ask(b, 'k');
    await expect.poll(() => b.waiting).toBe(1);
    const fresh = { kind: 'hit', text: '{"name":"Ada anew"}' } as const;
    answer(a, 'k', fresh);
    expect(await waits.told).toEqual(fresh);
  });

  it('holds back the reader when thousands are asked for at once, and answers all', async () => {
    const [ledger] = await openRuns(await make(), ['a', 'beside']);
    let told = 0;
    for (let i = 0; i < 5_000; i++) {
      for (let wait = ledger.room(); wait !== null; wait = ledger.room()) await wait;
      ledger.ask(scopeOf(ledger), `p${i}`, (known) => {
        expect(known).toBeNull();
        told++;
        answer(ledger, `p${i}`);
      });
      expect(i - told).toBeLessThan(128);
    }
    await ledger.keep();
    expect(ledger.totals()).toEqual({ lookups: 5_000, reused: 0 });
  });
});
