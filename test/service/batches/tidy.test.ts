import { appendFile, readdir, readFile, truncate } from 'node:fs/promises';
import { expect, it, vi } from 'vitest';
import { BatchRows, type BatchRow } from '../../../src/service/batches/batch-rows.ts';
import { cutter } from '../../../src/service/batches/erased.ts';
import { BatchFolder } from '../../../src/service/batches/folder.ts';
import { Pacer } from '../../../src/service/batches/pacer.ts';
import { keptOutcome } from '../../../src/service/batches/result-lines.ts';
import { tidyUp, type TidyOptions } from '../../../src/service/batches/tidy.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { suppress } from '../../../src/service/store/suppress.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { makeStore } from '../harness.ts';
import { REQUEST } from './alone.ts';

const JANE = 'jane.doe@acme.example';
const MAX = 'max.past@acme.example';

/** A job that has ended, with its results in several files, each with a line about Jane, and what it takes to look through them. */
async function endedJob(files: number, now = Date.now) {
  const path = await makeStore();
  const store = openStore(path);
  cleanUp(() => store.close());
  const rows = new BatchRows(store, now);
  const folder = new BatchFolder(path);
  const options: TidyOptions = { store, rows, folder, pacer: new Pacer(() => 0, () => performance.now()), waits: () => true, now: Date.now, stopped: () => false };
  rows.create('j', 'k', REQUEST);
  const job = (): BatchRow => rows.find('j') ?? expect.fail();
  rows.setTotal(job(), files, null, 1);
  for (let n = 1; n <= files; n++) {
    const bytes = Buffer.from(keptOutcome(n, { customId: null, found: { record: JSON.stringify({ id: 'pe_1', email: JANE }), credits: 1, person: null } }));
    await folder.append('j', `results-${n}`, 0, bytes);
    rows.files.put(job(), 'results', { n, file: `results-${n}`, bytes: bytes.length });
  }
  rows.addProgress(job(), { place: { part: 1, offset: 0, line: files }, counts: { succeeded: files, not_found: 0, failed: 0 }, credits: files });
  rows.move(job(), 'cancelling');
  rows.move(job(), 'cancelled');
  const onDisk = async (): Promise<string[]> => Promise.all((await readdir(`${path}.batches/j`)).map((name) => readFile(folder.at('j', name), 'utf8')));
  return { store, rows, folder, options, job, onDisk };
}

const ERASED = { succeeded: 0, not_found: 0, failed: 3 };

it.each([1, 2])('who was erased is counted once, though it was stopped after %i of three files', async (done) => {
  const { store, rows, options, job, onDisk } = await endedJob(3);
  suppress(store, [JANE], Date.now());
  await tidyUp({ ...options, stopped: () => rows.files.all(job(), 'results').filter(({ n, file }) => file !== `results-${n}`).length >= done });
  expect(job().counts).toEqual({ succeeded: 3 - done, not_found: 0, failed: done });
  expect(rows.toLookThrough().map(({ id }) => id)).toEqual(['j']);
  await tidyUp(options);
  expect(job().counts).toEqual(ERASED);
  expect(rows.toLookThrough()).toEqual([]);
  for (const text of await onDisk()) expect(text).not.toMatch(/jane/i);
});

it('who is erased by a clock that is behind that of the job is erased from it, and it is looked through once for each', async () => {
  const { store, options, job, onDisk } = await endedJob(2, () => Date.now() + 3_600_000);
  const looked = vi.spyOn(options.pacer, 'work');
  for (const [email, once] of [[JANE, true], [MAX, true], [MAX, false]] as const) {
    if (once) suppress(store, [email]);
    // As it is read before it is looked through.
    expect(cutter(store)(job().createdMs)).not.toBeNull();
    looked.mockClear();
    await tidyUp(options);
    expect(looked.mock.calls.length > 0).toBe(once);
    for (const text of await onDisk()) expect(text).not.toContain(email);
  }
});

it('two processes that look through the same results count who was erased once', async () => {
  const { store, options, job, onDisk } = await endedJob(3);
  suppress(store, [JANE], Date.now());
  let isFirst = true;
  const pacer = new Pacer(() => 0, () => performance.now());
  // It had lost its lease, and another one comes in between its reading and its writing.
  vi.spyOn(pacer, 'work').mockImplementation(async (step) => {
    while (!step());
    if (isFirst) return void (isFirst = false);
    if (job().counts.succeeded > 0) await tidyUp(options);
  });
  await tidyUp({ ...options, pacer });
  expect(job().counts).toEqual(ERASED);
  const files = await onDisk();
  expect(files).toHaveLength(3);
  for (const text of files) expect(text).toContain('suppressed_person');
});

it('results that do not name whoever was erased are read, and not written', async () => {
  const { store, rows, folder, options, job } = await endedJob(3);
  const create = vi.spyOn(folder, 'create');
  suppress(store, [MAX], Date.now());
  await tidyUp(options);
  expect([create.mock.calls, rows.toLookThrough(), job().counts.succeeded]).toEqual([[], [], 3]);
});

it('who is to stop leaves the other jobs, and what nobody knows of, for the next time', async () => {
  const { rows, folder, options } = await endedJob(1);
  for (const id of ['one', 'two']) rows.create(id, 'k', REQUEST);
  const strays = vi.spyOn(folder, 'removeStrays');
  const late = { ...options, now: () => Date.now() + 31 * 24 * 3_600_000 };
  await tidyUp({ ...late, stopped: () => rows.find('one')?.state === 'expired' });
  expect([...['one', 'two'].map((id) => rows.find(id)?.state), rows.find('j')?.state, strays.mock.calls]).toEqual(['expired', 'open', 'cancelled', []]);
  await tidyUp(late);
  expect([rows.find('two')?.state, rows.find('j')]).toEqual(['expired', null]);
});

it('a file of results that is shorter than it was keeps whoever was erased neither in itself nor in the others of its job', async () => {
  const { store, rows, folder, options, job, onDisk } = await endedJob(3);
  const [, second] = rows.files.all(job(), 'results');
  await truncate(folder.at('j', 'results-2'), (second?.bytes ?? 0) - 1);
  suppress(store, [JANE], Date.now());
  await tidyUp(options);
  const files = await onDisk();
  expect(files).toHaveLength(2);
  for (const text of files) expect(text).not.toMatch(/jane/i);
  expect(rows.toLookThrough()).toEqual([]);
});

it('what does not count of a file of results keeps nobody who was erased', async () => {
  const { store, folder, options, onDisk } = await endedJob(2);
  // A round that was not noted, of a process that was killed then.
  await appendFile(folder.at('j', 'results-1'), MAX);
  suppress(store, [MAX], Date.now());
  await tidyUp(options);
  const files = await onDisk();
  expect(files).toHaveLength(2);
  for (const text of files) expect(text).not.toContain(MAX);
});

it('files of jobs that the store does not know are left: its own store may be put back', async () => {
  const { rows, folder, options, job } = await endedJob(1);
  const days = (count: number): (() => number) => () => Date.now() + count * 24 * 3_600_000;
  const stranger = openStore(await makeStore());
  cleanUp(() => stranger.close());
  const elsewhere = { ...options, store: stranger, rows: new BatchRows(stranger, Date.now) };
  await tidyUp({ ...elsewhere, now: days(20) });
  expect(await readFile(folder.at('j', rows.files.all(job(), 'results')[0]?.file ?? ''), 'utf8')).toContain(JANE);
  await tidyUp({ ...elsewhere, now: days(31) });
  await expect(readFile(folder.at('j', 'results-1'))).rejects.toThrow('ENOENT');
});

it('a job whose files cannot be removed is not forgotten', async () => {
  const { store, rows, folder, options } = await endedJob(1);
  vi.spyOn(folder, 'removeJob').mockRejectedValueOnce(new Error('killed'));
  const late = { ...options, now: () => Date.now() + 31 * 24 * 3_600_000 };
  rows.create('other', 'k', REQUEST);
  await expect(tidyUp(late)).rejects.toThrow('killed');
  expect(rows.find('j')).not.toBeNull();
  // Nor does it keep any other from its due.
  expect(rows.find('other')?.state).toBe('expired');
  suppress(store, [JANE], Date.now());
  vi.spyOn(folder, 'removeJob').mockRejectedValueOnce(new Error('killed'));
  await expect(tidyUp(late)).rejects.toThrow('killed');
  expect(rows.find('j')?.counts.succeeded).toBe(0);
  await tidyUp(late);
  expect(rows.find('j')).toBeNull();
});
