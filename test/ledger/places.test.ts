import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Ledger } from '../../src/ledger/ledger.ts';
import { casesOf } from '../support/sample.ts';

/** So few that a handful of answers goes through memory, a batch under way and the index. */
const PLACE_AT = 12;
const KEYS = Array.from({ length: 60 }, (_, i) => `k${i}`);

type Doing = { readonly does: 'put' | 'other'; readonly keys: number[] } | { readonly does: 'flush' | 'reopen' | 'crash' };

const doing: fc.Arbitrary<Doing> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ does: fc.constantFrom('put' as const, 'other' as const), keys: fc.array(fc.nat(KEYS.length - 1), { minLength: 1, maxLength: 8 }) }) },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('flush' as const) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constantFrom('reopen' as const, 'crash' as const) }) },
);

/** A row: what it says, and whether the run goes by it, because it wrote it or has used it. */
interface Known { readonly text: string; mine: boolean }

it('finds the newest answer to every key that the run goes by, else the newest of all, wherever it stands, whoever wrote it, after closings and crashes', () => {
  fc.assert(
    fc.property(fc.array(doing, { maxLength: 80, size: 'max' }), (all) => {
      const folder = mkdtempSync(join(tmpdir(), 'places-'));
      const open = (job: string): Ledger => Ledger.open({ path: join(folder, 'ledger'), job, run: job, maxAgeDays: 1, now: () => 1_700_000_000_000, placeAt: PLACE_AT });
      let ledger = open('ours');
      const other = open('theirs');
      const abandoned: Ledger[] = [];
      try {
        const scope = ledger.scope('o', 'enrich', '');
        /** By key, the newest first. */
        const durable = new Map<string, Known[]>();
        let waiting = new Map<string, string>();
        /** Used, and not written down yet: a crash forgets that. */
        let used: Known[] = [];
        const add = (key: string, known: Known): unknown => durable.set(key, [known, ...(durable.get(key) ?? [])]);
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
        for (const each of all) {
          if (each.does === 'put' || each.does === 'other') {
            // The last word for a key is its row with the highest number, so nothing of ours may still be on its way.
            if (each.does === 'other') {
              ledger.flush();
              flushed();
            }
            const texts = new Map(each.keys.map((n) => [KEYS[n] ?? '', `{"n":${++serial}}`]));
            const entries = [...texts].map(([key, text]) => ({ scope, key, answer: { kind: 'hit', text } as const }));
            (each.does === 'put' ? ledger : other).put(entries);
            if (each.does === 'other') other.flush();
            for (const [key, text] of texts) {
              if (each.does === 'put') waiting.set(key, text);
              else add(key, { text, mine: false });
            }
          } else if (each.does === 'flush') {
            ledger.flush();
            flushed();
          } else if (each.does === 'reopen') {
            ledger.close();
            flushed();
            ledger = open('ours');
          } else {
            abandoned.push(ledger);
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
        for (const lost of abandoned) lost.close();
        rmSync(folder, { recursive: true });
      }
    }),
    { numRuns: casesOf(10, 60) },
  );
});

it('moves what was gathered into the index, a slice at a time, and says how far it is', () => {
  const ANSWERS = 1_000;
  const folder = mkdtempSync(join(tmpdir(), 'places-'));
  try {
    const path = join(folder, 'ledger');
    const ledger = Ledger.open({ path, job: 'j', run: 'r', maxAgeDays: 0, now: Date.now, placeAt: PLACE_AT });
    const scope = ledger.scope('o', 'enrich', '');
    for (let i = 0; i < ANSWERS; i++) {
      ledger.put([{ scope, key: `k${i}`, answer: { kind: 'miss' } }]);
      ledger.flush();
    }
    ledger.close();
    const db = new DatabaseSync(path);
    const upTo = Number(db.prepare('SELECT up_to FROM placed').get()?.['up_to']);
    expect(upTo).toBeGreaterThanOrEqual(ANSWERS - 3 * PLACE_AT);
    expect(db.prepare('SELECT count(DISTINCT answer) AS n FROM (SELECT answer FROM places UNION ALL SELECT answer FROM new_places) WHERE answer <= ?').get(upTo)).toEqual({ n: upTo });
    // The small one stays small, however many there are.
    expect(Number(db.prepare('SELECT count(*) AS n FROM new_places').get()?.['n'])).toBeLessThanOrEqual(18 * PLACE_AT);
    db.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
