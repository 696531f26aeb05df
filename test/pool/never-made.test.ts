import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { stopTime } from '../limiter/virtual.ts';
import { advance, CONNECTION_REFUSED, NEVER_MADE, OK, testBed } from './scripted.ts';

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
