/** The contract of every ledger that several runs use at once: one run asks for a lookup, and the others wait for its answer. */
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

/** Opens one run for each name. Each run belongs to its own job, and all of them share their answers. */
function openRuns<const Names extends readonly string[]>(site: Site, names: Names): Promise<Runs<Names>> {
  return Promise.all(names.map((name) => site.open({ job: name, run: name, machine: name, maxAgeDays: 7 }))) as Promise<Runs<Names>>;
}

describe.each(kinds)('claims of a ledger in $name', ({ make }) => {
  it('one run asks, and the others wait for its answer, also for an unknown verdict or a refusal', async () => {
    const [a, b, c] = await openRuns(await make(), ['a', 'b', 'c']);
    const answers: readonly LedgerAnswer[] = [
      HIT,
      { kind: 'miss' },
      { kind: 'suppressed' },
      { kind: 'unsettled', text: '{"result":"unknown"}' },
      { kind: 'failed', code: 'http_400', attempts: 1, requestId: null },
    ];
    for (const given of answers) {
      expect(await ask(a, given.kind).answered).toBeNull();
      const others = [b, c].map((ledger) => ask(ledger, given.kind));
      await expect.poll(() => [b.waiting, c.waiting]).toEqual([1, 1]);
      expect(others.map(({ isAnswered }) => isAnswered())).toEqual([false, false]);
      answer(a, given.kind, given);
      expect(await Promise.all(others.map((other) => other.answered))).toEqual([given, given]);
    }
    expect([a, b, c].map((ledger) => ledger.totals())).toEqual([
      { lookups: 5, reused: 0 },
      { lookups: 5, reused: 5 },
      { lookups: 5, reused: 5 },
    ]);
    expect([b.waiting, c.waiting]).toEqual([0, 0]);
  });

  it('a note about a lookup that is still asked for does not count as an answer for the runs that wait', async () => {
    const site = await make();
    const [a, b] = await Promise.all([site.open({ run: 'a', machine: 'a' }), site.open({ run: 'b', machine: 'b' })]);
    expect(await Promise.all([ask(a, 'k').answered, ask(a, 'other').answered])).toEqual([null, null]);
    const [waits, other] = [ask(b, 'k'), ask(b, 'other')];
    await expect.poll(() => b.waiting).toBe(2);
    const note = { kind: 'asking', text: '["part of a request",2,1]' } as const;
    answer(a, 'k', note);
    answer(a, 'other');
    expect(await other.answered).toEqual(HIT);
    await expect.poll(() => b.waiting).toBe(1);
    expect([waits.isAnswered(), a.get(scopeOf(a), 'k')]).toEqual([false, note]);
    answer(a, 'k');
    expect(await waits.answered).toEqual(HIT);
  });

  it('several runs that need the same 600 keys in different orders ask for each key once', async () => {
    const runs = await openRuns(await make(), ['a', 'b', 'c']);
    const keys = Array.from({ length: 600 }, (_, i) => `p${i}`);
    const called = new Map<string, number>();
    const outcomes = runs.map(async (ledger, shift) => {
      for (const i of keys.keys()) {
        const key = keys[(i * 7 + shift * 200) % keys.length] ?? '';
        for (let wait = ledger.room(); wait !== null; wait = ledger.room()) await wait;
        ledger.ask(scopeOf(ledger), key, (known) => {
          if (known !== null) return;
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

  it('runs of one job wait for each other; jobs that do not share their answers do not', async () => {
    const site = await make();
    const [one, other, shard] = await Promise.all(
      [
        ['one', 'r1'],
        ['other', 'r2'],
        ['one', 'r3'],
      ].map(([job = '', run = '']) => site.open({ job, run, machine: run })),
    );
    if (one === undefined || other === undefined || shard === undefined) throw new Error('three were opened');
    expect(await ask(one, 'k').answered).toBeNull();
    expect(await ask(other, 'k').answered).toBeNull();
    const waits = ask(shard, 'k');
    answer(one, 'k');
    expect(await waits.answered).toEqual(HIT);
  });

  it('a run that ends hands its unanswered claims to one of the waiting runs', async () => {
    const [ends, heir, third] = await openRuns(await make(), ['ends', 'heir', 'third']);
    expect(await ask(ends, 'k').answered).toBeNull();
    const waits = [ask(heir, 'k'), ask(third, 'k')];
    await expect.poll(() => [heir.waiting, third.waiting]).toEqual([1, 1]);
    await ends.close();
    expect(await Promise.race(waits.map(({ answered }) => answered))).toBeNull();
    expect(waits.filter(({ isAnswered }) => isAnswered()).length).toBe(1);
    answer(waits[0]?.isAnswered() === true ? heir : third, 'k');
    expect((await Promise.all(waits.map(({ answered }) => answered))).filter((known) => known !== null)).toEqual([HIT]);
  });

  it('a run that gives a lookup up leaves it to a run that waits, with the seed of its keys', async () => {
    const [gives, heir] = await openRuns(await make(), ['gives', 'heir']);
    expect([await ask(gives, 'k').answered, await ask(gives, 'kept').answered]).toEqual([null, null]);
    const [waits, other] = [ask(heir, 'k'), ask(heir, 'kept')];
    await expect.poll(() => heir.waiting).toBe(2);
    gives.release(scopeOf(gives), ['k']);
    expect([await waits.answered, waits.seed()]).toEqual([null, 'seed of gives']);
    expect(other.isAnswered()).toBe(false);
    const back = ask(gives, 'k');
    answer(heir, 'k');
    expect(await back.answered).toEqual(HIT);
  });

  it('a killed run that starts again holds its own claims at once', async () => {
    const site = await make();
    const killed = await site.open({ run: 'r', machine: 'one' });
    expect(await ask(killed, 'k').answered).toBeNull();
    const again = await site.open({ run: 'r', machine: 'two' });
    expect(await ask(again, 'k').answered).toBeNull();
  });

  it('an answer that no rule takes is asked for again by one run, and the others wait', async () => {
    const [old, a, b] = await openRuns(await make(), ['old', 'a', 'b']);
    const unfit = '{"status":200,"judged":false,"body":{}}';
    expect(await ask(old, 'k').answered).toBeNull();
    answer(old, 'k', { kind: 'hit', text: unfit });
    expect(await ask(a, 'k').answered).toEqual({ kind: 'hit', text: unfit });
    expect(await ask(a, 'k', unfit).answered).toBeNull();
    expect(await ask(b, 'k').answered).toEqual({ kind: 'hit', text: unfit });
    const waits = ask(b, 'k', unfit);
    await expect.poll(() => b.waiting).toBe(1);
    a.put([{ scope: scopeOf(a), key: 'k', answer: HIT, again: true }]);
    expect(await waits.answered).toEqual(HIT);
    // Where rules take the newer answer no more than the older one, neither is returned again.
    expect(await ask(b, 'k', HIT.text).answered).toBeNull();
    expect([b.get(scopeOf(b), 'k'), a.totals(), b.totals()]).toEqual([HIT, { lookups: 1, reused: 1 }, { lookups: 1, reused: 1 }]);
  });

  it('an answer past the age limit is asked for again by one run, and the others wait', async () => {
    const site = await make();
    const old = await site.open({ run: 'old', machine: 'old', maxAgeDays: 7 });
    expect(await ask(old, 'k').answered).toBeNull();
    answer(old, 'k');
    await old.keep();
    await old.close();
    const now = (): number => START + 8 * DAY;
    const [a, b] = await Promise.all(['a', 'b'].map((run) => site.open({ run, machine: run, maxAgeDays: 7, now, since: now() })));
    if (a === undefined || b === undefined) throw new Error('two were opened');
    expect(await ask(a, 'k').answered).toBeNull();
    const waits = ask(b, 'k');
    await expect.poll(() => b.waiting).toBe(1);
    const fresh = { kind: 'hit', text: '{"name":"Ada anew"}' } as const;
    answer(a, 'k', fresh);
    expect(await waits.answered).toEqual(fresh);
  });

  it('the ledger slows the reader down when thousands of lookups are asked for at once, and answers all of them', async () => {
    const [ledger] = await openRuns(await make(), ['a', 'beside']);
    let answered = 0;
    for (let i = 0; i < 5_000; i++) {
      for (let wait = ledger.room(); wait !== null; wait = ledger.room()) await wait;
      ledger.ask(scopeOf(ledger), `p${i}`, (known) => {
        expect(known).toBeNull();
        answered++;
        answer(ledger, `p${i}`);
      });
      expect(i - answered).toBeLessThan(128);
    }
    await ledger.keep();
    expect(ledger.totals()).toEqual({ lookups: 5_000, reused: 0 });
  });
});
