/** Data of the report page with hostile text from job, input and service. */
import * as fc from '../../../support/fast-check.ts';
import { NARROWEST_MS } from '../../../../src/checkpoint/call-slots.ts';
import { LatencyHistogram } from '../../../../src/job/run/latency-histogram.ts';
import { WAIT_REASONS } from '../../../../src/util/waits.ts';
import { timelineOf } from '../../../../src/job/report/report-parts.ts';
import { storeSlots } from '../../../../src/checkpoint/call-slots.ts';
import type { PageData } from '../../../../src/job/report/page/page-data.ts';

const n = fc.nat({ max: 2_000_000_000 });
/** Text that would break out of its element, its attribute, its line or its direction. */
export const name = fc.oneof(
  fc.constantFrom(
    '</title><script>alert(1)</script>',
    '"onload="alert(1)',
    "'><img src=x onerror=alert(1)>",
    '&lt;b&gt;',
    '<!--',
    ']]>',
    '\u202egnp.exe',
    '\ud800',
    '\0\u001b[2J',
    'javascript:alert(1)',
    '../../x',
    '%',
    '__proto__',
  ),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.string({ minLength: 300, maxLength: 1_000 }),
);
const counts = (most: number): fc.Arbitrary<Record<string, number>> => fc.dictionary(name, n, { maxKeys: most, noNullPrototype: true });
const slot = fc.record({
  calls: n,
  permitted: fc.oneof(fc.constant(0), n),
  throttledMs: n,
  downMs: n,
  after: fc.oneof({ weight: 5, arbitrary: fc.constant(1) }, fc.integer({ min: 2, max: 1_000 })),
});
const series = fc.record({ power: fc.nat({ max: 15 }), slots: fc.array(slot, { maxLength: 240, size: 'max' }) }).map(({ power, slots }) => {
  let number = 1_000_000;
  return { widthMs: NARROWEST_MS * 2 ** power, slots: slots.map(({ after, ...one }) => ({ ...one, number: (number += after) })) };
});

const outcomes = fc.record({
  matched: n,
  no_match: n,
  invalid: fc.oneof(fc.constant(0), n),
  suppressed: n,
  failed: fc.oneof(fc.constant(0), n),
});
const share = fc.option(fc.double({ min: 0, max: 1, noNaN: true }));
const answered = fc.option(fc.record({ matched: n, no_match: n, matchRate: fc.double({ min: 0, max: 1, noNaN: true }) }));
const figures = { recordsPerSecond: fc.option(n), matchRate: share, deliverableRate: share };
/** People and companies apart. */
const kinds = fc
  .record({ people: answered, companies: answered })
  .map(({ people, companies }) => ({ ...(people === null ? {} : { people }), ...(companies === null ? {} : { companies }) }));
const time = fc.constant('2026-02-28T01:02:03.000Z');
const previous = fc
  .record({
    startedAt: time,
    finishedAt: time,
    exitCode: fc.constantFrom(0, 1),
    outcomes,
    verification: counts(33),
    credits: n,
    ...figures,
  })
  .map(({ outcomes, ...run }) => ({ ...run, records: { total: Object.values(outcomes).reduce((sum, one) => sum + one, 0), ...outcomes } }));
const run = fc.record({
  startedAt: time,
  endedAt: fc.option(time),
  command: name,
  version: name,
  end: fc.constantFrom('finished', 'stopped', 'killed', null),
  code: fc.option(name),
});
const call = fc.record({
  file: fc.option(name),
  line: n,
  step: fc.constantFrom('enrich', 'verify'),
  keys: n,
  latencyMs: n,
  sent: n,
  code: fc.option(name),
  requestId: fc.option(name),
});
/** Names that a report's parts have from outside, and their numbers. */
const more = fc.record({
  version: name,
  command: fc.option(name),
  service: fc.record({ url: fc.option(name), embedded: fc.boolean(), plan: fc.constantFrom('growth', null) }),
  ...figures,
  kinds,
  open: fc.option(fc.integer({ min: 1, max: 2_000_000 })),
  previous: fc.option(previous),
  runs: fc.record({ count: n, killed: n, list: fc.array(run, { maxLength: 4 }) }),
  slowest: fc.array(call, { maxLength: 4 }),
  mostRetried: fc.array(call, { maxLength: 4 }),
  verdicts: fc.array(name, { maxLength: 2 }),
});

export const pageData: fc.Arbitrary<PageData> = fc
  .record({
    job: name,
    uri: name,
    finished: fc.boolean(),
    exitCode: fc.constantFrom(null, 0, 1, 75),
    outcomes,
    none: fc.boolean(),
    verification: counts(33),
    errors: counts(33),
    calls: fc.dictionary(fc.constantFrom('enrich', 'verify', 'company', 'reveal'), n),
    some: fc.tuple(n, n, n, n, n, n),
    rpm: fc.option(fc.integer({ min: 1, max: 1_000_000 })),
    usedShare: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
    names: fc.array(name, { maxLength: 3 }),
    series,
    waits: fc.array(
      fc.record({ at: fc.constant('2026-03-01T00:30:00.000Z'), ms: n, reason: fc.constantFrom(...WAIT_REASONS), what: name }),
      { maxLength: 5 },
    ),
    latencies: fc.array(fc.double({ min: 0.1, max: 100_000, noNaN: true }), { maxLength: 60 }),
    more,
  })
  .map(
    ({
      job,
      uri,
      finished,
      exitCode,
      outcomes,
      none,
      verification,
      errors,
      calls,
      some: [unique, fromLedger, retries, credits, size, waitedMs],
      rpm,
      usedShare,
      names,
      series,
      waits,
      latencies,
      more: { verdicts, kinds: answeredOf, open, ...parts },
    }) => {
      const records = none ? { matched: 0, no_match: 0, invalid: 0, suppressed: 0, failed: 0 } : outcomes;
      const total = Object.values(records).reduce((sum, one) => sum + one, 0);
      const histogram = new LatencyHistogram();
      for (const ms of latencies) histogram.add(ms);
      return {
        report: {
          job,
          startedAt: '2026-03-01T00:00:00.000Z',
          finishedAt: finished ? '2026-03-01T01:02:03.000Z' : null,
          exitCode,
          activeMs: waitedMs,
          records: { total, ...records },
          verification,
          errors,
          calls,
          lookups: { unique, fromLedger },
          retries,
          throttled: { events: retries, waitedMs },
          waits: { count: waits.length, ms: waitedMs, reasons: { quota: waitedMs }, list: waits },
          credits,
          quota: { rpm, usedShare, goesOnAt: null },
          latencyMs: { p50: histogram.percentile(0.5), p95: histogram.percentile(0.95), p99: histogram.percentile(0.99) },
          output: { uri, rows: total, bytes: size, sha256: finished ? 'ab'.repeat(32) : null },
          steps: ['enrich', 'verify'],
          ...parts,
          ...answeredOf,
          ...(open === null ? {} : { open }),
          timeline: timelineOf(storeSlots(series), waits),
          duplicateLookups: retries + unique,
          files: { output: uri, report: uri, page: uri, errors: records.failed > 0 ? uri : null, checkpoint: uri, verdicts },
        },
        steps: ['enrich', 'verify'],
        input: { names, files: names.length + retries, bytes: size },
        activeMs: waitedMs,
        errors,
        series,
        latencies: histogram.ranges(40),
      };
    },
  );
