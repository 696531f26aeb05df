import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, it, vi } from 'vitest';
import { BatchFiles } from '../../../src/service/batches/batch-files.ts';
import { MAX_BYTES } from '../../../src/service/batches/batch-limits.ts';
import type { BatchRequest } from '../../../src/service/batches/batch-request.ts';
import { BatchWorker } from '../../../src/service/batches/job-worker.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { batchesAlone, REQUEST, type Alone } from './alone.ts';
import { ndjson } from './jobs.ts';

const LINE = { id: 'pe_1' };
const LINES = 5;
const MANY_STEPS = 20;

async function begin({ batches, keyId }: Alone, request: BatchRequest): Promise<string> {
  const id = String((await batches.create(keyId, request))['id']);
  await batches.putPart(keyId, id, 1, Readable.from([Buffer.from(ndjson(...Array.from({ length: LINES }, () => LINE)))]));
  await batches.complete(keyId, id);
  batches.start();
  return id;
}

it('a job without room for its results pauses, checks every five seconds, and goes on when there is room', async () => {
  let nowMs = 0;
  const alone = await batchesAlone({ clock: () => nowMs });
  const { store, keyId, batches } = alone;
  const step = vi.spyOn(BatchWorker.prototype, 'step');
  cleanUp(() => void vi.restoreAllMocks());
  const waits = (): number[] => step.mock.settledResults.flatMap(({ value }) => (Number(value) > 0 ? Number(value) : []));
  store.books.prepare("INSERT INTO batch_bytes (key_id, bytes) VALUES ('another', ?)").run(MAX_BYTES);
  const id = await begin(alone, REQUEST);
  await expect.poll(() => waits().length > 0 || step.mock.calls.length > MANY_STEPS).toBe(true);
  expect(waits()).toEqual([5_000]);
  const paused = batches.get(keyId, id);
  expect(paused).toMatchObject({ state: 'paused', reason: { code: 'disk_full' } });
  nowMs += 5_000;
  await expect.poll(() => waits()).toHaveLength(2);
  expect(batches.get(keyId, id)).toEqual(paused);
  store.books.exec("DELETE FROM batch_bytes WHERE key_id = 'another'");
  nowMs += 5_000;
  await expect.poll(() => batches.get(keyId, id)['state']).toBe('completed');
});

it.each([
  ['fewer', '\n', 'goes on', { state: 'failed', reason: { code: 'files_lost' } }],
  ['fewer', '\n', 'is cancelled', { state: 'cancelled', reason: { code: 'files_lost' } }],
  ['more', '{}\n', 'goes on', { state: 'completed', counts: { total: LINES, succeeded: 2, failed: LINES - 2, unprocessed: 0 } }],
] as const)('a job ends if a part has %s lines than were counted (%j) and the job %s', async (_, line, action, end) => {
  const alone = await batchesAlone();
  const { path, keyId, batches } = alone;
  const step = vi.spyOn(BatchWorker.prototype, 'step');
  cleanUp(() => void vi.restoreAllMocks());
  const id = await begin(alone, { ...REQUEST, maxCredits: 2 });
  await expect.poll(() => batches.get(keyId, id)['state']).toBe('paused');
  const folder = `${path}.batches/${id}`;
  const part = join(folder, (await readdir(folder)).find((name) => name.startsWith('part-')) ?? expect.fail());
  const { length } = await readFile(part);
  const done = 2 * ndjson(LINE).length;
  // An older copy replaced the part.
  await writeFile(part, `${ndjson(LINE, LINE)}${line.repeat((length - done) / line.length)}`);
  step.mockClear();
  await (action === 'goes on' ? batches.raiseMaxCredits(keyId, id, 10 * LINES) : batches.cancel(keyId, id));
  await expect
    .poll(
      () => ['failed', 'cancelled', 'completed'].includes(String(batches.get(keyId, id)['state'])) || step.mock.calls.length > MANY_STEPS,
    )
    .toBe(true);
  expect(batches.get(keyId, id)).toMatchObject(end);
});

it('a stop ends the search for lines among parts without a line', async () => {
  const { batches, keyId } = await batchesAlone();
  const id = String((await batches.create(keyId, REQUEST))['id']);
  for (let n = 1; n <= LINES; n++) await batches.putPart(keyId, id, n, Readable.from([Buffer.from('\n')]));
  await batches.complete(keyId, id);
  const lookups = vi.spyOn(BatchFiles.prototype, 'partFrom').mockImplementationOnce(function first(this: BatchFiles, ...args) {
    batches.stop();
    return this.partFrom(...args);
  });
  cleanUp(() => void vi.restoreAllMocks());
  batches.start();
  await expect.poll(() => lookups.mock.calls.length).toBeGreaterThan(0);
  await batches.ended();
  // The mock passes the first lookup on, which counts twice.
  expect(lookups).toHaveBeenCalledTimes(2);
});
