import * as fc from 'fast-check';
import { rm, truncate } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { BatchRows, type BatchRow } from '../../../src/service/batches/batch-rows.ts';
import { BatchFolder, FileCut } from '../../../src/service/batches/folder.ts';
import { Dismissed, Notes } from '../../../src/service/batches/notes.ts';
import { Pacer } from '../../../src/service/batches/pacer.ts';
import { keptOutcome } from '../../../src/service/batches/result-lines.ts';
import { shownResults } from '../../../src/service/batches/results.ts';
import { KeyRing } from '../../../src/service/key-ring.ts';
import { Journal } from '../../../src/service/store/journal.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { ServiceMeter } from '../../../src/service/watch/meter.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { makeStore } from '../harness.ts';
import { REQUEST } from './alone.ts';
import { linesOf } from './jobs.ts';

const LEASE_MS = 10_000;

const OWNERS = ['h:1:a', 'h:2:b', 'h:3:c'] as const;

/** Jobs, and how each of the processes notes what it does of them. */
async function make() {
  const path = await makeStore();
  const store = openStore(path);
  cleanUp(() => store.close());
  const rows = new BatchRows(store, Date.now);
  const folder = new BatchFolder(path);
  const keys = new KeyRing(store, new Journal(store, () => undefined), () => performance.now());
  let number = 0;
  /** A job of one line or more. */
  const begin = (lines: number) => {
    const id = `j${number++}`;
    const notes = new Map<string, Notes>(OWNERS.map((owner) => [owner, new Notes({ store, rows, folder, keys, owner, pacer: new Pacer(() => 0, () => performance.now()), meter: new ServiceMeter(), stopped: () => false })]));
    rows.create(id, 'k', REQUEST);
    const job = (): BatchRow => rows.find(id) ?? expect.fail();
    rows.setTotal(job(), lines, null, 1);
    return {
      id, job,
      /** The line that comes next for whoever has read of the job what is in `row`. */
      note: async (owner: string, row: BatchRow): Promise<void> => {
        rows.lease(owner, LEASE_MS, () => true);
        const line = row.place.line + 1;
        const kept = Buffer.from(keptOutcome(line, { customId: owner, found: { record: '{}', credits: 1, person: null } }));
        await notes.get(owner)?.add(row, kept, { place: { part: 1, offset: line, line }, counts: { succeeded: 1, not_found: 0, failed: 0 }, credits: 1 }, null, () => undefined);
      },
    };
  };
  return { path, rows, folder, begin };
}

it('whichever of several processes has a job, and has it again, each line has its one result and is counted once', async () => {
  const { path, rows, folder, begin } = await make();
  const turn = fc.record({ owner: fc.constantFrom(...OWNERS), what: fc.constantFrom('begins', 'notes', 'both') });
  await fc.assert(fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 12 }), async (turns) => {
    const { id, job, note } = begin(turns.length);
    const begun = new Map<string, BatchRow>();
    const done: string[] = [];
    for (const { owner, what } of turns) {
      if (what !== 'notes') begun.set(owner, job());
      const row = begun.get(owner);
      if (what === 'begins' || row === undefined) continue;
      const noted = note(owner, row);
      // The same lines were done meanwhile.
      if (row.place.line < done.length) await expect(noted).rejects.toThrow(Dismissed);
      else {
        await noted;
        done.push(owner);
      }
    }
    let text = '';
    for await (const more of shownResults(() => rows.files.all(job(), 'results'), (file) => folder.at(id, file), null, { format: 'ndjson', escapesFormulas: false }, () => null)) text += more;
    expect(linesOf(text).map(({ line, custom_id: owner }) => [line, owner])).toEqual(done.map((owner, at) => [at + 1, owner]));
    expect(job()).toMatchObject({ counts: { succeeded: done.length }, credits: done.length });
    await rm(`${path}.batches/${id}`, { recursive: true, force: true });
  }), { numRuns: 100 });
});

it.each([0, 1])('a process that takes a job over goes on only where the files before are whole (the %ith is not)', async (at) => {
  const { rows, folder, begin } = await make();
  const { id, job, note } = begin(3);
  await note('h:1:a', job());
  await note('h:2:b', job());
  const { file, bytes } = rows.files.all(job(), 'results')[at] ?? expect.fail();
  await truncate(folder.at(id, file), bytes - 1);
  await expect(note('h:3:c', job())).rejects.toThrow(FileCut);
  await rm(folder.at(id, file));
  await expect(note('h:3:c', job())).rejects.toThrow('ENOENT');
  expect(job().place.line).toBe(2);
});
