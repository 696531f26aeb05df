import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../src/checkpoint/checkpoint-file.ts';
import { Counters } from '../../src/job/counters.ts';
import { shareBefore, snapshots, type Running, type Snapshot } from '../../src/job/snapshot.ts';
import type { Compression, InputFile, InputManifest, Position } from '../../src/reader/types.ts';
import { CHECKPOINT } from '../checkpoint/samples.ts';

const at = (offset: number, file = 0, frame: Position['frame'] = null): Position => ({ file, line: 1, offset, frame });
const file = (size: number, compression: Compression = 'none'): InputFile => ({ uri: 'in', path: '/in', size, digest: '', compression, encoding: 'utf-8', delimiter: ',', header: [], keys: { email: null, domain: null, linkedin_url: null }, start: at(0) });
const manifest = (...files: InputFile[]): InputManifest => ({ ...CHECKPOINT.manifest, files });

/** A run whose parts stand where the test puts them. */
function stand(options: { files?: InputFile[]; rpm?: number | null; limit?: number | null; from?: Position; rows?: number; shard?: Checkpoint['shard'] } = {}) {
  const { files = [file(1_000)], rpm = null, limit = null, from = null, rows = 0, shard = null } = options;
  const mark = { ...CHECKPOINT.mark, position: from, tally: { ...CHECKPOINT.mark.tally, total: rows } };
  const state = { ms: 5_000, read: null as Position | null, written: null as Position | null, inProgress: 0, rows, pausedMs: 0, throttledMs: 0, outage: null as { forMs: number; probeInMs: number } | null };
  const counters = new Counters(null, () => state.ms);
  const source = {
    checkpoint: { ...CHECKPOINT, manifest: manifest(...files), mark, shard },
    resumed: from !== null,
    counters,
    running: {
      limiter: { pausedMs: () => state.pausedMs, throttledMs: () => state.throttledMs },
      pool: { concurrency: 24, get outage() { return state.outage; } },
      get lastStarted(): Position | null { return state.read; },
      get lastWritten(): Position | null { return state.written; },
      get inProgress(): number { return state.inProgress; },
    },
    sink: { get tally() { return { ...mark.tally, total: state.rows }; } },
  } as unknown as Running;
  return { state, counters, look: snapshots(source, rpm, limit, () => state.ms) };
}

describe('how much of the input is done', () => {
  it('grows with the position, from 0 to 1, over any files', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 10_000 }), { minLength: 1, maxLength: 5 }), fc.array(fc.tuple(fc.nat({ max: 4 }), fc.nat({ max: 12_000 })), { maxLength: 20 }), (sizes, places) => {
        const whole = manifest(...sizes.map((size) => file(size)));
        const inOrder = places.toSorted(([a, b], [c, d]) => a - c || b - d).map(([number, offset]) => shareBefore(whole, at(offset, number)));
        for (const [i, share] of inOrder.entries()) {
          expect(share).toBeGreaterThanOrEqual(inOrder[i - 1] ?? 0);
          expect(share).toBeLessThanOrEqual(1);
        }
        const last = sizes.length - 1;
        expect(shareBefore(whole, at(sizes[last] ?? 0, last))).toBe(1);
      }),
    );
  });

  it('of a shard it goes by its records, wherever in the input they are', () => {
    const { state, look } = stand({ limit: 200, from: at(900), rows: 20, shard: { index: 3, of: 4, from: at(900), before: 600, records: 200 } });
    state.rows = 50;
    state.inProgress = 50;
    expect(look().share).toBe((0.5 + 0.25) / 2);
  });

  it('nothing yet, nothing at all, and archives', () => {
    expect(shareBefore(manifest(file(10)), null)).toBe(0);
    expect(shareBefore(manifest(file(0)), null)).toBe(1);
    expect(shareBefore(manifest(), null)).toBe(1);
    // By compressed bytes: the offset is one of decompressed bytes.
    expect(shareBefore(manifest(file(100, 'gzip')), at(5_000, 0, { at: 25, offset: 4_000 }))).toBe(0.25);
    expect(shareBefore(manifest(file(100, 'zstd')), at(5_000))).toBe(0);
    expect(shareBefore(manifest(file(100), file(100, 'gzip')), at(5_000, 1, { at: 50, offset: 1 }))).toBe(0.75);
  });
});

describe('a snapshot', () => {
  it('has no ETA before anything has moved', () => {
    const { state, look } = stand();
    expect(look()).toMatchObject({ etaMs: null, share: 0, rowsPerSecond: 0, callsPerSecond: 0, quotaShare: null });
    state.ms += 60_000;
    expect(look().etaMs).toBeNull();
  });

  it('the ETA is the time so far, times what is left of what was done in it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), fc.integer({ min: 10, max: 999 }), (ms, read) => {
        const { state, look } = stand();
        state.ms += ms;
        state.read = at(read);
        expect(look().etaMs).toBeCloseTo((ms / read) * (1_000 - read), 3);
      }),
    );
  });

  it('the ETA is not shorter than what is left takes at the plan\'s rate: a burst at the start does not last', () => {
    const { state, counters, look } = stand({ rpm: 600 });
    state.ms += 1_000;
    state.read = at(100);
    for (let call = 0; call < 600; call++) counters.sent('enrich');
    // A tenth of the input took 600 calls: 5,400 are left, ten a second.
    expect(look().etaMs).toBeCloseTo(540_000, 3);
  });

  it('a resume does not count what was done before it', () => {
    const { state, look } = stand({ from: at(500), rows: 50 });
    expect(look()).toMatchObject({ etaMs: null, share: 0.5, rowsPerSecond: 0 });
    state.ms += 10_000;
    state.read = at(600);
    expect(look().etaMs).toBeCloseTo(40_000, 3);
  });

  it('goes by what is written once all is read, and the share is the mean of both', () => {
    const { state, look } = stand();
    state.ms += 10_000;
    state.read = at(1_000);
    expect(look()).toMatchObject({ share: 0.5, etaMs: null });
    state.written = at(500);
    const half = look();
    expect(half.share).toBe(0.75);
    expect(half.etaMs).toBeCloseTo(10_000, 3);
    state.written = at(1_000);
    expect(look()).toMatchObject({ share: 1, etaMs: 0 });
  });

  it('with a limit, the limit is the end', () => {
    const { state, look } = stand({ limit: 100 });
    state.ms += 1_000;
    state.read = at(30);
    state.rows = 20;
    state.inProgress = 30;
    const now = look();
    expect(now.share).toBeCloseTo((0.5 + 0.2) / 2);
    expect(now.etaMs).toBeCloseTo(1_000, 3);
  });

  it('rates are calm, come to what they are, and are never negative', () => {
    const { state, counters, look } = stand({ rpm: 600 });
    let last: Snapshot | null = null;
    for (let second = 0; second < 60; second++) {
      state.ms += 1_000;
      state.rows += 50;
      for (let i = 0; i < 10; i++) counters.sent('enrich');
      last = look();
    }
    expect(last?.rowsPerSecond).toBeCloseTo(50, 1);
    expect(last?.callsPerSecond).toBeCloseTo(10, 1);
    expect(last?.quotaShare).toBeCloseTo(1, 2);
    state.ms += 1_000;
    const after = look();
    expect(after.rowsPerSecond).toBeCloseTo(40, 1);
    // Two looks within one tick of the clock.
    expect(Number.isFinite(look().rowsPerSecond)).toBe(true);
  });

  it('never says more than the whole quota', () => {
    const { state, counters, look } = stand({ rpm: 60 });
    state.ms += 1_000;
    for (let i = 0; i < 50; i++) counters.sent('enrich');
    expect(look().quotaShare).toBe(1);
  });

  it('hands on what holds it up', () => {
    const { state, counters, look } = stand();
    state.inProgress = 3;
    counters.retrying('enrich');
    counters.throttled({ untilMs: state.ms + 70, isNew: true });
    state.ms += 50;
    expect(look()).toMatchObject({ heldUp: null, inProgress: 3, retries: 1, throttled: { events: 1, waitedMs: 50 }, concurrency: 24 });
    state.pausedMs = 40_000;
    expect(look().heldUp).toMatchObject({ by: 'quota', leftMs: 40_000 });
    // The service's word goes before what its headers say of the quota, and an outage before both.
    state.throttledMs = 7_000;
    expect(look().heldUp).toMatchObject({ by: 'throttled', leftMs: 7_000 });
    state.outage = { forMs: 31_000, probeInMs: 4_000 };
    expect(look().heldUp).toMatchObject({ by: 'outage', forMs: 31_000, leftMs: 4_000 });
  });
});
