import { expect, test } from 'vitest';
import type { Cell } from '../../src/formats/parquet/column-type.ts';
import { parquetOf } from '../formats/parquet/written.ts';
import { randomMoments, type Moment } from '../support/crash-chain.ts';
import type { Job } from '../support/crash-jobs.ts';
import { LEAD_COLUMNS, leads, seeded, type Lead } from '../support/leads.ts';
import { SEED } from '../support/seed.ts';
import { killed, undisturbed } from './crashed-job.ts';

/** More than two row groups of the output. */
const ROWS = 23_000;
/** Row groups of the input end elsewhere. */
const GROUP = 6_500;

function parquetJob(rows: readonly Lead[]): Job {
  const columns = LEAD_COLUMNS.map((name) => ({ name, type: { type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const }));
  const cells = rows.map((lead): Cell[] => [...lead.cells]);
  const groups = Array.from({ length: Math.ceil(rows.length / GROUP) }, (_, i) => cells.slice(i * GROUP, (i + 1) * GROUP));
  return {
    files: { 'in.parquet': parquetOf(columns, groups) },
    flags: { input: 'in.parquet', steps: 'verify' },
    output: 'out.parquet',
  };
}

test(`a run from Parquet to Parquet that is killed gives the same bytes (SEED=${SEED})`, { timeout: 300_000 }, async () => {
  const rows = leads(ROWS, SEED % 1_000);
  const job = parquetJob(rows);
  const expected = await undisturbed(job, rows);
  const moments: Moment[] = [
    // Between two row groups, and once all rows are written.
    { kind: 'requests', more: 14 },
    { kind: 'file', name: /out\.parquet\.checkpoint\.json$/, nth: 4 },
    ...randomMoments(2, ROWS / 1_000, seeded(SEED)),
    { kind: 'file', name: /out\.parquet\.report\.json$/, nth: 1 },
  ];
  const chain = await killed(job, expected, moments, { latencyMs: 20 });
  expect(chain.kills).toBeGreaterThan(1);
});
