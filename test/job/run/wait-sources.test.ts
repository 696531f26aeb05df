import { expect, test } from 'vitest';
import { watchRun, type WaitSources } from '../../../src/job/run/wait-sources.ts';
import { Waits } from '../../../src/util/waits.ts';

type Channel = WaitSources['channels'][number];
const QUIET: Channel = {
  name: null,
  limiter: { waiting: () => null },
  pool: { outage: null, inFlight: 0, retriesWaiting: 0, waiting: 0, pendingAnswers: 0 },
};
const channel = (pool: Partial<Channel['pool']>, name: string | null = null): Pick<WaitSources, 'channels'> => ({
  channels: [{ ...QUIET, name, pool: { ...QUIET.pool, ...pool } }],
});
const IDLE: WaitSources = {
  channels: [QUIET],
  joining: () => null,
  claimed: () => 0,
  pending: () => null,
  unproven: () => null,
  reader: () => null,
  now: () => 1_000,
};

test.each<[string, Partial<WaitSources>, object]>([
  ['nothing', {}, { reason: 'no_requests', untilMs: null }],
  [
    'an outage, until its next probe',
    channel({ outage: { forMs: 9, probeInMs: 500, lastLookups: null }, inFlight: 0, retriesWaiting: 1, waiting: 0 }),
    { reason: 'outage', untilMs: 1_500 },
  ],
  [
    'an outage, while a probe is under way',
    channel({ outage: { forMs: 9, probeInMs: 0, lastLookups: null }, inFlight: 1, retriesWaiting: 0, waiting: 0 }),
    { reason: 'outage', untilMs: null },
  ],
  [
    'the wait of the limiter',
    { channels: [{ ...QUIET, limiter: { waiting: () => ({ reason: 'resume', what: 'x', untilMs: 7 }) } }] },
    { reason: 'resume', untilMs: 7 },
  ],
  [
    'a 404 of an unusual form, until it is asked about once more',
    { unproven: () => ({ lookups: 1, untilMs: 31_000 }) },
    { reason: 'answers', what: 'the time at which one lookup with a 404 of an unusual form is asked once more', untilMs: 31_000 },
  ],
  [
    'lookups that another run asks for',
    { claimed: () => 2 },
    { reason: 'claim', what: 'the answers to 2 lookups that another run is asking for' },
  ],
  [
    'the run that does not show its claims, before its answers',
    { joining: () => ({ reason: 'claim', what: 'another run to show what it is asking for', untilMs: 31_000 }), claimed: () => 2 },
    { reason: 'claim', what: 'another run to show what it is asking for', untilMs: 31_000 },
  ],
  [
    'an answer',
    channel({ outage: null, inFlight: 1, retriesWaiting: 3, waiting: 0 }),
    { reason: 'answers', what: 'the answer to one request under way' },
  ],
  [
    'a retry',
    channel({ outage: null, inFlight: 0, retriesWaiting: 3, waiting: 0 }),
    { reason: 'retry', what: 'the time at which 3 failed requests are sent again' },
  ],
  [
    'a provider that is down, by its name',
    channel({ outage: { forMs: 9, probeInMs: 500, lastLookups: null } }, 'hunter'),
    { reason: 'outage', what: 'the service, which is down (hunter)' },
  ],
  [
    'answers that a provider gives later',
    channel({ pendingAnswers: 2 }),
    { reason: 'answers', what: '2 lookups that a provider answers later' },
  ],
  ['pending verdicts', { pending: () => ({ lookups: 12, untilMs: 61_000 }) }, { reason: 'verify', untilMs: 61_000 }],
  ['the input', { reader: () => 'input' }, { reason: 'input' }],
  ['the reader of standard output', { reader: () => 'output' }, { reason: 'output' }],
])('a waiting run names %s', (_name, sources, expected) => {
  const waits = new Waits();
  const leave = watchRun(waits, { ...IDLE, ...sources });
  expect(waits.current).toMatchObject(expected);
  leave();
  expect(waits.current).toBeNull();
});

test('a run names no reason when its quota wait is just over and the request is about to start', () => {
  const waits = new Waits();
  const leave = watchRun(waits, { ...IDLE, ...channel({ waiting: 90 }) });
  expect(waits.current).toBeNull();
  leave();
});
