import { appendFile, readdir, readFile, truncate } from 'node:fs/promises';
import { expect, it, vi } from 'vitest';
import { BatchRows, type BatchRow } from '../../../src/service/batches/batch-rows.ts';
import { redactorOf } from '../../../src/service/batches/redact-results.ts';
import { BatchFolder } from '../../../src/service/batches/batch-folder.ts';
import { Scheduler } from '../../../src/service/batches/scheduler.ts';
import { storedOutcome } from '../../../src/service/batches/result-lines.ts';
import { runJanitor, type JanitorOptions } from '../../../src/service/batches/janitor.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { suppress } from '../../../src/service/erasure/suppress.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { makeStore } from '../harness.ts';
import { REQUEST } from './alone.ts';

const JANE = 'jane.doe@acme.example';
const MAX = 'max.past@acme.example';

/** An ended job with several result files, each with a line about Jane, and the options of a janitor. */
async function endedJob(files: number, now = Date.now) {
  const path = await makeStore();
  const store = openStore(path);
  cleanUp(() => store.close());
  const rows = new BatchRows(store, now);
  const folder = new BatchFolder(path);
  const options: JanitorOptions = {
    store,
    rows,
    folder,
    scheduler: new Scheduler(
      () => 0,
      () => performance.now(),
    ),
    waits: () => true,
    now: Date.now,
    stopped: () => false,
  };
  rows.create('j', 'k', REQUEST);
  const job = (): BatchRow => rows.find('j') ?? expect.fail();
  rows.setTotal(job(), files, null, 1);
  for (let n = 1; n <= files; n++) {
    const bytes = Buffer.from(
      storedOutcome(n, { customId: null, found: { record: JSON.stringify({ id: 'pe_1', email: JANE }), credits: 1, person: null } }),
    );
    await folder.append('j', `results-${n}`, 0, bytes);
    rows.files.put(job(), 'results', { n, file: `results-${n}`, bytes: bytes.length });
  }
  rows.addProgress(job(), {
    position: { part: 1, offset: 0, line: files },
    counts: { succeeded: files, not_found: 0, failed: 0 },
    credits: files,
  });
  rows.move(job(), 'cancelling');
  rows.move(job(), 'cancelled');
  const onDisk = async (): Promise<string[]> =>
    Promise.all((await readdir(`${path}.batches/j`)).map((name) => readFile(folder.at('j', name), 'utf8')));
  return { store, rows, folder, options, job, onDisk };
}

const ERASED = { succeeded: 0, not_found: 0, failed: 3 };

it.each([1, 2])('an erased person is counted once when the janitor is stopped after %i of three files', async (done) => {
  const { store, rows, options, job, onDisk } = await endedJob(3);
  suppress(store, [JANE], Date.now());
  await runJanitor({
    ...options,
    stopped: () => rows.files.all(job(), 'results').filter(({ n, file }) => file !== `results-${n}`).length >= done,
  });
  expect(job().counts).toEqual({ succeeded: 3 - done, not_found: 0, failed: done });
  expect(rows.toRedact().map(({ id }) => id)).toEqual(['j']);
  await runJanitor(options);
  expect(job().counts).toEqual(ERASED);
  expect(rows.toRedact()).toEqual([]);
  for (const text of await onDisk()) expect(text).not.toMatch(/jane/i);
});

it('an erasure whose clock is behind the clock of the job is redacted, once for each erasure', async () => {
  const { store, options, job, onDisk } = await endedJob(2, () => Date.now() + 3_600_000);
  const scans = vi.spyOn(options.scheduler, 'run');
  for (const [email, isNew] of [
    [JANE, true],
    [MAX, true],
    [MAX, false],
  ] as const) {
    if (isNew) suppress(store, [email]);
    // Readers redact the person before the janitor runs.
    expect(redactorOf(store)(job().createdMs)).not.toBeNull();
    scans.mockClear();
    await runJanitor(options);
    expect(scans.mock.calls.length > 0).toBe(isNew);
    for (const text of await onDisk()) expect(text).not.toContain(email);
  }
});

it('two processes that redact the same results count an erased person once', async () => {
  const { store, options, job, onDisk } = await endedJob(3);
  suppress(store, [JANE], Date.now());
  let isFirst = true;
  const scheduler = new Scheduler(
    () => 0,
    () => performance.now(),
  );
  // This janitor has lost the lease. Another one runs between its reads and its write.
  vi.spyOn(scheduler, 'run').mockImplementation(async (step) => {
    while (!step());
    if (isFirst) return void (isFirst = false);
    if (job().counts.succeeded > 0) await runJanitor(options);
  });
  await runJanitor({ ...options, scheduler });
  expect(job().counts).toEqual(ERASED);
  const files = await onDisk();
  expect(files).toHaveLength(3);
  for (const text of files) expect(text).toContain('suppressed_person');
});

it('results that do not name an erased person are read, and not rewritten', async () => {
  const { store, rows, folder, options, job } = await endedJob(3);
  const create = vi.spyOn(folder, 'create');
  suppress(store, [MAX], Date.now());
  await runJanitor(options);
  expect([create.mock.calls, rows.toRedact(), job().counts.succeeded]).toEqual([[], [], 3]);
});

it('a stopped janitor leaves other jobs and stray files to the next run', async () => {
  const { rows, folder, options } = await endedJob(1);
  for (const id of ['one', 'two']) rows.create(id, 'k', REQUEST);
  const strays = vi.spyOn(folder, 'removeStrays');
  const late = { ...options, now: () => Date.now() + 31 * 24 * 3_600_000 };
  await runJanitor({ ...late, stopped: () => rows.find('one')?.state === 'expired' });
  expect([...['one', 'two'].map((id) => rows.find(id)?.state), rows.find('j')?.state, strays.mock.calls]).toEqual([
    'expired',
    'open',
    'cancelled',
    [],
  ]);
  await runJanitor(late);
  expect([rows.find('two')?.state, rows.find('j')]).toEqual(['expired', null]);
});

it('a truncated results file does not keep an erased person in it or in the other files of the job', async () => {
  const { store, rows, folder, options, job, onDisk } = await endedJob(3);
  const [, second] = rows.files.all(job(), 'results');
  await truncate(folder.at('j', 'results-2'), (second?.bytes ?? 0) - 1);
  suppress(store, [JANE], Date.now());
  await runJanitor(options);
  const files = await onDisk();
  expect(files).toHaveLength(2);
  for (const text of files) expect(text).not.toMatch(/jane/i);
  expect(rows.toRedact()).toEqual([]);
});

it('uncommitted bytes of a results file do not keep an erased person', async () => {
  const { store, folder, options, onDisk } = await endedJob(2);
  // A process was killed before it committed these bytes.
  await appendFile(folder.at('j', 'results-1'), MAX);
  suppress(store, [MAX], Date.now());
  await runJanitor(options);
  const files = await onDisk();
  expect(files).toHaveLength(2);
  for (const text of files) expect(text).not.toContain(MAX);
});

it('files of unknown jobs stay for 30 days, because their store may be restored', async () => {
  const { rows, folder, options, job } = await endedJob(1);
  const days =
    (count: number): (() => number) =>
    () =>
      Date.now() + count * 24 * 3_600_000;
  const stranger = openStore(await makeStore());
  cleanUp(() => stranger.close());
  const elsewhere = { ...options, store: stranger, rows: new BatchRows(stranger, Date.now) };
  await runJanitor({ ...elsewhere, now: days(20) });
  expect(await readFile(folder.at('j', rows.files.all(job(), 'results')[0]?.file ?? ''), 'utf8')).toContain(JANE);
  await runJanitor({ ...elsewhere, now: days(31) });
  await expect(readFile(folder.at('j', 'results-1'))).rejects.toThrow('ENOENT');
});

it('a job whose files cannot be removed stays in the store', async () => {
  const { store, rows, folder, options } = await endedJob(1);
  vi.spyOn(folder, 'removeJob').mockRejectedValueOnce(new Error('killed'));
  const late = { ...options, now: () => Date.now() + 31 * 24 * 3_600_000 };
  rows.create('other', 'k', REQUEST);
  await expect(runJanitor(late)).rejects.toThrow('killed');
  expect(rows.find('j')).not.toBeNull();
  // The janitor still handles the other jobs.
  expect(rows.find('other')?.state).toBe('expired');
  suppress(store, [JANE], Date.now());
  vi.spyOn(folder, 'removeJob').mockRejectedValueOnce(new Error('killed'));
  await expect(runJanitor(late)).rejects.toThrow('killed');
  expect(rows.find('j')?.counts.succeeded).toBe(0);
  await runJanitor(late);
  expect(rows.find('j')).toBeNull();
});
