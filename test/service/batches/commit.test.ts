import * as fc from '../../support/fast-check.ts';
import { rm, truncate } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { BatchRows, type BatchRow } from '../../../src/service/batches/batch-rows.ts';
import { BatchFolder, FileTruncated } from '../../../src/service/batches/batch-folder.ts';
import { LeaseLost, Committer } from '../../../src/service/batches/commit.ts';
import { Scheduler } from '../../../src/service/batches/scheduler.ts';
import { storedOutcome } from '../../../src/service/batches/result-lines.ts';
import { resultStream } from '../../../src/service/batches/result-stream.ts';
import { KeyRing } from '../../../src/service/accounts/key-ring.ts';
import { KeyWrites } from '../../../src/service/accounts/key-writes.ts';
import { Journal } from '../../../src/service/store/journal.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { ServiceMeter } from '../../../src/service/monitoring/meter.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { makeStore } from '../harness.ts';
import { REQUEST } from './alone.ts';
import { linesOf } from './jobs.ts';
import { toEnd } from '../../support/steps.ts';

const LEASE_MS = 10_000;

const OWNERS = ['h:1:a', 'h:2:b', 'h:3:c'] as const;

/** Jobs, with a committer for each of several processes. */
async function make() {
  const path = await makeStore();
  const store = openStore(path);
  cleanUp(() => store.close());
  const rows = new BatchRows(store, Date.now);
  const folder = new BatchFolder(path);
  const keys = new KeyRing(store, new KeyWrites(store, new Journal(store, () => undefined)), () => performance.now());
  let number = 0;
  /** Creates a job. */
  const begin = (lines: number) => {
    const id = `j${number++}`;
    const committer = new Map<string, Committer>(
      OWNERS.map((owner) => [
        owner,
        new Committer({
          store,
          rows,
          folder,
          keys,
          owner,
          scheduler: new Scheduler(
            () => 0,
            () => performance.now(),
          ),
          meter: new ServiceMeter(),
          stopped: () => false,
        }),
      ]),
    );
    rows.create(id, 'k', REQUEST);
    const job = (): BatchRow => rows.find(id) ?? expect.fail();
    rows.setTotal(job(), lines, null, 1);
    return {
      id,
      job,
      /** Commits the next line as the process that has read `row`. */
      commitLine: async (owner: string, row: BatchRow): Promise<void> => {
        rows.lease(owner, LEASE_MS, () => true);
        const line = row.position.line + 1;
        const results = Buffer.from(storedOutcome(line, { customId: owner, found: { record: '{}', credits: 1, person: null } }));
        await committer
          .get(owner)
          ?.commitChunk(
            row,
            results,
            { position: { part: 1, offset: line, line }, counts: { succeeded: 1, not_found: 0, failed: 0 }, credits: 1 },
            null,
            () => undefined,
          );
      },
    };
  };
  return { path, rows, folder, begin };
}

it('each line has one result and is counted once, however a job moves between processes', async () => {
  const { path, rows, folder, begin } = await make();
  const turn = fc.record({ owner: fc.constantFrom(...OWNERS), action: fc.constantFrom('read', 'commit', 'both') });
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 12 }), async (turns) => {
      const { id, job, commitLine } = begin(turns.length);
      const known = new Map<string, BatchRow>();
      const done: string[] = [];
      for (const { owner, action } of turns) {
        if (action !== 'commit') known.set(owner, job());
        const row = known.get(owner);
        if (action === 'read' || row === undefined) continue;
        const committed = commitLine(owner, row);
        // Another process has committed this line meanwhile.
        if (row.position.line < done.length) await expect(committed).rejects.toThrow(LeaseLost);
        else {
          await committed;
          done.push(owner);
        }
      }
      let text = '';
      for await (const more of resultStream(
        () => rows.files.all(job(), 'results'),
        (file) => folder.at(id, file),
        null,
        { format: 'ndjson', escapesFormulas: false },
        () => null,
        toEnd,
      ))
        text += more;
      expect(linesOf(text).map(({ line, custom_id: owner }) => [line, owner])).toEqual(done.map((owner, at) => [at + 1, owner]));
      expect(job()).toMatchObject({ counts: { succeeded: done.length }, credits: done.length });
      await rm(`${path}.batches/${id}`, { recursive: true, force: true });
    }),
    { numRuns: 100 },
  );
});

it.each([0, 1])('a process that takes over a job goes on only if all earlier files are complete (file %i is not)', async (at) => {
  const { rows, folder, begin } = await make();
  const { id, job, commitLine } = begin(3);
  await commitLine('h:1:a', job());
  await commitLine('h:2:b', job());
  const { file, bytes } = rows.files.all(job(), 'results')[at] ?? expect.fail();
  await truncate(folder.at(id, file), bytes - 1);
  await expect(commitLine('h:3:c', job())).rejects.toThrow(FileTruncated);
  await rm(folder.at(id, file));
  await expect(commitLine('h:3:c', job())).rejects.toThrow('ENOENT');
  expect(job().position.line).toBe(2);
});
