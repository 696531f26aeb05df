import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Ledger, type LedgerAnswer, type LedgerOptions } from '../../src/ledger/ledger.ts';

let folder: string;
let now = 1_700_000_000_000;
const DAY = 86_400_000;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function open(options: Partial<LedgerOptions> = {}): Ledger {
  return Ledger.open({ path: join(folder, 'answers.ledger'), job: 'nightly', run: 'run-1', maxAgeDays: 0, now: () => now, ...options });
}

const hit = { kind: 'hit', text: '{"name":"Ada"}' } as const;

describe('Ledger', () => {
  it('finds a put answer before the flush, after it, and after a reopening', () => {
    const ledger = open();
    const scope = ledger.scope('https://api.example', 'enrich', 'by email');
    ledger.put([
      { scope, key: 'a', answer: hit },
      { scope, key: 'b', answer: { kind: 'miss' } },
      { scope, key: 'c', answer: { kind: 'suppressed' } },
      { scope, key: 'd', answer: { kind: 'failed', code: 'http_500', attempts: 5, requestId: 'r1' } },
      { scope, key: 'e', answer: { kind: 'unsettled', text: '{"result":"unknown"}' } },
    ]);
    const look = (l: Ledger): unknown[] => ['a', 'b', 'c', 'd', 'e', 'f'].map((key) => l.get(scope, key));
    const expected = [
      hit,
      { kind: 'miss' },
      { kind: 'suppressed' },
      { kind: 'failed', code: 'http_500', attempts: 5, requestId: 'r1' },
      { kind: 'unsettled', text: '{"result":"unknown"}' },
      null,
    ];
    expect(look(ledger)).toEqual(expected);
    ledger.flush();
    expect(look(ledger)).toEqual(expected);
    ledger.close();
    const again = open();
    expect(look(again)).toEqual(expected);
    expect(again.totals()).toEqual({ lookups: 5, reused: 0 });
    again.close();
  });

  it('dates answers of a clock that was ahead at now, so that they age, and does not take their unknown verdicts for those of now', () => {
    const of = (run: string): Ledger => open({ job: run, run, maxAgeDays: 30, sharedSince: now });
    const sane = now;
    const put = (key: string, answer: LedgerAnswer): void => {
      const ledger = of(`of ${key}`);
      ledger.put([{ scope: ledger.scope('o', 'verify', ''), key, answer }]);
      ledger.close();
    };
    try {
      put('before', hit);
      now = sane + 400 * DAY;
      put('ahead', hit);
      put('unknown', { kind: 'unsettled', text: '{}' });
      now = sane;
      const ledger = of('next');
      const scope = ledger.scope('o', 'verify', '');
      expect(['before', 'ahead', 'unknown'].map((key) => ledger.get(scope, key)?.kind)).toEqual(['hit', 'hit', undefined]);
      const ahead = ledger.answersAhead(now);
      expect(ahead).toMatchObject({ newestMs: sane + 400 * DAY });
      if (ahead !== null) expect(ledger.countAsWritten(ahead, now)).toBe(2);
      expect(ledger.answersAhead(now)).toBeNull();
      ledger.close();
      now = sane + 31 * DAY;
      const later = of('later');
      expect(['before', 'ahead'].map((key) => later.get(scope, key))).toEqual([null, null]);
      later.close();
    } finally {
      now = sane;
    }
  });

  it('a resumed run takes the newer answer of another run in place of its own open request, with a ticket or without', () => {
    const kept = { maxAgeDays: 30 };
    const stopped = open({ ...kept, run: 'stopped' });
    const scope = stopped.scope('https://api.example', 'enrich', 'by email');
    stopped.put([
      { scope, key: 'a', answer: { kind: 'asking', text: '["id",1,1,"ticket",1]' } },
      { scope, key: 'b', answer: { kind: 'asking', text: '["id",1,1]' } },
    ]);
    stopped.close();
    const other = open({ ...kept, job: 'another', run: 'other' });
    other.put(['a', 'b'].map((key) => ({ scope, key, answer: hit })));
    other.close();
    const resumed = open({ ...kept, run: 'stopped' });
    expect(['a', 'b'].map((key) => resumed.get(scope, key))).toEqual([hit, hit]);
    resumed.close();
  });

  it('the shards of a run find each other’s answers and failures, and each lookup counts once for the run', () => {
    const before = open({ run: 'run-0' });
    const scope = before.scope('https://api.example', 'enrich', 'by email');
    before.put([1, 2].map((key) => ({ scope, key: `old ${key}`, answer: hit })));
    before.close();
    const shards = [open({ shared: true }), open({ shared: true })] as const;
    shards[0].put([{ scope, key: 'a', answer: { kind: 'failed', code: 'http_500', attempts: 5, requestId: null } }]);
    expect(shards[1].get(scope, 'a')).toBeNull();
    shards[0].flush();
    expect(shards[1].get(scope, 'a')).toMatchObject({ kind: 'failed' });
    // An answer of an earlier run that one shard uses counts as used for both.
    for (const [i, shard] of shards.entries()) expect(shard.get(scope, `old ${i + 1}`)).toEqual(hit);
    for (const shard of shards) shard.flush();
    for (const shard of shards) expect(shard.totals()).toEqual({ lookups: 3, reused: 2 });
    expect(shards.map(({ counts }) => counts.all)).toEqual([
      { lookups: 2, reused: 1 },
      { lookups: 1, reused: 1 },
    ]);
    for (const shard of shards) shard.close();
    const again = open({ shared: true });
    for (const key of ['old 1', 'old 2', 'a']) expect(again.get(scope, key)).not.toBeNull();
    expect(again.totals()).toEqual({ lookups: 3, reused: 2 });
    again.close();
  });

  it('the newest answer of a key wins, and a settled answer after an unsettled one does not count as another lookup', () => {
    const ledger = open();
    const scope = ledger.scope('o', 'verify', '');
    for (const durable of [false, true]) {
      const key = `a${durable}`;
      ledger.put([{ scope, key, answer: { kind: 'unsettled', text: '{}' } }]);
      if (durable) ledger.flush();
      ledger.put([{ scope, key, answer: hit, again: true }]);
      expect(ledger.get(scope, key)).toEqual(hit);
    }
    ledger.close();
    const again = open();
    expect([again.get(scope, 'afalse'), again.get(scope, 'atrue'), again.totals().lookups]).toEqual([hit, hit, 2]);
    again.close();
  });

  it('finds an answer only under the origin, step and options that it was put with', () => {
    const ledger = open();
    const one = ledger.scope('https://api.example', 'enrich', 'by email');
    ledger.put([{ scope: one, key: 'a', answer: hit }]);
    ledger.flush();
    for (const [origin, step, options] of [
      ['https://other.example', 'enrich', 'by email'],
      ['https://api.example', 'verify', 'by email'],
      ['https://api.example', 'enrich', 'by domain'],
    ] as const) {
      expect(ledger.get(ledger.scope(origin, step, options), 'a')).toBeNull();
    }
    expect(ledger.scope('https://api.example', 'enrich', 'by email')).toBe(one);
    ledger.close();
  });

  it('later runs do not reuse failures or unknown verdicts, and a reused answer counts once', () => {
    const first = open();
    const scope = first.scope('o', 'verify', '');
    first.put([
      { scope, key: 'good', answer: hit },
      { scope, key: 'bad', answer: { kind: 'failed', code: 'x', attempts: 5, requestId: null } },
      { scope, key: 'vague', answer: { kind: 'unsettled', text: '{}' } },
    ]);
    first.close();
    const second = open({ run: 'run-2' });
    expect(second.get(scope, 'bad')).toBeNull();
    expect(second.get(scope, 'vague')).toBeNull();
    expect(second.get(scope, 'good')).toEqual(hit);
    second.flush();
    expect(second.get(scope, 'good')).toEqual(hit);
    expect(second.totals()).toEqual({ lookups: 1, reused: 1 });
    second.close();
  });

  it('other jobs reuse an answer only with an age limit, and only up to that age', () => {
    const first = open();
    const scope = first.scope('o', 'enrich', '');
    first.put([{ scope, key: 'k', answer: hit }]);
    first.close();
    const look = (options: Partial<LedgerOptions>): unknown => {
      const ledger = open({ run: 'run-2', ...options });
      const found = ledger.look(scope, 'k') !== null;
      ledger.close();
      return found;
    };
    expect(look({ job: 'other', maxAgeDays: 0 })).toBe(false);
    expect(look({ job: 'nightly', maxAgeDays: 0 })).toBe(true);
    expect(look({ job: 'other', maxAgeDays: 30 })).toBe(true);
    now += 31 * DAY;
    expect(look({ job: 'other', maxAgeDays: 30 })).toBe(false);
    expect(look({ job: 'nightly', maxAgeDays: 30 })).toBe(false);
    expect(look({ job: 'nightly', maxAgeDays: 0 })).toBe(true);
    expect(look({ job: 'nightly', run: 'run-1', maxAgeDays: 30 })).toBe(true);
  });

  const KINDS: readonly LedgerAnswer[] = [
    hit,
    { kind: 'miss' },
    { kind: 'suppressed' },
    { kind: 'unsettled', text: '{}' },
    { kind: 'failed', code: 'x', attempts: 5, requestId: null },
  ];

  it.each(KINDS)('a later run reuses settled answers and misses up to the last millisecond of the age limit: $kind', (answer) => {
    const settled = answer.kind !== 'unsettled' && answer.kind !== 'failed';
    const asked = open({ job: 'first', run: 'first' });
    const scope = asked.scope('https://api.example', 'enrich', 'by email');
    asked.put([{ scope, key: 'k', answer }]);
    asked.close();
    const found = (job: string, maxAgeDays: number, ageMs: number): unknown => {
      const ledger = open({ job, run: `${job} again`, maxAgeDays, now: () => now + ageMs });
      const got = ledger.get(scope, 'k');
      expect(ledger.look(scope, 'k')).toEqual(got);
      ledger.close();
      return got;
    };
    for (const job of ['first', 'other']) {
      expect(found(job, 7, 7 * DAY)).toEqual(settled ? answer : null);
      expect(found(`${job} late`, 7, 7 * DAY + 1)).toBeNull();
    }
    // Without an age limit only the same job reuses an answer, at any age.
    expect(found('first', 0, 1_000 * DAY)).toEqual(settled ? answer : null);
    expect(found('another', 0, 0)).toBeNull();
  });

  it('an answer that several runs reuse keeps the age of its first call', () => {
    const first = open({ job: 'a', run: 'r1' });
    const scope = first.scope('o', 'enrich', '');
    first.put([{ scope, key: 'k', answer: hit }]);
    first.close();
    now += 20 * DAY;
    const second = open({ job: 'b', run: 'r2', maxAgeDays: 30 });
    expect(second.get(scope, 'k')).toEqual(hit);
    second.close();
    now += 20 * DAY;
    const third = open({ job: 'c', run: 'r3', maxAgeDays: 30 });
    expect(third.get(scope, 'k')).toBeNull();
    third.close();
  });

  it('a resumed run finds every answer that it used, even past the age limit and after 32 later runs of its job', () => {
    const first = open({ job: 'a', run: 'asked' });
    const scope = first.scope('o', 'enrich', '');
    first.put([{ scope, key: 'k', answer: hit }]);
    first.close();
    const stopped = open({ run: 'night 1', maxAgeDays: 30 });
    expect(stopped.get(scope, 'k')).toEqual(hit);
    stopped.close();
    now += 31 * DAY;
    for (let night = 2; night <= 33; night++) open({ run: `night ${night}`, maxAgeDays: 30 }).close();
    const resumed = open({ run: 'night 1', maxAgeDays: 30 });
    expect(resumed.get(scope, 'k')).toEqual(hit);
    resumed.close();
    // The ledger forgets the run once its job has started enough later ones.
    for (let night = 34; night <= 35; night++) open({ run: `night ${night}`, maxAgeDays: 30 }).close();
    const late = open({ run: 'night 1', maxAgeDays: 30 });
    expect(late.get(scope, 'k')).toBeNull();
    late.close();
  });

  it('two jobs that use one ledger at the same time find each other’s answers', () => {
    const a = open({ job: 'a', run: 'ra', maxAgeDays: 1 });
    const b = open({ job: 'b', run: 'rb', maxAgeDays: 1 });
    const scope = a.scope('o', 'enrich', '');
    for (let i = 0; i < 5_000; i++) (i % 2 === 0 ? a : b).put([{ scope, key: `k${i}`, answer: hit }]);
    a.flush();
    b.flush();
    for (let i = 0; i < 5_000; i += 97) {
      expect(a.get(scope, `k${i}`)).toEqual(hit);
      expect(b.get(scope, `k${i}`)).toEqual(hit);
    }
    a.close();
    b.close();
  });

  it.each([
    ['a match', hit],
    ['a failure', { kind: 'failed', code: 'http_500', attempts: 5, requestId: null }],
    ['an unknown verdict', { kind: 'unsettled', text: '{"result":"unknown"}' }],
  ] as const)('a run finds its own answer (%s), not the later one of another job, and counts it once', (_name, own) => {
    const shared = { maxAgeDays: 30 };
    const first = open(shared);
    const scope = first.scope('https://api.example', 'enrich', 'by email');
    first.put([{ scope, key: 'a', answer: own }]);
    first.flush();
    const other = open({ ...shared, job: 'weekly', run: 'run-2' });
    other.put([{ scope, key: 'a', answer: { kind: 'hit', text: '{"name":"another"}' } }]);
    other.close();
    expect(first.get(scope, 'a')).toEqual(own);
    first.close();
    const again = open(shared);
    expect(again.get(scope, 'a')).toEqual(own);
    expect(again.totals()).toEqual({ lookups: 1, reused: 0 });
    again.close();
  });

  it('a ledger that is damaged or unreadable ends with 74, and the hint asks for a second attempt before the ledger is given up', () => {
    const path = join(folder, 'answers.ledger');
    open().close();
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0xff, 16_384));
    expect(() => open()).toThrow(
      expect.objectContaining({
        exitCode: 74,
        code: 'ledger_failed',
        message: expect.stringMatching(/is damaged, or the disk could not read it/),
        hint: expect.stringMatching(/If it says the same again, move the ledger away/),
      }),
    );
  });

  it('refuses a file that is not a ledger', () => {
    const path = join(folder, 'answers.ledger');
    writeFileSync(path, 'this is not a database, it is a text of some length'.repeat(50));
    expect(() => open()).toThrow(expect.objectContaining({ exitCode: 78, code: 'ledger_unreadable' }));
    rmSync(path);
    const other = new DatabaseSync(path);
    other.exec('CREATE TABLE theirs (x)');
    other.close();
    expect(() => open()).toThrow(/another program/);
  });

  it('a ledger of an older version is brought up to date, also for a reader, and one of a newer version is refused', () => {
    const path = join(folder, 'answers.ledger');
    const ledger = open();
    const scope = ledger.scope('https://api.example', 'enrich', 'by email');
    ledger.put([{ scope, key: 'a', answer: hit }]);
    ledger.close();
    const change = (sql: string): void => {
      const db = new DatabaseSync(path);
      db.exec(sql);
      db.close();
    };
    change('ALTER TABLE runs DROP COLUMN spent; PRAGMA user_version = 2;');
    const reader = open({ readOnly: true });
    expect([reader.look(scope, 'a'), reader.spent]).toEqual([hit, '']);
    reader.close();
    change('PRAGMA user_version = 99;');
    for (const readOnly of [true, false]) expect(() => open({ readOnly })).toThrow(/newer version/);
  });

  it('stores the spending of the run with its answers, and none of several shards', () => {
    for (const shared of [false, true]) {
      const ledger = open({ run: `run of ${shared}`, shared });
      const scope = ledger.scope('https://api.example', 'enrich', 'by email');
      ledger.spentNow = () => '{"run":{"credits":3}}';
      ledger.put([{ scope, key: `of ${shared}`, answer: hit }]);
      ledger.close();
      const again = open({ run: `run of ${shared}`, shared });
      expect(again.spent).toBe(shared ? '' : '{"run":{"credits":3}}');
      again.close();
    }
  });
});
