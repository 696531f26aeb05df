/** The contract of every ledger towards one run, in a file, in S3 or in Redis. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LedgerAnswer } from '../../src/ledger/ledger.ts';
import type { RunLedger } from '../../src/ledger/run-ledger.ts';
import { neededFacts } from '../services/needed.ts';
import { RedisCluster } from '../services/redis-cluster.ts';
import { clusterKind, DAY, FILE, redisKind, s3Kind, START, type SiteKind } from './shared.ts';

const HIT = { kind: 'hit', text: '{"name":"Ada"}' } as const;
const FAILED = { kind: 'failed', code: 'http_500', attempts: 5, requestId: 'r1' } as const;
const KINDS: readonly LedgerAnswer[] = [
  HIT,
  { kind: 'miss' },
  { kind: 'suppressed' },
  { kind: 'unsettled', text: '{"result":"unknown"}' },
  FAILED,
];

let cluster: RedisCluster;
beforeAll(async () => {
  if (typeof redis !== 'string') cluster = await RedisCluster.start();
});
afterAll(() => cluster?.end());

const [s3, redis] = [await neededFacts('s3'), await neededFacts('redis')];
const kinds: SiteKind[] = [
  FILE,
  ...(typeof s3 === 'string' ? lacking(s3) : [await s3Kind(s3)]),
  ...(typeof redis === 'string' ? lacking(redis) : [redisKind(redis), clusterKind(() => cluster)]),
];

function lacking(why: string): SiteKind[] {
  if (process.env['CI'] === 'true') throw new Error(why);
  process.stderr.write(`\nSKIPPED: a kind of ledger: ${why}\n\n`);
  return [];
}

const scopeOf = (ledger: RunLedger, step = 'enrich', options = 'by email'): number => ledger.scope('https://api.example', step, options);

/** The answer that the ledger has for a key, or null when the run must call. */
async function lookUp(ledger: RunLedger, key: string, scope = scopeOf(ledger)): Promise<LedgerAnswer | null> {
  return ledger.get(scope, key) ?? new Promise((resolve) => ledger.ask(scope, key, resolve));
}

const TICKET = '["part",1,1,"ticket",1700000000000]';

/** The note with which a run asks for the answer to `k`; null when it is to send a new request. */
async function ticketOf(ledger: RunLedger): Promise<string | null> {
  const known = ledger.get(scopeOf(ledger), 'k');
  if (known !== null) return known.kind === 'asking' ? known.text : null;
  return new Promise((resolve) => ledger.ask(scopeOf(ledger), 'k', (_answer, _seed, promised = null) => resolve(promised)));
}

async function putAll(ledger: RunLedger, answers: Readonly<Record<string, LedgerAnswer>>): Promise<void> {
  const scope = scopeOf(ledger);
  for (const [key, answer] of Object.entries(answers)) {
    expect(await lookUp(ledger, key)).toBeNull();
    ledger.put([{ scope, key, answer }]);
  }
  await ledger.keep();
}

describe.each(kinds)('a ledger in $name', ({ make, shared }) => {
  it('finds answers of every kind before and after they are durable, on another machine, and after a crash', async () => {
    const site = await make();
    const first = await site.open();
    await putAll(first, Object.fromEntries(KINDS.map((answer) => [answer.kind, answer])));
    for (const answer of KINDS) expect(await lookUp(first, answer.kind)).toEqual(answer);
    expect(first.totals()).toEqual({ lookups: 5, reused: 0 });
    // The first run is never closed, as if it had been killed.
    const again = await site.open(shared ? { machine: 'two' } : {});
    for (const answer of KINDS) expect(await lookUp(again, answer.kind)).toEqual(answer);
    expect(await lookUp(again, 'nobody')).toBeNull();
    expect(again.totals()).toEqual({ lookups: 5, reused: 0 });
  });

  it('has a ticket for the next to ask: the same run elsewhere, a later run, another job; and none once it is answered', async () => {
    const site = await make();
    const open = (run: string, more: object = {}): Promise<RunLedger> => site.open({ run, maxAgeDays: 7, machine: run, ...more });
    const first = await open('first');
    expect(await ticketOf(first)).toBeNull();
    first.put([{ scope: scopeOf(first), key: 'k', answer: { kind: 'asking', text: TICKET } }]);
    await first.keep();
    await first.close();
    for (const [run, more] of [
      ['first', { machine: 'elsewhere' }],
      ['later', {}],
      ['other', { job: 'other' }],
    ] as const) {
      const next = await open(run, more);
      expect([run, await ticketOf(next)]).toEqual([run, TICKET]);
      await next.close();
    }
    const last = await open('last');
    expect(await ticketOf(last)).toBe(TICKET);
    last.put([{ scope: scopeOf(last), key: 'k', answer: HIT }]);
    await last.keep();
    await last.close();
    expect(await lookUp(await open('after'), 'k')).toEqual(HIT);
  });

  it('has the spending of the run that its last stored answers state, here and on another machine, and none of another run', async () => {
    const site = await make();
    const first = await site.open();
    expect(first.spent).toEqual([]);
    let credits = 0;
    first.storeSpent(() => `{"credits":${credits}}`);
    for (const key of ['a', 'b']) {
      credits += 3;
      await putAll(first, { [key]: HIT });
    }
    // The first run is never closed, as if it had been killed.
    const again = await site.open(shared ? { machine: 'two' } : {});
    expect(again.spent).toContain('{"credits":6}');
    if (shared) {
      again.storeSpent(() => '{"credits":8}');
      await putAll(again, { c: HIT });
      await again.close();
      await first.close();
      for (const machine of ['one', 'two', 'three']) expect((await site.open({ machine })).spent).toContain('{"credits":8}');
    }
    expect((await site.open({ run: 'another' })).spent).toEqual([]);
  });

  it('has the ticket of a lookup whose polls have failed for a later run', async () => {
    const site = await make();
    const first = await site.open({ run: 'first', maxAgeDays: 7, machine: 'first' });
    expect(await ticketOf(first)).toBeNull();
    first.put([{ scope: scopeOf(first), key: 'k', answer: { ...FAILED, note: TICKET } }]);
    await first.keep();
    await first.close();
    const now = START + 1_000;
    expect(await ticketOf(await site.open({ run: 'later', maxAgeDays: 7, machine: 'later', now: () => now, since: now }))).toBe(TICKET);
  });

  it('has the ticket of a failed or skipped lookup for a retry, and drops notes without one', async () => {
    const site = await make();
    const ledger = await site.open();
    const scope = scopeOf(ledger);
    const notes: Readonly<Record<string, LedgerAnswer>> = {
      skipped: { kind: 'asking', text: TICKET },
      failed: { ...FAILED, note: TICKET },
      part: { kind: 'asking', text: '["part",2,1]' },
    };
    await putAll(ledger, notes);
    const failedUpTo = ledger.lastAnswer();
    await ledger.close();
    const retry = await site.open({ failedUpTo, now: () => START + 1_000 });
    expect(retry.get(scope, 'skipped')).toEqual({ kind: 'asking', text: TICKET });
    expect(retry.get(scope, 'failed')).toEqual({ kind: 'asking', text: TICKET });
    expect(retry.get(scope, 'part')).toBeNull();
  });

  it('finds an answer only under the origin, step and options that it was put with', async () => {
    const site = await make();
    const ledger = await site.open();
    await putAll(ledger, { a: HIT });
    expect(await lookUp(ledger, 'a', ledger.scope('https://other.example', 'enrich', 'by email'))).toBeNull();
    expect(await lookUp(ledger, 'a', scopeOf(ledger, 'verify'))).toBeNull();
    expect(await lookUp(ledger, 'a', scopeOf(ledger, 'enrich', 'by domain'))).toBeNull();
    expect(scopeOf(ledger)).toBe(scopeOf(ledger));
  });

  it('later runs reuse settled answers, those of other jobs only up to the last millisecond of the age limit', async () => {
    const all = Object.fromEntries(KINDS.map((answer) => [answer.kind, answer]));
    const settled = KINDS.map((answer) => (answer.kind === 'unsettled' || answer.kind === 'failed' ? null : answer));
    const none = KINDS.map(() => null);
    const own = await make();
    await putAll(await own.open(), all);
    const later = async (site: typeof own, job: string, maxAgeDays: number, ageMs: number): Promise<(LedgerAnswer | null)[]> => {
      const ledger = await site.open({
        job,
        run: `${job} ${maxAgeDays} ${ageMs}`,
        maxAgeDays,
        machine: `${job}${maxAgeDays}${ageMs}`,
        now: () => START + ageMs,
        since: START + ageMs + 1,
      });
      const found = await Promise.all(KINDS.map(({ kind }) => lookUp(ledger, kind)));
      await ledger.close();
      return found;
    };
    expect(await later(own, 'nightly', 0, 1_000 * DAY)).toEqual(settled);
    expect(await later(own, 'other', 0, 0)).toEqual(none);
    const common = await make();
    await putAll(await common.open({ maxAgeDays: 7 }), all);
    expect(await later(common, 'other', 7, 7 * DAY + 1)).toEqual(none);
    expect(await later(common, 'other', 7, 7 * DAY)).toEqual(settled);
    expect(await later(common, 'nightly', 7, 7 * DAY)).toEqual(settled);
  });

  it('counts a reused answer once, and keeps the age of its first call', async () => {
    const site = await make();
    await putAll(await site.open({ maxAgeDays: 30 }), { k: HIT });
    const second = await site.open({
      job: 'b',
      run: 'b',
      maxAgeDays: 30,
      machine: 'b',
      now: () => START + 20 * DAY,
      since: START + 20 * DAY,
    });
    expect([await lookUp(second, 'k'), await lookUp(second, 'k')]).toEqual([HIT, HIT]);
    await second.keep();
    expect([await lookUp(second, 'k'), second.totals()]).toEqual([HIT, { lookups: 1, reused: 1 }]);
    await second.close();
    // An answer that a run has used stays valid for its later resumes.
    const resumed = await site.open({
      job: 'b',
      run: 'b',
      maxAgeDays: 30,
      machine: 'b',
      now: () => START + 40 * DAY,
      since: START + 20 * DAY,
    });
    expect([await lookUp(resumed, 'k'), resumed.totals()]).toEqual([HIT, { lookups: 1, reused: 1 }]);
    const third = await site.open({
      job: 'c',
      run: 'c',
      maxAgeDays: 30,
      machine: 'c',
      now: () => START + 40 * DAY,
      since: START + 40 * DAY,
    });
    expect(await lookUp(third, 'k')).toBeNull();
  });

  it('a retry asks again for the failures that it retries, but not for those that it has asked again already', async () => {
    const site = await make();
    const run = await site.open();
    await putAll(run, { bad: FAILED, good: HIT });
    const failedUpTo = run.lastAnswer();
    expect(failedUpTo).toBeGreaterThan(0);
    await run.close();
    // The clock was set back by a day in between.
    const retry = await site.open({ failedUpTo, now: () => START - DAY, since: failedUpTo + 1, machine: 'two' });
    expect([await lookUp(retry, 'good'), await lookUp(retry, 'bad')]).toEqual([HIT, null]);
    retry.put([{ scope: scopeOf(retry), key: 'bad', answer: FAILED }]);
    await retry.keep();
    expect(retry.totals()).toEqual({ lookups: 2, reused: 0 });
    await retry.close();
    const resumed = await site.open({ failedUpTo, now: () => START - DAY, since: failedUpTo + 1, machine: 'three' });
    expect([await lookUp(resumed, 'bad'), resumed.totals()]).toEqual([FAILED, { lookups: 2, reused: 0 }]);
  });

  it('takes more answers in one put than one write holds', async () => {
    const site = await make();
    const ledger = await site.open();
    const scope = scopeOf(ledger);
    const keys = Array.from({ length: 6_000 }, (_, i) => `p${i}@works.example`);
    ledger.put(keys.map((key) => ({ scope, key, answer: { kind: 'hit', text: JSON.stringify({ email: key }) } })));
    await ledger.keep();
    const again = await site.open(shared ? { machine: 'two' } : {});
    for (const i of [0, 1, 4_999, 5_000, 5_999])
      expect(await lookUp(again, keys[i] ?? '')).toEqual({ kind: 'hit', text: JSON.stringify({ email: keys[i] }) });
    expect(again.totals()).toEqual({ lookups: 6_000, reused: 0 });
  });
});
