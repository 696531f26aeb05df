import { Readable } from 'node:stream';
import { expect, it, vi } from 'vitest';
import { BatchFiles } from '../../../src/service/batches/batch-files.ts';
import { CHUNK_LINES, CHUNK_RESULT_BYTES } from '../../../src/service/batches/batch-limits.ts';
import { loadPeople } from '../../../src/service/store/rows/load.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { batchesAlone, REQUEST } from './alone.ts';
import { ndjson } from './jobs.ts';

/** Characters of a long text. */
const LONG = 10_000;
/** Bytes of a result line without its record, at most. */
const OVERHEAD = 200;
/** Fewer lines than a chunk may have. */
const LINES = 600;

it.each([
  ['enrich', {}],
  ['enrich', { verify: true }],
  ['enrich', { verify: true, fields: ['summary', 'headline'] }],
  ['reveal', {}],
  ['reveal', { verify: true }],
] as const)('a chunk of %s with %j ends at the limit of result bytes', async (operation, options) => {
  const big = {
    id: 'pe_big',
    email: 'big@acme.example',
    name: 'Big Record',
    summary: 'x'.repeat(LONG),
    headline: 'y'.repeat(LONG),
    company_domain: 'acme.example',
  };
  const { keyId, batches } = await batchesAlone({}, undefined, (store) => void loadPeople(store, [big], 'test'));
  const put = vi.spyOn(BatchFiles.prototype, 'put');
  cleanUp(() => void vi.restoreAllMocks());
  batches.start();
  const id = String((await batches.create(keyId, { ...REQUEST, operation, options }))['id']);
  await batches.putPart(keyId, id, 1, Readable.from([Buffer.from(ndjson(...Array.from({ length: LINES }, () => ({ id: 'pe_big' }))))]));
  await batches.complete(keyId, id);
  await expect.poll(() => batches.get(keyId, id)['state']).toBe('completed');
  const ends = put.mock.calls.flatMap(([, kind, file]) => (kind === 'results' ? file.bytes : []));
  const chunks = ends.map((end, at) => end - (ends[at - 1] ?? 0));
  // The record that reaches the limit ends the chunk. Each line has some bytes besides its record.
  for (const bytes of chunks) expect(bytes).toBeLessThan(CHUNK_RESULT_BYTES + 3 * LONG + LINES * OVERHEAD);
  expect(chunks.length).toBeGreaterThan(1);
  expect(batches.get(keyId, id)).toMatchObject({ counts: { total: LINES, succeeded: LINES } });
  expect(LINES).toBeLessThan(CHUNK_LINES);
});
