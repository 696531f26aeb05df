import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Idempotency, MAX_ANSWER_LENGTH, type ClaimResult, type StorableAnswer } from '../../../src/service/calls/idempotency.ts';
import { AnswerRows } from '../../../src/service/calls/answer-rows.ts';
import { Journal } from '../../../src/service/store/journal.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { suppress } from '../../../src/service/erasure/suppress.ts';
import { seeded } from '../../../fixtures/generate/random.ts';
import { emptyStore } from '../loading.ts';

const HOUR_MS = 3_600_000;

interface Kept {
  readonly store: Store;
  readonly journal: Journal;
  nowMs: number;
  begin(key: string): ClaimResult;
  /** Sends a request for the first time. */
  answer(key: string, text: string, more?: Partial<StorableAnswer>): void;
}

async function keep(maxBytes?: number): Promise<Kept> {
  const store = await emptyStore();
  const journal = new Journal(store, (error) => {
    throw error;
  });
  const stored: Kept = {
    store,
    journal,
    nowMs: Date.now(),
    begin: (key) => idempotency.claim('key', key, '/v1/enrich', Buffer.from(key)),
    answer(key, text, more = {}) {
      const begun = stored.begin(key);
      if (begun.kind !== 'new') throw new Error(begun.kind);
      idempotency.finish(begun.ticket, { status: 200, headers: {}, text, named: {}, secret: null, ...more });
    },
  };
  const idempotency = new Idempotency(store, journal, () => stored.nowMs, new AnswerRows(store, maxBytes));
  return stored;
}

const count = ({ store }: Kept, what: string): number => Number(store.books.prepare(`SELECT ${what} AS n`).get()?.['n']);

describe('stored first answers', () => {
  it('stored answers are replayed unchanged from blocks of any size', async () => {
    const stored = await keep();
    const random = seeded(11);
    const texts = new Map(
      Array.from({ length: 200 }, (_, n) => [`k${n}`, JSON.stringify('xäß漢𝒳"\\'[random.int(0, 6)]?.repeat(10 ** random.int(0, 5)))]),
    );
    for (const [key, text] of texts) {
      stored.answer(key, text);
      if (random.int(0, 9) === 0) stored.journal.flush();
    }
    stored.journal.flush();
    for (const [key, text] of texts) expect(stored.begin(key)).toMatchObject({ kind: 'replay', answer: { status: 200, text } });
    expect(count(stored, '(SELECT count(DISTINCT block) FROM answers)')).toBeLessThan(texts.size);
    expect(count(stored, '(SELECT count(DISTINCT block) FROM answers)')).toBeGreaterThan(10);
  });

  it('stored answers have a total limit: the oldest are dropped, and their replays are refused, never executed again', async () => {
    const stored = await keep(20_000);
    const random = seeded(12);
    for (let n = 0; n < 100; n++) {
      stored.nowMs += 100;
      // Blocks have no common text, so that compression gains nothing.
      stored.answer(`k${n}`, JSON.stringify(Array.from({ length: 100 }, () => random.int(0, 1_000_000_000))));
      stored.journal.flush();
      expect(count(stored, '(SELECT sum(length(texts)) FROM answer_blocks)')).toBeLessThanOrEqual(20_000);
    }
    const kinds = Array.from({ length: 100 }, (_, n) => stored.begin(`k${n}`).kind);
    expect(new Set(kinds)).toEqual(new Set(['dropped', 'replay']));
    expect(kinds.lastIndexOf('dropped')).toBeLessThan(kinds.indexOf('replay'));
  });

  it('a stored answer has a maximum length: a longer answer is sent, and its replay is refused', async () => {
    const stored = await keep();
    stored.answer('longest', 'x'.repeat(MAX_ANSWER_LENGTH));
    stored.answer('longer', 'x'.repeat(MAX_ANSWER_LENGTH + 1));
    for (const flush of [false, true]) {
      if (flush) stored.journal.flush();
      expect([stored.begin('longest').kind, stored.begin('longer').kind]).toEqual(['replay', 'dropped']);
    }
  });

  it('answers that wait for an unwritable store are refused before they fill the memory', async () => {
    const stored = await keep();
    const long = 'x'.repeat(MAX_ANSWER_LENGTH);
    for (let n = 0; n < 16; n++) stored.answer(`k${n}`, long);
    expect(() => stored.answer('one more', 'x')).toThrow(expect.objectContaining({ code: 'overloaded', headers: { 'retry-after': '1' } }));
    expect(stored.begin('one more').kind).toBe('new');
  });

  it('stored answers are purged after 24 hours, as fast as new ones arrive', async () => {
    const stored = await keep();
    const perHour = 50;
    for (let n = 0; n < 60 * perHour; n++) {
      stored.nowMs += HOUR_MS / perHour;
      stored.answer(`k${n}`, `"${n}"`);
      if (n % 5 === 0) stored.journal.flush();
    }
    expect(count(stored, '(SELECT count(*) FROM answers)')).toBeLessThanOrEqual(24 * perHour + 10);
    expect(count(stored, '(SELECT min(at) FROM answer_blocks)')).toBeGreaterThanOrEqual(stored.nowMs - 25 * HOUR_MS);
    expect([stored.begin(`k${35 * perHour}`).kind, stored.begin(`k${37 * perHour}`).kind]).toEqual(['new', 'replay']);
  });

  it('an erasure deletes only the stored answers that name the person, not the rest of their block', async () => {
    const stored = await keep();
    const texts = ['"before"', '{"email":"ADA@acme.example"}', '{"name":"Ada"}', '"after"'];
    for (const [n, text] of texts.entries()) stored.answer(`k${n}`, text, n === 2 ? { named: { emails: ['ada@acme.example'] } } : {});
    stored.journal.flush();
    suppress(stored.store, ['ada@acme.example'], stored.nowMs);
    expect(texts.map((_, n) => stored.begin(`k${n}`))).toMatchObject([
      { kind: 'replay', answer: { text: texts[0] } },
      { kind: 'erased' },
      { kind: 'erased' },
      { kind: 'replay', answer: { text: texts[3] } },
    ]);
    expect(count(stored, '(SELECT count(block) FROM answers)')).toBe(2);
    expect(count(stored, '(SELECT count(*) FROM answers WHERE named IS NOT NULL)')).toBe(0);
  });

  it('stored answers are checked at replay too, because an erasure may have been interrupted before it reached them', async () => {
    const stored = await keep();
    stored.answer('k', '{"email":"ada@acme.example"}');
    stored.journal.flush();
    stored.store.books
      .prepare('INSERT INTO suppressions (email_sha256, at) VALUES (?, ?)')
      .run(hash('sha256', 'ada@acme.example', 'buffer'), stored.nowMs);
    expect(stored.begin('k').kind).toBe('erased');
  });
});
