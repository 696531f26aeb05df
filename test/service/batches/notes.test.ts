import * as fc from 'fast-check';
import { rm } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { BatchRows, type BatchRow } from '../../../src/service/batches/batch-rows.ts';
import { BatchFolder } from '../../../src/service/batches/folder.ts';
import { Notes } from '../../../src/service/batches/notes.ts';
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

it('whichever of several processes has a job, and has it again, each line has its one result', async () => {
  const path = await makeStore();
  const store = openStore(path);
  cleanUp(() => store.close());
  const rows = new BatchRows(store, Date.now);
  const folder = new BatchFolder(path);
  const keys = new KeyRing(store, new Journal(store, () => undefined), () => performance.now());
  let number = 0;
  await fc.assert(fc.asyncProperty(fc.array(fc.constantFrom('h:1:a', 'h:2:b', 'h:3:c'), { minLength: 1, maxLength: 8 }), async (turns) => {
    const notes = new Map(['h:1:a', 'h:2:b', 'h:3:c'].map((owner) => [owner, new Notes({ store, rows, folder, keys, owner, pacer: new Pacer(() => 0, () => performance.now()), meter: new ServiceMeter(), stopped: () => false })]));
    const id = `j${number++}`;
    rows.create(id, 'k', REQUEST);
    const job = (): BatchRow => rows.find(id) ?? expect.fail();
    rows.setTotal(job(), turns.length, null, 1);
    for (const [at, owner] of turns.entries()) {
      rows.lease(owner, LEASE_MS, () => true);
      const kept = Buffer.from(keptOutcome(at + 1, { customId: owner, found: { record: '{}', credits: 1, person: null } }));
      await notes.get(owner)?.add(job(), kept, { place: { part: 1, offset: at, line: at + 1 }, counts: { succeeded: 1, not_found: 0, failed: 0 }, credits: 1 }, null, () => undefined);
    }
    let text = '';
    for await (const more of shownResults(() => rows.files.all(job(), 'results'), (file) => folder.at(id, file), null, 'ndjson', () => null)) text += more;
    expect(linesOf(text).map(({ line, custom_id: owner }) => [line, owner])).toEqual(turns.map((owner, at) => [at + 1, owner]));
    await rm(`${path}.batches/${id}`, { recursive: true });
  }), { numRuns: 30 });
});
