import { describe, expect, it } from 'vitest';
import * as fc from '../../support/fast-check.ts';
import { NARROWEST_MS, storeSlots } from '../../../src/checkpoint/call-slots.ts';
import { figuresByKind, figuresOf, filesOf, MOST_TIMELINE_SLOTS, reportedCalls, timelineOf } from '../../../src/job/report/report-parts.ts';
import { reportedJob } from '../../support/reported-job.ts';

const RECORDS = { total: 200, matched: 100, no_match: 50, invalid: 20, suppressed: 10, failed: 20 };

describe('the part with the figures of a run', () => {
  it('has null where nothing can be said', () => {
    const none = { total: 0, matched: 0, no_match: 0, invalid: 0, suppressed: 0, failed: 0 };
    expect(figuresOf({ records: none, verification: {}, activeMs: 5_000 })).toEqual({
      recordsPerSecond: null,
      matchRate: null,
      deliverableRate: null,
    });
    expect(figuresOf({ records: RECORDS, verification: {}, activeMs: 999 }).recordsPerSecond).toBeNull();
  });

  it('counts the records that were answered, all verdicts, and the running time', () => {
    expect(figuresOf({ records: RECORDS, verification: { deliverable: 3, risky: 4 }, activeMs: 30_000 })).toEqual({
      recordsPerSecond: 6.7,
      matchRate: 0.6667,
      deliverableRate: 0.4286,
    });
  });
});

describe('the figures by kind', () => {
  it('count people and companies apart, and are left out for a kind without an answered record', () => {
    const companies = { matched: 90, no_match: 10 };
    expect(figuresByKind({ records: RECORDS, companies })).toEqual({
      people: { matched: 10, no_match: 40, matchRate: 0.2 },
      companies: { ...companies, matchRate: 0.9 },
    });
    expect(figuresByKind({ records: RECORDS })).toEqual({ people: { matched: 100, no_match: 50, matchRate: 0.6667 } });
    const all = { matched: RECORDS.matched, no_match: RECORDS.no_match };
    expect(figuresByKind({ records: RECORDS, companies: all })).toEqual({ companies: { ...all, matchRate: 0.6667 } });
    expect(figuresByKind({ records: { ...RECORDS, matched: 0, no_match: 0 } })).toEqual({});
  });
});

describe('the timeline', () => {
  const slot = fc.record({ calls: fc.nat({ max: 1_000 }), after: fc.integer({ min: 1, max: 100 }), throttledMs: fc.nat({ max: 1_000 }) });

  it('has every request of the series, in at most 60 slots', () => {
    fc.assert(
      fc.property(fc.array(slot, { maxLength: 240, size: 'max' }), (slots) => {
        let number = 1_700_000_000;
        const series = storeSlots({
          widthMs: NARROWEST_MS,
          slots: slots.map(({ after, ...one }) => ({ ...one, number: (number += after), permitted: 7, downMs: 1 })),
        });
        const timeline = timelineOf(series, []);
        const sum = (of: (one: (typeof timeline.slots)[number]) => number): number => timeline.slots.reduce((all, one) => all + of(one), 0);
        expect(timeline.slots.length).toBeLessThanOrEqual(MOST_TIMELINE_SLOTS);
        expect(sum(({ requests }) => requests)).toBe(slots.reduce((all, { calls }) => all + calls, 0));
        expect(sum(({ throttledMs }) => throttledMs)).toBe(slots.reduce((all, one) => all + one.throttledMs, 0));
        expect(sum(({ permitted }) => permitted ?? 0)).toBe(slots.length * 7);
        expect(timeline.slots.map(({ at }) => Date.parse(at) % timeline.slotMs).filter((rest) => rest !== 0)).toEqual([]);
      }),
    );
  });

  it('has in each slot the part of the waits that falls into it', () => {
    const start = 1_700_000_000;
    const slots = [0, 1, 2].map((at) => ({ number: start + at, calls: 1, permitted: 0, throttledMs: 0, downMs: 0 }));
    const wait = { at: new Date(start * 1_000 + 400).toISOString(), ms: 1_100, reason: 'quota' as const, what: 'the next window' };
    const timeline = timelineOf(storeSlots({ widthMs: 1_000, slots }), [wait]);
    expect(timeline.slots.map(({ waitedMs, permitted }) => [waitedMs, permitted])).toEqual([
      [600, null],
      [500, null],
      [0, null],
    ]);
  });

  it('has no slots for a checkpoint without a series', () => {
    expect(timelineOf(undefined, [])).toEqual({ slotMs: NARROWEST_MS, slots: [] });
  });
});

describe('the part with the files', () => {
  const verification = { deliverable: 2, risky: 0, odd: 4 };

  it('names the files beside the output, without an errors file when nothing failed', () => {
    expect(filesOf(reportedJob('s3://bucket/out.csv'), { records: { ...RECORDS, failed: 0, invalid: 0 }, verification })).toEqual({
      output: 's3://bucket/out.csv',
      report: 's3://bucket/out.csv.report.json',
      page: 's3://bucket/out.csv.report.html',
      errors: null,
      checkpoint: 's3://bucket/out.csv.checkpoint.json',
      verdicts: [],
    });
  });

  it('includes the files of the verdicts that some record has', () => {
    const job = reportedJob('out.csv', { 'output.split': 'verdict' });
    expect(filesOf(job, { records: RECORDS, verification })).toMatchObject({
      errors: 'out.csv.errors.jsonl',
      verdicts: ['out.deliverable.csv'],
    });
  });

  it('has no files for standard output', () => {
    expect(filesOf(reportedJob('-'), { records: RECORDS, verification })).toBeNull();
  });
});

it('a listed request has the name of its file, where the input still has that file', () => {
  const call = { line: 3, step: 'enrich' as const, keys: 1, latencyMs: 5, sent: 1, code: null, requestId: null };
  const [known, unknown] = reportedCalls(
    [0, 9].map((file) => ({ file, ...call })),
    [{ uri: 'in.csv' }],
  );
  expect([known?.file, unknown?.file]).toEqual(['in.csv', null]);
  expect(Object.keys(known ?? {})[0]).toBe('file');
});
