import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { stopTime } from '../limiter/virtual.ts';
import { advance, CONNECTION_CLOSED, CONNECTION_REFUSED, NEVER_MADE, OK, testBed, throttledFor } from './scripted.ts';

beforeEach(stopTime);
afterEach(() => vi.useRealTimers());

it('a lookup of which no request can be made fails at once, and is no refusal of the service', async () => {
  const bed = testBed((id) => (id === 0 ? NEVER_MADE : OK));
  bed.submit(0);
  bed.submit(1);
  await advance(100);
  expect(bed.settled.get(0)).toMatchObject({ kind: 'failed', rejected: false, status: 0, code: 'no_request_value', attempts: 0 });
  expect(bed.settled.get(1)?.kind).toBe('ok');
  expect(bed.pool.inFlight).toBe(0);
});

it('a lookup of which no request can be made does not show that the service is up', async () => {
  const bed = testBed((id) => (id % 2 === 0 ? NEVER_MADE : CONNECTION_REFUSED));
  for (let id = 0; id < 60; id++) bed.submit(id);
  await advance(30_000);
  expect(bed.pool.hasAnswered).toBe(false);
  expect(bed.pool.outage).not.toBeNull();
});

/** Lookups that fail while the service is down, and one without a request that comes while the circuit is open. */
const DOWN = 12;

it('during an outage, a lookup of which no request can be made passes the probe on to a lookup that failed before', async () => {
  const bed = testBed((id, _, at) => (id === DOWN ? NEVER_MADE : at < 6_000 ? CONNECTION_CLOSED : OK));
  for (let id = 0; id < DOWN; id++) bed.submit(id);
  await advance(4_000);
  bed.submit(DOWN);
  await advance(60_000);
  expect(bed.settled.size).toBe(DOWN + 1);
  expect(bed.pool.outage).toBeNull();
});

it('during an outage, lookups of which no request can be made do not keep limits.maxOutageMs from ending the run', async () => {
  const bed = testBed((id) => (id >= DOWN ? NEVER_MADE : CONNECTION_CLOSED), { maxOutageMs: 10_000 });
  for (let id = 0; id < DOWN; id++) bed.submit(id);
  for (let id = DOWN; id < DOWN + 8; id++) {
    await advance(1_000);
    bed.submit(id);
  }
  await advance(10_000);
  expect(bed.fatal).toEqual([expect.objectContaining({ exitCode: 69, code: 'service_unavailable' })]);
});

it('after a 429, a lookup of which no request can be made leaves the probe of the pause to the next one', async () => {
  const bed = testBed((id) => (id === 1 ? NEVER_MADE : throttledFor(300)), { concurrency: 50 });
  bed.submit(0);
  await advance(60);
  // The first to wait, and so the first to go.
  bed.submit(1);
  for (let id = 2; id < 20; id++) bed.submit(id);
  await advance(1_500);
  expect(bed.settled.has(1)).toBe(true);
  expect(bed.sent.filter(({ id }) => id !== 1).length).toBeLessThanOrEqual(6);
});

it('after a 429, a request that is too dear for the limits of the job leaves the probe of the pause to the next one', async () => {
  const bed = testBed(() => throttledFor(300), { concurrency: 50, mayCall: ({ keys }) => (keys > 1 ? 'smaller' : true) });
  bed.submit(0);
  await advance(60);
  bed.submit(1, { keys: 2, divisible: true, isTooDear: () => true });
  for (let id = 2; id < 20; id++) bed.submit(id);
  await advance(1_500);
  expect(bed.settled.get(1)).toMatchObject({ code: 'too_dear' });
  expect(bed.sent.length).toBeLessThanOrEqual(6);
});
