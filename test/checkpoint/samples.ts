/** Random checkpoints with the structure that runs write. */
import * as fc from '../support/fast-check.ts';
import type { Checkpoint, JobState } from '../../src/checkpoint/checkpoint-file.ts';
import { NO_WAITS } from '../../src/checkpoint/wait-log.ts';
import { START_MARK } from '../../src/writer/resume-point.ts';

export const CHECKPOINT: Checkpoint = {
  version: 1,
  job: 'nightly',
  output: '/data/out.csv',
  fingerprint: { 'input.uri': ['in.csv'], steps: ['enrich'] },
  generation: 1,
  run: 'run-1',
  manifest: { format: 'csv', files: [], columns: ['email'], keyName: { email: 'email', domain: null, linkedin_url: null } },
  limit: null,
  state: 'running',
  startedAt: '2026-03-01T00:00:00.000Z',
  updatedAt: '2026-03-01T00:00:01.000Z',
  finishedAt: null,
  exitCode: null,
  mark: START_MARK,
  totals: {
    calls: {},
    lookups: { unique: 0, fromLedger: 0 },
    retries: 0,
    throttled: { events: 0, waitedMs: 0 },
    waits: NO_WAITS,
    beyondPlan: 0,
    credits: 0,
    latency: {},
    activeMs: 0,
  },
  trusted: false,
  answered: false,
  spent: null,
  result: null,
  creditsAtMost: 0,
  callsAtMost: 0,
  retry: null,
  shard: null,
};

const n = fc.nat({ max: 1_000_000_000 });
const word = fc.string({ maxLength: 20 });
// JSON.parse keeps the name __proto__ and an object literal does not, so it is left out.
const name = word.filter((text) => text !== '__proto__');
const tally = fc.record({
  total: n,
  outcomes: fc.record({ matched: n, no_match: n, invalid: n, suppressed: n, failed: n }),
  verification: fc.dictionary(name, n, { noNullPrototype: true }),
});
const frame = fc.option(fc.record({ at: n, offset: n }));
const output = fc.record({ tally, bytes: n, errorBytes: n, sha256: word, errorsSha256: word });
const position = fc.record({ file: n, line: n, offset: n, frame });

const mark = fc.record({ position: fc.option(position), bytes: n, errorBytes: n, tally });

/** Any checkpoint. */
export const checkpoint: fc.Arbitrary<Checkpoint> = fc
  .record({
    job: word,
    output: word,
    fingerprint: fc.dictionary(name, fc.oneof(word, n, fc.array(word), fc.constant(null)), { noNullPrototype: true }),
    generation: n,
    run: word,
    limit: fc.option(n),
    state: fc.constantFrom<JobState>('running', 'stopped', 'finishing', 'finished'),
    exitCode: fc.option(n),
    mark,
    retry: fc.option(
      fc.record({
        before: fc.record({ finishedAt: fc.option(word), exitCode: fc.option(n), mark, result: output }),
        failedUpTo: n,
        forgotten: fc.record({ unique: n, fromLedger: n }),
      }),
    ),
    trusted: fc.boolean(),
    answered: fc.boolean(),
    creditsAtMost: n,
    callsAtMost: n,
    result: fc.option(output),
  })
  .map((some) => ({ ...CHECKPOINT, ...some }));
