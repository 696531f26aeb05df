import * as fc from '../../support/fast-check.ts';
import { RecordsOnTheWay } from '../../../src/job/run/on-the-way.ts';
import { describe, expect, it } from 'vitest';
import type { CallPool } from '../../../src/pool/call-pool.ts';
import type { Checkpoint } from '../../../src/checkpoint/checkpoint-file.ts';
import { Counters } from '../../../src/job/run/counters.ts';
import { expectedRecords, shareBefore, formatShare } from '../../../src/checkpoint/expected-records.ts';
import { snapshots, type WatchedRun, type Snapshot } from '../../../src/job/progress/snapshot.ts';
import type { Compression, InputFile, InputManifest, Position } from '../../../src/formats/input-record.ts';
import { CHECKPOINT } from '../../checkpoint/samples.ts';

const at = (offset: number, file = 0, frame: Position['frame'] = null): Position => ({ file, line: 1, offset, frame });
const file = (size: number, compression: Compression = 'none'): InputFile => ({
  uri: 'in',
  path: '/in',
  size,
  digest: '',
  compression,
  encoding: 'utf-8',
  delimiter: ',',
  header: [],
  keys: { email: null, domain: null, linkedin_url: null },
  start: at(0),
});
const manifest = (...files: InputFile[]): InputManifest => ({ ...CHECKPOINT.manifest, files });

/** A run whose parts are in the state that the test gives them. */
function makeRun(
  options: {
    files?: InputFile[];
    rpm?: number | null;
    limit?: number | null;
    from?: Position;
    rows?: number;
    shard?: Checkpoint['shard'];
  } = {},
) {
  const { files = [file(1_000)], rpm = null, limit = null, from = null, rows = 0, shard = null } = options;
  const mark = { ...CHECKPOINT.mark, position: from, tally: { ...CHECKPOINT.mark.tally, total: rows } };
  const state = {
    ms: 5_000,
    read: null as Position | null,
    written: null as Position | null,
    inProgress: 0,
    rows,
    waiting: 0,
    isAll: false,
    pausedMs: 0,
    throttledMs: 0,
    pausedFor: 'the quota of 9 requests a day, which is used up',
    outage: null as CallPool['outage'],
  };
  const counters = new Counters(null, () => state.ms);
  const source = {
    job: { steps: ['enrich'] },
    checkpoint: { ...CHECKPOINT, manifest: manifest(...files), mark, shard },
    resumed: from !== null,
    counters,
    limiter: {
      pausedMs: () => Math.max(state.pausedMs, state.throttledMs),
      throttledMs: () => state.throttledMs,
      pausedFor: () => state.pausedFor,
      burst: 0,
    },
    pool: {
      concurrency: 24,
      get waiting() {
        return state.waiting;
      },
      get outage() {
        return state.outage;
      },
    },
    loop: {
      get hasReadAll(): boolean {
        return state.isAll;
      },
      get lastStarted(): Position | null {
        return state.read;
      },
      get lastWritten(): Position | null {
        return state.written;
      },
      get inProgress(): number {
        return state.inProgress;
      },
      onTheWay: new RecordsOnTheWay(),
    },
    writer: {
      get tally() {
        return { ...mark.tally, total: state.rows };
      },
    },
  } as unknown as WatchedRun;
  return { state, counters, look: snapshots(source, rpm, limit, () => state.ms) };
}

describe('the share of the input that is done', () => {
  it('grows with the position, from 0 to 1, over any files', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: 10_000 }), { minLength: 1, maxLength: 5 }),
        fc.array(fc.tuple(fc.nat({ max: 4 }), fc.nat({ max: 12_000 })), { maxLength: 20 }),
        (sizes, places) => {
          const input = manifest(...sizes.map((size) => file(size)));
          const inOrder = places
            .toSorted(([a, b], [c, d]) => a - c || b - d)
            .map(([number, offset]) => shareBefore(input, at(offset, number)));
          for (const [i, share] of inOrder.entries()) {
            expect(share).toBeGreaterThanOrEqual(inOrder[i - 1] ?? 0);
            expect(share).toBeLessThanOrEqual(1);
          }
          const last = sizes.length - 1;
          expect(shareBefore(input, at(sizes[last] ?? 0, last))).toBe(1);
        },
      ),
    );
  });

  it('counts the records of a shard, wherever in the input they are', () => {
    const { state, look } = makeRun({
      limit: 200,
      from: at(900),
      rows: 20,
      shard: { index: 3, of: 4, from: at(900), before: 600, records: 200 },
    });
    state.rows = 50;
    state.inProgress = 50;
    expect(look()).toMatchObject({ share: 0.25, expected: { records: 200, isExact: true } });
  });

  it('has a value before the first byte, for an empty input and for archives', () => {
    expect(shareBefore(manifest(file(10)), null)).toBe(0);
    expect(shareBefore(manifest(file(0)), null)).toBe(1);
    expect(shareBefore(manifest(), null)).toBe(1);
    // By compressed bytes, although the offset counts decompressed bytes.
    expect(shareBefore(manifest(file(100, 'gzip')), at(5_000, 0, { at: 25, offset: 4_000 }))).toBe(0.25);
    expect(shareBefore(manifest(file(100, 'zstd')), at(5_000))).toBe(0);
    expect(shareBefore(manifest(file(100), file(100, 'gzip')), at(5_000, 1, { at: 50, offset: 1 }))).toBe(0.75);
  });
});

describe('the expected records of a job', () => {
  const checkpoint = { ...CHECKPOINT, manifest: manifest(file(1_000)) };

  it('never count fewer than were read, and become exact at the end, at a limit, in a shard and in a retry', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 5_000 }),
        fc.nat({ max: 1_200 }),
        fc.boolean(),
        fc.option(fc.integer({ min: 1, max: 6_000 })),
        (records, offset, isAll, limit) => {
          const read = limit === null ? records : Math.min(records, limit);
          const expected = expectedRecords(checkpoint, { records: read, upTo: at(offset), isAll, limit });
          if (expected === null) expect(isAll || limit !== null).toBe(false);
          else expect(expected.records).toBeGreaterThanOrEqual(read);
          if (isAll) expect(expected).toEqual({ records: read, isExact: true });
        },
      ),
    );
    expect(expectedRecords(checkpoint, { records: 0, upTo: null, isAll: false, limit: null })).toBeNull();
    expect(formatShare(0.416, { records: 2_500, isExact: true })).toBe('41 % of 2,500 records');
    expect(formatShare(0.5, { records: 2, isExact: false })).toBe('50 % of about 2 records');
  });
});

describe('a snapshot', () => {
  it('has no ETA before anything has moved', () => {
    const { state, look } = makeRun();
    expect(look()).toMatchObject({ etaMs: null, share: 0, rowsPerSecond: 0, callsPerSecond: 0, quotaShare: null });
    state.ms += 60_000;
    expect(look().etaMs).toBeNull();
  });

  it('has a share of written records that is estimated by bytes at first, and exact once all are read', () => {
    const { state, look } = makeRun();
    state.ms += 1_000;
    state.read = at(250);
    state.rows = 10;
    state.inProgress = 15;
    expect(look()).toMatchObject({ done: 10, expected: { records: 100, isExact: false }, share: 0.1 });
    state.read = at(990);
    state.isAll = true;
    state.rows = 40;
    state.inProgress = 60;
    expect(look()).toMatchObject({ expected: { records: 100, isExact: true }, share: 0.4 });
    state.rows = 100;
    state.inProgress = 0;
    expect(look()).toMatchObject({ share: 1, etaMs: 0 });
  });

  it('has an ETA of the remaining calls at the rate of the plan', () => {
    const { state, counters, look } = makeRun({ rpm: 600 });
    look();
    state.ms += 10_000;
    state.read = at(100);
    state.inProgress = 1_000;
    for (let call = 0; call < 1_000; call++) counters.sent({ step: 'enrich', keys: 1 });
    // A tenth of the input took 1,000 calls, so 9,000 are left, at ten a second.
    expect(look().etaMs).toBeCloseTo(900_000, 3);
  });

  it('does not count work done before a resume', () => {
    const { state, counters, look } = makeRun({ from: at(500), rows: 50 });
    expect(look()).toMatchObject({ etaMs: null, share: 0.5, rowsPerSecond: 0 });
    state.ms += 10_000;
    state.read = at(600);
    state.rows = 60;
    for (let call = 0; call < 10; call++) counters.sent({ step: 'enrich', keys: 1 });
    expect(look().etaMs).toBeCloseTo(40_000, 3);
  });

  it('ends at the limit of a job', () => {
    const { state, look } = makeRun({ limit: 100 });
    state.ms += 1_000;
    state.read = at(30);
    state.rows = 20;
    state.inProgress = 30;
    expect(look()).toMatchObject({ share: 0.2, expected: { records: 100, isExact: false } });
  });

  it('has smooth rates that converge to the true rate and are never negative', () => {
    const { state, counters, look } = makeRun({ rpm: 600 });
    let last: Snapshot | null = null;
    for (let second = 0; second < 60; second++) {
      state.ms += 1_000;
      state.rows += 50;
      for (let i = 0; i < 10; i++) counters.sent({ step: 'enrich', keys: 1 });
      last = look();
    }
    expect(last?.rowsPerSecond).toBeCloseTo(50, 1);
    expect(last?.callsPerSecond).toBeCloseTo(10, 1);
    expect(last?.quotaShare).toBeCloseTo(1, 2);
    state.ms += 1_000;
    const after = look();
    expect(after.rowsPerSecond).toBeCloseTo(40, 1);
    // Two snapshots within one tick of the clock.
    expect(Number.isFinite(look().rowsPerSecond)).toBe(true);
  });

  it('never shows more than the full quota', () => {
    const { state, counters, look } = makeRun({ rpm: 60 });
    state.ms += 1_000;
    for (let i = 0; i < 50; i++) counters.sent({ step: 'enrich', keys: 1 });
    expect(look().quotaShare).toBe(1);
  });

  it('names the current wait', () => {
    const { state, counters, look } = makeRun();
    state.inProgress = 3;
    counters.retrying('enrich');
    counters.throttled({ untilMs: state.ms + 70, isNew: true, cause: 'retry_after', what: '' });
    state.ms += 50;
    expect(look()).toMatchObject({ heldUp: null, inProgress: 3, retries: 1, throttled: { events: 1, waitedMs: 50 }, concurrency: 24 });
    state.pausedMs = 40_000;
    expect(look().heldUp).toMatchObject({ by: 'quota', leftMs: 40_000 });
    // A Retry-After goes before the quota headers, and an outage before both.
    state.throttledMs = 7_000;
    expect(look().heldUp).toMatchObject({ by: 'throttled', what: state.pausedFor, leftMs: 7_000 });
    state.outage = { forMs: 31_000, probeInMs: 4_000, lastLookups: null };
    expect(look().heldUp).toMatchObject({ by: 'outage', what: 'the service, which is down', forMs: 31_000, leftMs: 4_000 });
    state.outage = { ...state.outage, lastLookups: 'http_500' };
    expect(look().heldUp).toMatchObject({
      what: 'the last lookups, which fail (http_500): the service is down, or fails for these alone',
      lastLookups: 'http_500',
    });
  });
});
