import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Ledger, type LedgerEntry } from '../../src/ledger/ledger.ts';

/** More answers than opening a ledger reads. */
const ANSWERS = 160_000;

it('lookups find every answer while the ledger is still being read and another job adds to it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-'));
  const open = (job: string): Ledger =>
    Ledger.open({ path: join(folder, 'l'), job, run: job, maxAgeDays: 1, now: () => 1_700_000_000_000, indexBatch: 4_096 });
  const first = open('first');
  const scope = first.scope('o', 'enrich', '');
  const miss = (key: string): LedgerEntry => ({ scope, key, answer: { kind: 'miss' } });
  try {
    for (let from = 0; from < ANSWERS; from += 2_000) first.put(Array.from({ length: 2_000 }, (_, i) => miss(`k${from + i}`)));
    first.close();
    const [reading, writing] = [open('reading'), open('writing')];
    for (let flush = 0; flush < 6; flush++) {
      for (let i = flush; i < ANSWERS; i += 53) expect(reading.get(scope, `k${i}`)).toEqual({ kind: 'miss' });
      for (let i = 0; i < 500; i++) expect(reading.get(scope, `absent${i}`)).toBeNull();
      // Enough answers that the writer moves entries of the index in between.
      writing.put(Array.from({ length: 2_000 }, (_, i) => miss(`new${flush}-${i}`)));
      writing.flush();
      for (let i = 0; i < 2_000; i += 7) expect(reading.get(scope, `new${flush}-${i}`)).toEqual({ kind: 'miss' });
      reading.flush();
    }
    reading.close();
    writing.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
