import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import * as fc from '../support/fast-check.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Compression, InputRecord } from '../../src/formats/input-record.ts';
import type { RecordOutcome, RecordResult } from '../../src/processor/result.ts';
import { START_MARK, type ResumePoint } from '../../src/writer/resume-point.ts';
import { OutputWriter, type OutputWriterOptions } from '../../src/writer/output-writer.ts';
import type { RowFormat } from '../../src/writer/row-format.ts';
import { ALONE } from '../support/fence.ts';
import { casesOf } from '../support/sample.ts';
import { csvRecord } from './samples.ts';

let folder: string;
let files = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'writer-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const OUTCOMES: readonly RecordOutcome[] = ['matched', 'no_match', 'matched', 'failed', 'matched', 'invalid', 'suppressed'];
const resultOf = (i: number): RecordResult => ({
  outcome: OUTCOMES[i % OUTCOMES.length] as RecordOutcome,
  error: null,
  answers: {},
  failure: null,
});
const lineOf = (i: number): string => `${i},${'x'.repeat((i * 37) % 90)}\n`;
const isError = (i: number): boolean => ['failed', 'invalid'].includes(resultOf(i).outcome);
const isOpenRow = (i: number): boolean => i % 3 === 0;
const openOf = (i: number): string => `{"open":${i}}`;
const errorOf = (i: number): string => `{"n":${i}}`;

/** `number` is the record's position in the input, and equals its `end`. */
const format = (header: string | null): RowFormat => ({
  header: header === null ? null : Buffer.from(header),
  row: (record) => Buffer.from(lineOf(record.end.offset - 1)),
});

const lineIf =
  (isMeant: (i: number) => boolean, text: (i: number) => string) =>
  ({ end: { offset } }: InputRecord): string | null =>
    isMeant(offset - 1) ? text(offset - 1) : null;

function open(path: string, mark: ResumePoint, options: Partial<OutputWriterOptions> = {}): Promise<OutputWriter> {
  return OutputWriter.open({
    path,
    side: {
      errors: { path: `${path}.errors`, lineOf: lineIf(isError, errorOf) },
      open: { path: `${path}.open`, lineOf: lineIf(isOpenRow, openOf) },
    },
    fence: ALONE,
    compression: 'none',
    format: format('h\n'),
    mark,
    member: { rows: 5, bytes: 300 },
    ...options,
  });
}

const nextOf = (mark: ResumePoint): number => mark.position?.offset ?? 0;
const write = (writer: OutputWriter, i: number): void => writer.write(csvRecord([], i), resultOf(i));

function plain(bytes: Buffer, compression: Compression): string {
  return (compression === 'gzip' ? gunzipSync(bytes) : compression === 'zstd' ? unzstd(bytes) : bytes).toString();
}

/** Node decompresses one frame at a time. */
function unzstd(bytes: Buffer): Buffer {
  const frames: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const { buffer, engine } = zstdDecompressSync(bytes.subarray(at), { info: true }) as unknown as {
      buffer: Buffer;
      engine: { bytesWritten: number };
    };
    frames.push(buffer);
    at += engine.bytesWritten;
  }
  return Buffer.concat(frames);
}

interface Whole {
  readonly bytes: Buffer;
  readonly errors: string | null;
  readonly open: string | null;
  readonly finished: Awaited<ReturnType<OutputWriter['finish']>>;
}

async function finish(path: string, writer: OutputWriter): Promise<Whole> {
  const finished = await writer.finish();
  await writer.commit();
  await writer.close();
  const errors = finished.errorBytes > 0 ? readFileSync(`${path}.errors`, 'utf8') : null;
  const open = (finished.openBytes ?? 0) > 0 ? readFileSync(`${path}.open`, 'utf8') : null;
  return { bytes: readFileSync(path), errors, open, finished };
}

async function uninterrupted(n: number, options: Partial<OutputWriterOptions>): Promise<Whole> {
  const path = join(folder, `out-${files++}`);
  const writer = await open(path, START_MARK, options);
  for (let i = 0; i < n; i++) write(writer, i);
  return finish(path, writer);
}

const op = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 1, max: 9 }) },
  { weight: 2, arbitrary: fc.constant('sync' as const) },
  { weight: 1, arbitrary: fc.constant('crash' as const) },
  { weight: 1, arbitrary: fc.constant('finish and go on' as const) },
);

describe.each(['none', 'gzip', 'zstd'] as const)('OutputWriter, compression %s', (compression) => {
  it.each(['h\n', null])('ends with the bytes of an uninterrupted run after any number of crashes (header %j)', async (header) => {
    const options = { compression, format: format(header) };
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 60 }),
        fc.array(op, { maxLength: 25 }),
        fc.string({ unit: 'binary' }),
        async (n, ops, garbage) => {
          const path = join(folder, `out-${files++}`);
          let mark: ResumePoint = START_MARK;
          let writer = await open(path, mark, options);
          let next = 0;
          for (const one of ops) {
            if (typeof one === 'number') {
              const end = Math.min(n, next + one);
              while (next < end) write(writer, next++);
            } else if (one === 'sync') {
              mark = await writer.sync();
              expect(statSync(`${path}.partial`).size).toBeGreaterThanOrEqual(mark.bytes);
              expect(mark.tally.total).toBe(nextOf(mark));
            } else {
              // A pilot's end is a resume point as well: a longer run continues from it.
              if (one === 'finish and go on') mark = (await writer.finish()).mark;
              await writer.close();
              appendFileSync(`${path}.partial`, garbage);
              appendFileSync(`${path}.errors.partial`, garbage);
              appendFileSync(`${path}.open.partial`, garbage);
              // The resume point passes through the checkpoint as JSON.
              mark = JSON.parse(JSON.stringify(mark)) as ResumePoint;
              writer = await open(path, mark, options);
              next = nextOf(mark);
            }
          }
          while (next < n) write(writer, next++);
          const [whole, expected] = [await finish(path, writer), await uninterrupted(n, options)];
          expect(whole.bytes.equals(expected.bytes)).toBe(true);
          expect([whole.errors, whole.open]).toEqual([expected.errors, expected.open]);
          expect(whole.finished).toEqual(expected.finished);
          const rows = [...Array(n).keys()];
          expect(plain(whole.bytes, compression)).toBe((header ?? '') + rows.map(lineOf).join(''));
          const linesOf = (isMeant: (i: number) => boolean, text: (i: number) => string): string =>
            rows
              .filter(isMeant)
              .map((i) => `${text(i)}\n`)
              .join('');
          expect([whole.errors ?? '', whole.open ?? '']).toEqual([linesOf(isError, errorOf), linesOf(isOpenRow, openOf)]);
          expect(whole.finished.tally).toMatchObject({
            total: n,
            outcomes: {
              failed: rows.filter((i) => resultOf(i).outcome === 'failed').length,
              matched: rows.filter((i) => resultOf(i).outcome === 'matched').length,
            },
          });
          expect(whole.finished.bytes).toBe(whole.bytes.length);
        },
      ),
      { numRuns: casesOf(12, 40) },
    );
  });

  it('publishes complete files only, readable by their owner alone', async () => {
    const path = join(folder, `out-${files++}`);
    const writer = await open(path, START_MARK, { compression });
    for (let i = 0; i < 4; i++) write(writer, i);
    await writer.finish();
    expect(() => statSync(path)).toThrow('ENOENT');
    await writer.commit();
    await writer.close();
    for (const file of [path, `${path}.errors`, `${path}.open`]) {
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(() => statSync(`${file}.partial`)).toThrow('ENOENT');
    }
  });

  it('publishes a valid empty file when there are no rows and no header', async () => {
    const { bytes, finished } = await uninterrupted(0, { compression, format: format(null) });
    expect(plain(bytes, compression)).toBe('');
    expect(bytes.length > 0).toBe(compression !== 'none');
    expect(finished.bytes).toBe(bytes.length);
  });

  it('removes the errors file and the open rows of an earlier run when no record has a line, or can have one', async () => {
    for (const lineOf of [() => null, null]) {
      const path = join(folder, `out-${files++}`);
      const beside = [`${path}.errors`, `${path}.open`];
      for (const file of beside) appendFileSync(file, 'old\n');
      const side = { errors: { path: `${path}.errors`, lineOf: () => null }, open: { path: `${path}.open`, lineOf } };
      const writer = await open(path, START_MARK, { compression, side });
      write(writer, 0);
      const { finished } = await finish(path, writer);
      expect(Object.keys(finished).filter((key) => key.startsWith('open'))).toEqual([]);
      for (const file of beside.flatMap((name) => [name, `${name}.partial`])) expect(() => statSync(file)).toThrow('ENOENT');
    }
  });
});

describe('OutputWriter', () => {
  it('gives a resume point while rows keep arriving', async () => {
    const path = join(folder, `out-${files++}`);
    const writer = await open(path, START_MARK, { format: format(null) });
    const state = { marked: false };
    write(writer, 0);
    const syncing = writer.sync().finally(() => {
      state.marked = true;
    });
    // Rows arrive at every turn of the event loop, so some row is always unwritten.
    let turns = 0;
    // Turns: seconds, for a disk that other processes write to.
    const MOST_TURNS = 200_000;
    for (let i = 1; !state.marked && turns < MOST_TURNS; turns++) {
      for (const end = i + 5; i < end; i++) write(writer, i);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await writer.close();
    expect(nextOf(await syncing)).toBeLessThan(1_000);
    expect(turns).toBeLessThan(MOST_TURNS);
  });

  it('asks its caller to wait, also for rows that are being compressed, and accepts more later', async () => {
    const wide: RowFormat = { header: null, row: () => Buffer.alloc(1024 * 1024, 'x') };
    for (const compression of ['none', 'gzip'] as const) {
      const writer = await open(join(folder, `out-${files++}`), START_MARK, {
        compression,
        format: wide,
        member: { rows: 1, bytes: 1024 * 1024 },
      });
      expect(writer.room()).toBeNull();
      for (let i = 0; i < 20; i++) write(writer, i);
      const room = writer.room();
      expect(room).not.toBeNull();
      await room;
      expect(writer.room()).toBeNull();
      await writer.close();
    }
  });
});
