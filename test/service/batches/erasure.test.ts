import { readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BatchFolder } from '../../../src/service/batches/batch-folder.ts';
import type { BatchFile } from '../../../src/service/batches/batch-files.ts';
import { BatchRows } from '../../../src/service/batches/batch-rows.ts';
import { Scheduler } from '../../../src/service/batches/scheduler.ts';
import { storedOutcome } from '../../../src/service/batches/result-lines.ts';
import { resultStream } from '../../../src/service/batches/result-stream.ts';
import { runJanitor } from '../../../src/service/batches/janitor.ts';
import { loadSignals } from '../../../src/service/store/rows/load.ts';
import { suppress } from '../../../src/service/erasure/suppress.ts';
import { makeStore, serveStore, temporaryFolder } from '../harness.ts';
import { jobsOf, linesOf, ndjson, openForTest } from './jobs.ts';
import { toEnd } from '../../support/steps.ts';

const JANE = 'jane.doe@acme.example';
const SCHEDULER = new Scheduler(
  () => 0,
  () => performance.now(),
);
const HOURS_MS = 3_600_000;

describe('an erasure', () => {
  it('removes a person from earlier results: at once for readers, and soon on the disk', async () => {
    const service = await serveStore();
    const jobs = jobsOf(service);
    const store = openForTest(service.store);
    const part = ndjson({ custom_id: 'a', email: JANE }, { id: 'pe_2' }, { id: 'pe_1', fields: ['title'] });
    const { id } = await jobs.run({ operation: 'enrich' }, part);
    const verified = await jobs.run(
      { operation: 'verify', options: { mode: 'syntax' } },
      ndjson({ email: ` ${JANE.toUpperCase()}` }, { email: 'max.past@acme.example' }),
    );
    expect((await jobs.lines(id)).map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded']);
    suppress(store, [JANE], Date.now());
    const redacted = [
      { custom_id: 'a', status: 'failed', record: null, error: { code: 'suppressed_person' } },
      { status: 'succeeded', record: { name: 'Max Past' } },
      { status: 'failed', record: null },
    ];
    expect(await jobs.lines(id)).toMatchObject(redacted);
    expect((await jobs.lines(id, '?set=succeeded')).map(({ line }) => line)).toEqual([2]);
    expect((await jobs.lines(verified.id)).map(({ status, record }) => [status, record?.['email'] ?? null])).toEqual([
      ['failed', null],
      ['succeeded', 'max.past@acme.example'],
    ]);

    const rows = new BatchRows(store, Date.now);
    const folder = new BatchFolder(service.store);
    await runJanitor({ store, rows, folder, now: Date.now, scheduler: SCHEDULER, waits: () => true, stopped: () => false });
    const files = await readdir(`${service.store}.batches`, { recursive: true, withFileTypes: true });
    for (const file of files.filter((one) => one.isFile()))
      expect(await readFile(`${file.parentPath}/${file.name}`, 'utf8')).not.toMatch(/jane|"CTO"/i);
    expect(await jobs.lines(id)).toMatchObject(redacted);
    expect((await jobs.get(id)).counts).toEqual({ total: 3, succeeded: 1, not_found: 0, failed: 2, unprocessed: 0 });
    expect(rows.toRedact()).toEqual([]);
  });

  it('an erasure that is under way while results are redacted is left to the next run', async () => {
    const service = await serveStore();
    const store = openForTest(service.store);
    await jobsOf(service).run({ operation: 'enrich' }, ndjson({ email: JANE }));
    suppress(store, ['max.past@acme.example'], Date.now());
    const atMs: number[] = [];
    const now = (): number => {
      if (store.books.isTransaction) atMs.push(Date.now());
      return Date.now() + (store.books.isTransaction ? 0 : HOURS_MS);
    };
    const rows = new BatchRows(store, now);
    await runJanitor({
      store,
      rows,
      folder: new BatchFolder(service.store),
      now,
      scheduler: SCHEDULER,
      waits: () => true,
      stopped: () => false,
    });
    suppress(store, [JANE]);
    expect([atMs.length, rows.toRedact().length]).toEqual([1, 1]);
  });

  it('reaches all jobs, even if files of some are missing or truncated', async () => {
    const service = await serveStore();
    const jobs = jobsOf(service);
    const store = openForTest(service.store);
    const rows = new BatchRows(store, Date.now);
    const folder = new BatchFolder(service.store);
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) ids.push((await jobs.run({ operation: 'enrich' }, ndjson({ email: JANE }))).id);
    const fileOf = (id: string | undefined): string =>
      folder.at(String(id), rows.files.all(rows.find(String(id)) ?? expect.fail(), 'results')[0]?.file ?? expect.fail());
    await rm(fileOf(ids[0]));
    await truncate(fileOf(ids[1]), 10);
    suppress(store, [JANE], Date.now());
    await runJanitor({ store, rows, folder, now: Date.now, scheduler: SCHEDULER, waits: () => true, stopped: () => false });
    expect(await readFile(fileOf(ids[2]), 'utf8')).not.toMatch(/jane/i);
    expect(rows.toRedact()).toEqual([]);
    expect(await readdir(dirname(fileOf(ids[1])))).toEqual([]);
  });

  it('an erasure that replaces result files does not disturb a reader of the same results', async () => {
    const folder = await temporaryFolder();
    const stored = (line: number): string => storedOutcome(line, { customId: null, found: { record: '{}', credits: 1, person: null } });
    const write = async (n: number, file: string): Promise<BatchFile> => {
      await writeFile(join(folder, file), stored(n));
      return { n, file, bytes: stored(n).length };
    };
    let files = [await write(1, 'one'), await write(2, 'two')];
    const reading = resultStream(
      () => files,
      (file) => join(folder, file),
      null,
      { format: 'ndjson', escapesFormulas: false },
      () => null,
      toEnd,
    );
    let read = String((await reading.next()).value);
    files = [await write(1, 'another'), await write(2, 'new')];
    await rm(join(folder, 'two'));
    for await (const text of reading) read += text;
    expect(linesOf(read).map(({ line }) => line)).toEqual([1, 2]);

    const gone = resultStream(
      () => files,
      (file) => join(folder, file),
      null,
      { format: 'ndjson', escapesFormulas: false },
      () => null,
      toEnd,
    );
    await gone.next();
    await rm(join(folder, 'new'));
    await expect(gone.next()).rejects.toThrow('gone');
  });

  it('removes only the signals about the person from a company', async () => {
    const path = await makeStore();
    const service = await serveStore({ store: path });
    const jobs = jobsOf(service);
    const store = openForTest(path);
    const signal = (id: string, person: unknown) => ({
      id,
      type: 'executive_move',
      domain: 'acme.example',
      occurred_at: '2026-01-01',
      person,
      data: { move: 'joined' },
    });
    loadSignals(store, [signal('s1', { id: 'pe_1', name: 'Jane Doe' }), signal('s2', { name: 'Other Person' })], 'test');
    const { id } = await jobs.run({ operation: 'company' }, ndjson({ domain: 'acme.example' }));
    const signals = async (): Promise<unknown[]> =>
      ((await jobs.lines(id)).flatMap(({ record }) => record?.['signals'] ?? []) as { id: string }[]).map((one) => one.id).sort();
    expect(await signals()).toEqual(['s1', 's2']);
    suppress(store, [JANE], Date.now());
    expect(await signals()).toEqual(['s2']);
  });
});
