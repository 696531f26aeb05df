import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Idempotency, MAX_ANSWER_LENGTH, type Begun, type Given } from '../../../src/service/idempotency.ts';
import { AnswerRows } from '../../../src/service/store/answer-rows.ts';
import { Journal } from '../../../src/service/store/journal.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { suppress } from '../../../src/service/store/suppress.ts';
import { seeded } from '../../../fixtures/generate/random.ts';
import { emptyStore } from '../loading.ts';

const HOUR_MS = 3_600_000;

interface Kept {
  readonly store: Store;
  readonly journal: Journal;
  nowMs: number;
  begin(key: string): Begun;
  /** Sends a request for the first time. */
  answer(key: string, text: string, more?: Partial<Given>): void;
}

async function keep(maxBytes?: number): Promise<Kept> {
  const store = await emptyStore();
  const journal = new Journal(store, (error) => {
    throw error;
  });
  const kept: Kept = {
    store, journal, nowMs: Date.now(),
    begin: (key) => idempotency.begin('key', key, '/v1/enrich', Buffer.from(key)),
    answer(key, text, more = {}) {
      const begun = kept.begin(key);
      if (begun.kind !== 'new') throw new Error(begun.kind);
      idempotency.finish(begun.ticket, { status: 200, headers: {}, text, named: {}, secret: null, ...more });
    },
  };
  const idempotency = new Idempotency(store, journal, () => kept.nowMs, new AnswerRows(store, maxBytes));
  return kept;
}

const count = ({ store }: Kept, what: string): number => Number(store.prepare(`SELECT ${what} AS n`).get()?.['n']);

describe('the answers that a store keeps', () => {
  it('come back as they were, however they are put together into blocks', async () => {
    const kept = await keep();
    const random = seeded(11);
    const texts = new Map(Array.from({ length: 200 }, (_, n) => [`k${n}`, JSON.stringify('xäß漢𝒳"\\'[random.int(0, 6)]?.repeat(10 ** random.int(0, 5)))]));
    for (const [key, text] of texts) {
      kept.answer(key, text);
      if (random.int(0, 9) === 0) kept.journal.flush();
    }
    kept.journal.flush();
    for (const [key, text] of texts) expect(kept.begin(key)).toMatchObject({ kind: 'replay', answer: { status: 200, text } });
    expect(count(kept, '(SELECT count(DISTINCT block) FROM answers)')).toBeLessThan(texts.size);
    expect(count(kept, '(SELECT count(DISTINCT block) FROM answers)')).toBeGreaterThan(10);
  });

  it('have a bound together: the oldest make room, and their requests are refused, never done again', async () => {
    const kept = await keep(20_000);
    const random = seeded(12);
    for (let n = 0; n < 100; n++) {
      kept.nowMs += 100;
      // No two blocks have anything in common, so that nothing of them is compressed away.
      kept.answer(`k${n}`, JSON.stringify(Array.from({ length: 100 }, () => random.int(0, 1_000_000_000))));
      kept.journal.flush();
      expect(count(kept, '(SELECT sum(length(texts)) FROM answer_blocks)')).toBeLessThanOrEqual(20_000);
    }
    const kinds = Array.from({ length: 100 }, (_, n) => kept.begin(`k${n}`).kind);
    expect(new Set(kinds)).toEqual(new Set(['dropped', 'replay']));
    expect(kinds.lastIndexOf('dropped')).toBeLessThan(kinds.indexOf('replay'));
  });

  it('have a bound each: a longer one is given, and a replay of it refused', async () => {
    const kept = await keep();
    kept.answer('longest', 'x'.repeat(MAX_ANSWER_LENGTH));
    kept.answer('longer', 'x'.repeat(MAX_ANSWER_LENGTH + 1));
    for (const flush of [false, true]) {
      if (flush) kept.journal.flush();
      expect([kept.begin('longest').kind, kept.begin('longer').kind]).toEqual(['replay', 'dropped']);
    }
  });

  it('are refused before they fill the memory, where the store cannot be written', async () => {
    const kept = await keep();
    const long = 'x'.repeat(MAX_ANSWER_LENGTH);
    for (let n = 0; n < 16; n++) kept.answer(`k${n}`, long);
    expect(() => kept.answer('one more', 'x')).toThrow(expect.objectContaining({ code: 'overloaded', headers: { 'retry-after': '1' } }));
    expect(kept.begin('one more').kind).toBe('new');
  });

  it('are gone after 24 hours, and the purge keeps up with as many as come', async () => {
    const kept = await keep();
    const perHour = 50;
    for (let n = 0; n < 60 * perHour; n++) {
      kept.nowMs += HOUR_MS / perHour;
      kept.answer(`k${n}`, `"${n}"`);
      if (n % 5 === 0) kept.journal.flush();
    }
    expect(count(kept, '(SELECT count(*) FROM answers)')).toBeLessThanOrEqual(24 * perHour + 10);
    expect(count(kept, '(SELECT min(at) FROM answer_blocks)')).toBeGreaterThanOrEqual(kept.nowMs - 25 * HOUR_MS);
    expect([kept.begin(`k${35 * perHour}`).kind, kept.begin(`k${37 * perHour}`).kind]).toEqual(['new', 'replay']);
  });

  it('lose the texts that name an erased person, and no others of the same block', async () => {
    const kept = await keep();
    const texts = ['"before"', '{"email":"ADA@acme.example"}', '{"name":"Ada"}', '"after"'];
    for (const [n, text] of texts.entries()) kept.answer(`k${n}`, text, n === 2 ? { named: { emails: ['ada@acme.example'] } } : {});
    kept.journal.flush();
    suppress(kept.store, ['ada@acme.example'], kept.nowMs);
    expect(texts.map((_, n) => kept.begin(`k${n}`))).toMatchObject([{ kind: 'replay', answer: { text: texts[0] } }, { kind: 'erased' }, { kind: 'erased' }, { kind: 'replay', answer: { text: texts[3] } }]);
    expect(count(kept, '(SELECT count(block) FROM answers)')).toBe(2);
    expect(count(kept, '(SELECT count(*) FROM answers WHERE named IS NOT NULL)')).toBe(0);
  });

  it('are looked at when they are repeated, too: whoever erased somebody may have been cut off before it came to them', async () => {
    const kept = await keep();
    kept.answer('k', '{"email":"ada@acme.example"}');
    kept.journal.flush();
    kept.store.prepare('INSERT INTO suppressions (email_sha256, at) VALUES (?, ?)').run(hash('sha256', 'ada@acme.example', 'buffer'), kept.nowMs);
    expect(kept.begin('k').kind).toBe('erased');
  });
});
