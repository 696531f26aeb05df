import { Readable } from 'node:stream';
import { expect, it, vi } from 'vitest';
import { BatchFiles } from '../../../src/service/batches/batch-files.ts';
import { ROUND_LINES, ROUND_RESULT_BYTES } from '../../../src/service/batches/limits.ts';
import { loadPeople } from '../../../src/service/store/load.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { batchesAlone, REQUEST } from './alone.ts';
import { ndjson } from './jobs.ts';

/** As long as a text may be. */
const LONG = 10_000;
/** Of a line of results without its record. */
const AROUND = 200;
/** Less than a round takes. */
const LINES = 600;

it.each([
  ['enrich', {}],
  ['enrich', { verify: true }],
  ['enrich', { verify: true, fields: ['summary', 'headline'] }],
  ['reveal', {}],
  ['reveal', { verify: true }],
] as const)('a round of %s with %j ends when there are so many bytes of results', async (operation, options) => {
  const big = { id: 'pe_big', email: 'big@acme.example', name: 'Big Record', summary: 'x'.repeat(LONG), headline: 'y'.repeat(LONG), company_domain: 'acme.example' };
  const { keyId, batches } = await batchesAlone({}, undefined, (store) => void loadPeople(store, [big], 'test'));
  const put = vi.spyOn(BatchFiles.prototype, 'put');
  cleanUp(() => void vi.restoreAllMocks());
  batches.start();
  const id = String((await batches.create(keyId, { ...REQUEST, operation, options }))['id']);
  await batches.putPart(keyId, id, 1, Readable.from([Buffer.from(ndjson(...Array.from({ length: LINES }, () => ({ id: 'pe_big' }))))]));
  await batches.complete(keyId, id);
  await expect.poll(() => batches.get(keyId, id)['state']).toBe('completed');
  const ends = put.mock.calls.flatMap(([, kind, file]) => (kind === 'results' ? file.bytes : []));
  const rounds = ends.map((end, at) => end - (ends[at - 1] ?? 0));
  // It is ended by the record that reaches it; around each are some bytes more.
  for (const bytes of rounds) expect(bytes).toBeLessThan(ROUND_RESULT_BYTES + 3 * LONG + LINES * AROUND);
  expect(rounds.length).toBeGreaterThan(1);
  expect(batches.get(keyId, id)).toMatchObject({ counts: { total: LINES, succeeded: LINES } });
  expect(LINES).toBeLessThan(ROUND_LINES);
});
