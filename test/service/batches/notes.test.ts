import * as fc from 'fast-check';
import { rm } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { BatchRows, type BatchRow } from '../../../src/service/batches/batch-rows.ts';
import { BatchFolder } from '../../../src/service/batches/folder.ts';
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

it('whichever of several processes has a job, and has it again, each line has its one result and is counted once', async () => {
  const path = await makeStore();
  const store = openStore(path);
  cleanUp(() => store.close());
  const rows = new BatchRows(store, Date.now);
  const folder = new BatchFolder(path);
  const keys = new KeyRing(store, new Journal(store, () => undefined), () => performance.now());
  let number = 0;
  const owner = fc.constantFrom('h:1:a', 'h:2:b', 'h:3:c');
  await fc.assert(fc.asyncProperty(fc.array(fc.record({ owner, what: fc.constantFrom('begins', 'notes', 'both') }), { minLength: 1, maxLength: 12 }), async (turns) => {
    const notes = new Map(['h:1:a', 'h:2:b', 'h:3:c'].map((one) => [one, new Notes({ store, rows, folder, keys, owner: one, pacer: new Pacer(() => 0, () => performance.now()), meter: new ServiceMeter(), stopped: () => false })]));
    const id = `j${number++}`;
    rows.create(id, 'k', REQUEST);
    const job = (): BatchRow => rows.find(id) ?? expect.fail();
    rows.setTotal(job(), turns.length, null, 1);
    const begun = new Map<string, BatchRow>();
    const done: string[] = [];
    for (const turn of turns) {
      if (turn.what !== 'notes') begun.set(turn.owner, job());
      const row = begun.get(turn.owner);
      if (turn.what === 'begins' || row === undefined) continue;
      rows.lease(turn.owner, LEASE_MS, () => true);
      const line = row.place.line + 1;
      const kept = Buffer.from(keptOutcome(line, { customId: turn.owner, found: { record: '{}', credits: 1, person: null } }));
      const noted = notes.get(turn.owner)?.add(row, kept, { place: { part: 1, offset: line, line }, counts: { succeeded: 1, not_found: 0, failed: 0 }, credits: 1 }, null, () => undefined);
      // Others have done the same lines since it began with them.
      if (row.place.line < done.length) await expect(noted).rejects.toThrow(Dismissed);
      else {
        await noted;
        done.push(turn.owner);
      }
    }
    let text = '';
    for await (const more of shownResults(() => rows.files.all(job(), 'results'), (file) => folder.at(id, file), null, 'ndjson', () => null)) text += more;
    expect(linesOf(text).map(({ line, custom_id: name }) => [line, name])).toEqual(done.map((name, at) => [at + 1, name]));
    expect(job()).toMatchObject({ counts: { succeeded: done.length }, credits: done.length });
    await rm(`${path}.batches/${id}`, { recursive: true, force: true });
  }), { numRuns: 100 });
});
