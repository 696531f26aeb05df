import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as fc from '../support/fast-check.ts';
import { expect, it } from 'vitest';
import { Ledger } from '../../src/ledger/ledger.ts';
import { casesOf } from '../support/sample.ts';

/** A small batch: a few dozen answers pass through memory, a half-moved batch and the index. */
const INDEX_BATCH = 12;
const KEYS = Array.from({ length: 60 }, (_, i) => `k${i}`);

type Action = { readonly does: 'put' | 'other'; readonly keys: number[] } | { readonly does: 'flush' | 'reopen' | 'crash' };

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constantFrom('put' as const, 'other' as const),
      keys: fc.array(fc.nat(KEYS.length - 1), { minLength: 1, maxLength: 8 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('flush' as const) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constantFrom('reopen' as const, 'crash' as const) }) },
);

/** A row of the ledger. `mine`: this run wrote or used the row, so it prefers it to newer rows of other runs. */
interface Row {
  readonly text: string;
  mine: boolean;
}

it('a lookup finds the newest answer that its run wrote or used, else the newest of any run, also after a reopening or a crash', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 80, size: 'max' }), (actions) => {
      const folder = mkdtempSync(join(tmpdir(), 'answer-index-'));
      const open = (job: string): Ledger =>
        Ledger.open({ path: join(folder, 'ledger'), job, run: job, maxAgeDays: 1, now: () => 1_700_000_000_000, indexBatch: INDEX_BATCH });
      let ledger = open('ours');
      const other = open('theirs');
      const crashed: Ledger[] = [];
      try {
        const scope = ledger.scope('o', 'enrich', '');
        /** The rows of each key, newest first. */
        const durable = new Map<string, Row[]>();
        let waiting = new Map<string, string>();
        /** Rows used since the last flush. A crash forgets that this run used them. */
        let used: Row[] = [];
        const add = (key: string, known: Row): unknown => durable.set(key, [known, ...(durable.get(key) ?? [])]);
        const flushed = (): void => {
          for (const [key, text] of waiting) add(key, { text, mine: true });
          waiting = new Map();
          used = [];
        };
        const expected = (key: string): string | undefined => {
          const rows = durable.get(key) ?? [];
          const known = waiting.has(key) ? undefined : (rows.find(({ mine }) => mine) ?? rows[0]);
          if (known?.mine === false) {
            known.mine = true;
            used.push(known);
          }
          return waiting.get(key) ?? known?.text;
        };
        let serial = 0;
        for (const action of actions) {
          if (action.does === 'put' || action.does === 'other') {
            // The newest row of a key has the highest number, so this run flushes before the other one writes.
            if (action.does === 'other') {
              ledger.flush();
              flushed();
            }
            const texts = new Map(action.keys.map((n) => [KEYS[n] ?? '', `{"n":${++serial}}`]));
            const entries = [...texts].map(([key, text]) => ({ scope, key, answer: { kind: 'hit', text } as const }));
            (action.does === 'put' ? ledger : other).put(entries);
            if (action.does === 'other') other.flush();
            for (const [key, text] of texts) {
              if (action.does === 'put') waiting.set(key, text);
              else add(key, { text, mine: false });
            }
          } else if (action.does === 'flush') {
            ledger.flush();
            flushed();
          } else if (action.does === 'reopen') {
            ledger.close();
            flushed();
            ledger = open('ours');
          } else {
            crashed.push(ledger);
            waiting = new Map();
            for (const known of used) known.mine = false;
            used = [];
            ledger = open('ours');
          }
          for (const key of KEYS) {
            const text = expected(key);
            expect(ledger.get(scope, key)).toEqual(text === undefined ? null : { kind: 'hit', text });
          }
        }
      } finally {
        ledger.close();
        other.close();
        for (const lost of crashed) lost.close();
        rmSync(folder, { recursive: true });
      }
    }),
    { numRuns: casesOf(10, 60) },
  );
});

it('the ledger moves gathered answers into the index a slice at a time, and records how far it has come', () => {
  const ANSWERS = 1_000;
  const folder = mkdtempSync(join(tmpdir(), 'answer-index-'));
  try {
    const path = join(folder, 'ledger');
    const ledger = Ledger.open({ path, job: 'j', run: 'r', maxAgeDays: 0, now: Date.now, indexBatch: INDEX_BATCH });
    const scope = ledger.scope('o', 'enrich', '');
    for (let i = 0; i < ANSWERS; i++) {
      ledger.put([{ scope, key: `k${i}`, answer: { kind: 'miss' } }]);
      ledger.flush();
    }
    ledger.close();
    const db = new DatabaseSync(path);
    const upTo = Number(db.prepare('SELECT up_to FROM placed').get()?.['up_to']);
    expect(upTo).toBeGreaterThanOrEqual(ANSWERS - 3 * INDEX_BATCH);
    expect(
      db
        .prepare(
          'SELECT count(DISTINCT answer) AS n FROM (SELECT answer FROM places UNION ALL SELECT answer FROM new_places) WHERE answer <= ?',
        )
        .get(upTo),
    ).toEqual({ n: upTo });
    // The small index table stays small, however many answers the ledger holds.
    expect(Number(db.prepare('SELECT count(*) AS n FROM new_places').get()?.['n'])).toBeLessThanOrEqual(18 * INDEX_BATCH);
    db.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
