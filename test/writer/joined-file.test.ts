import * as fc from '../support/fast-check.ts';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { KEPT } from '../../src/processor/result.ts';
import { csvRow } from '../../src/formats/csv/csv-row.ts';
import { joinParts, type RowsFile } from '../../src/writer/joined-file.ts';
import { START_MARK } from '../../src/writer/resume-point.ts';
import { OutputWriter } from '../../src/writer/output-writer.ts';
import type { Compression } from '../../src/formats/input-record.ts';
import { ALONE } from '../support/fence.ts';
import { csvRecord, text } from './samples.ts';
import { SEED } from '../support/seed.ts';

const folder = mkdtempSync(join(tmpdir(), 'joined-'));
afterAll(() => rmSync(folder, { recursive: true }));

const HEADER = Buffer.from('name,"two\nlines"\n');
const MEMBER = { rows: 3, bytes: 60 };
const signal = new AbortController().signal;

let made = 0;

/** The parts that a run would write from these rows. */
async function write(rows: readonly Buffer[], header: Buffer | null, compression: Compression): Promise<RowsFile> {
  const path = join(folder, `out-${made++}`);
  const writer = await OutputWriter.open({
    path,
    side: { errors: { path: `${path}.errors`, lineOf: () => null }, open: { path: `${path}.open`, lineOf: null } },
    fence: ALONE,
    compression,
    member: MEMBER,
    mark: START_MARK,
    format: { header, row: () => Buffer.alloc(0) },
  });
  for (const [i, row] of rows.entries()) writer.write({ ...csvRecord([], i), finished: { row, error: null, open: null } }, KEPT);
  const { bytes, sha256, mark } = await writer.finish();
  await writer.commit();
  return { path, version: '', bytes, sha256, fullBytes: mark.bytes, header: header !== null };
}

describe(`joined parts (SEED=${SEED})`, () => {
  const row = fc.tuple(text, text).map((cells) => csvRow(',')(cells.map((cell) => cell.replaceAll(/[\ud800-\udfff]/g, ''))));
  test.each<Compression>(['none', 'gzip', 'zstd'])('equal, byte for byte, the output of one run: %s', async (compression) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(row, { maxLength: 8 }), { minLength: 1, maxLength: 5 }),
        fc.boolean(),
        async (rows, withHeader) => {
          const header = withHeader ? HEADER : null;
          const whole = await write(rows.flat(), header, compression);
          const parts = await Promise.all(rows.map((part, i) => write(part, i === 0 ? header : null, compression)));
          const path = join(folder, `joined-${made++}`);
          const joined = await joinParts({ path, parts, compression, quoted: true, fence: ALONE, signal, member: MEMBER });
          expect(joined).toMatchObject({
            bytes: whole.bytes,
            sha256: createHash('sha256')
              .update(await readFile(whole.path))
              .digest('hex'),
          });
          expect(await readFile(`${path}.partial`)).toEqual(await readFile(whole.path));
        },
      ),
      { seed: SEED, numRuns: 25 },
    );
  });

  test('with full members are copied without being decompressed', async () => {
    const rows = Array.from({ length: 6 }, (_, i) => Buffer.from(`${i}\n`));
    const written = await Promise.all([rows.slice(0, 3), rows.slice(3)].map((part) => write(part, null, 'gzip')));
    expect(written.map(({ bytes, fullBytes }) => bytes - fullBytes)).toEqual([0, 0]);
    // Bytes that cannot be decompressed.
    for (const { path, bytes } of written) await writeFile(path, 'x'.repeat(bytes));
    const parts = written.map((part) => ({ ...part, sha256: createHash('sha256').update('x'.repeat(part.bytes)).digest('hex') }));
    const path = join(folder, 'aligned');
    const { bytes } = await joinParts({ path, parts, compression: 'gzip', quoted: true, fence: ALONE, signal, member: MEMBER });
    expect(await readFile(`${path}.partial`, 'utf8')).toBe('x'.repeat(bytes));
  });

  test('replace the result of an earlier attempt, and stop at a signal', async () => {
    const part = await write([Buffer.from('a\n')], null, 'none');
    const options = { path: join(folder, 'again'), parts: [part, part, part], compression: 'none' as const, quoted: true, fence: ALONE };
    await joinParts({ ...options, signal });
    await joinParts({ ...options, parts: [part], signal });
    expect(await readFile(join(folder, 'again.partial'), 'utf8')).toBe('a\n');
    await expect(joinParts({ ...options, signal: AbortSignal.abort(new Error('stopped')) })).rejects.toThrow('stopped');
  });

  test.each<Compression>(['none', 'gzip'])('stay unpublished when one differs from what its shard wrote: %s', async (compression) => {
    const part = await write(
      Array.from({ length: 6 }, (_, i) => Buffer.from(`${i}\n`)),
      null,
      compression,
    );
    const bytes = await readFile(part.path);
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    await writeFile(part.path, bytes);
    await expect(
      joinParts({
        path: join(folder, `spoilt-${compression}`),
        parts: [part],
        compression,
        quoted: true,
        fence: ALONE,
        signal,
        member: MEMBER,
      }),
    ).rejects.toMatchObject({ exitCode: 74, code: 'output_failed', message: expect.stringContaining('not what its shard wrote') });
  });

  test('fail as a fault of the disk when they became shorter', async () => {
    const part = await write([Buffer.from('a\n')], null, 'none');
    await expect(
      joinParts({
        path: join(folder, 'short'),
        parts: [{ ...part, bytes: 9, fullBytes: 9 }],
        compression: 'none',
        quoted: true,
        fence: ALONE,
        signal,
      }),
    ).rejects.toMatchObject({ exitCode: 74, code: 'output_failed', message: expect.stringContaining('could not be read to be joined') });
  });
});
