import * as fc from '../../support/fast-check.ts';
import { expect, it, vi } from 'vitest';
import type { BatchFile, FileKind } from '../../../src/service/batches/batch-files.ts';
import { BatchRows, type BatchRow } from '../../../src/service/batches/batch-rows.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { makeStore } from '../harness.ts';
import { batchesAlone, REQUEST } from './alone.ts';

const EMPTY = 'DELETE FROM batches; DELETE FROM batch_files; DELETE FROM batch_bytes';
const KEYS = ['k1', 'k2'] as const;
const put = fc.record({
  action: fc.constant('put' as const),
  job: fc.nat(3),
  kind: fc.constantFrom<FileKind>('part', 'results'),
  n: fc.integer({ min: 1, max: 4 }),
  bytes: fc.nat(1_000),
});
const end = fc.record({ action: fc.constantFrom('retire' as const, 'drop' as const), job: fc.nat(3) });

interface Job {
  readonly keyId: string;
  readonly files: Map<string, BatchFile & { readonly kind: FileKind }>;
  sent: { readonly count: number; readonly bytes: number };
  isClosed: boolean;
}

/** Four jobs of two keys. */
function begin(rows: BatchRows): Map<string, Job> {
  const jobs = Array.from(
    { length: 4 },
    (_, n) => [`j${n}`, { keyId: KEYS[n % 2] ?? '', files: new Map(), sent: { count: 0, bytes: 0 }, isClosed: false }] as const,
  );
  for (const [id, { keyId }] of jobs) rows.create(id, keyId, REQUEST);
  return new Map(jobs);
}

function checkSums(rows: BatchRows, jobs: ReadonlyMap<string, Job>): void {
  const sum = (of: readonly Job[]): number => of.flatMap(({ files }) => [...files.values()]).reduce((bytes, file) => bytes + file.bytes, 0);
  const all = [...jobs.values()];
  for (const keyId of KEYS)
    expect(rows.files.bytes(keyId)).toEqual({ all: sum(all), ofKey: sum(all.filter((job) => job.keyId === keyId)) });
  for (const [id, { sent }] of jobs) expect(rows.find(id)?.parts).toEqual(sent);
}

it('the stored bytes of a job and of a key are the sums over their files after any changes', async () => {
  const store = openStore(await makeStore());
  fc.assert(
    fc.property(fc.array(fc.oneof({ weight: 4, arbitrary: put }, end), { maxLength: 30 }), (steps) => {
      store.books.exec(EMPTY);
      const rows = new BatchRows(store, Date.now);
      const jobs = begin(rows);
      for (const step of steps) {
        const id = `j${step.job}`;
        const job = jobs.get(id);
        // A job without its parts accepts no more parts.
        if (job === undefined || (job.isClosed && step.action === 'put' && step.kind === 'part')) continue;
        const row = rows.find(id) as BatchRow;
        if (step.action === 'put') {
          const name = `${step.kind}${step.n}`;
          const before = job.files.get(name);
          expect(rows.files.put(row, step.kind, { n: step.n, file: `${name}-${step.bytes}`, bytes: step.bytes })).toBe(
            before?.file ?? null,
          );
          job.files.set(name, { kind: step.kind, n: step.n, file: `${name}-${step.bytes}`, bytes: step.bytes });
          if (step.kind === 'part')
            job.sent = {
              count: job.sent.count + (before === undefined ? 1 : 0),
              bytes: job.sent.bytes + step.bytes - (before?.bytes ?? 0),
            };
        } else if (step.action === 'drop') {
          rows.drop(row);
          jobs.delete(id);
        } else {
          rows.files.retireParts(row);
          for (const [name, { kind }] of job.files) if (kind === 'part') job.files.delete(name);
          job.isClosed = true;
        }
        checkSums(rows, jobs);
      }
    }),
    { numRuns: 100 },
  );
  store.close();
});

it('no query of a call or a chunk scans all jobs or all files, and the status of a job reads only its own row', async () => {
  const queries = new Set<string>();
  const store = openStore(await makeStore());
  cleanUp(() => store.close());
  const prepare = store.books.prepare.bind(store.books);
  vi.spyOn(store.books, 'prepare').mockImplementation((sql) => {
    queries.add(sql);
    return prepare(sql);
  });
  const rows = new BatchRows(store, Date.now);
  rows.create('j', 'k', REQUEST);
  const row = rows.find('j') as BatchRow;
  rows.files.put(row, 'part', { n: 1, file: 'p', bytes: 1 });
  rows.active();
  rows.load('k');
  rows.page('k', Infinity, 10);
  rows.files.bytes('k');
  rows.drop(row);
  const scans = [...queries].flatMap((sql) =>
    prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => String(detail)),
  );
  expect(scans.filter((detail) => /^SCAN (batches|batch_files)/.test(detail))).toEqual([]);

  const alone = await batchesAlone();
  const { id } = await alone.batches.create(alone.keyId, REQUEST);
  alone.store.books.exec('ALTER TABLE batch_files RENAME TO out_of_reach');
  expect(alone.batches.get(alone.keyId, String(id))).toMatchObject({ id, parts: { count: 0, bytes: 0 } });
  expect(alone.batches.page(alone.keyId, Infinity, 10).jobs).toHaveLength(1);
});
