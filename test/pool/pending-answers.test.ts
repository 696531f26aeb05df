import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SentCall } from '../../src/pool/call-pool-options.ts';
import { stopTime } from '../limiter/virtual.ts';
import { advance, attemptsOf, HTTP_500, OK, pendingFor, testBed, type Bed } from './scripted.ts';

beforeEach(stopTime);
afterEach(() => vi.useRealTimers());

const timesOf = (bed: Bed, id: number): number[] => bed.sent.filter((sent) => sent.id === id).map(({ at }) => at);

describe('a call whose answer is pending', () => {
  it('gives its slot back, and is asked again after the time that the provider names', async () => {
    const bed = testBed((id, attempt) => (id === 0 && attempt < 3 ? pendingFor(5_000) : OK), { concurrency: 1 });
    bed.submit(0);
    bed.submit(1);
    await advance(100);
    expect([...bed.settled.keys()]).toEqual([1]);
    expect([bed.pool.pendingAnswers, bed.pool.inFlight]).toEqual([1, 0]);
    await advance(20_000);
    expect(timesOf(bed, 0)).toEqual([0, 5_010, 10_020]);
    expect(bed.settled.get(0)).toMatchObject({ kind: 'ok', attempts: 1 });
    expect(bed.pool.pendingAnswers).toBe(0);
  });

  it('never goes out again within 250 ms', async () => {
    const bed = testBed((_, attempt) => (attempt < 4 ? pendingFor(0) : OK));
    bed.submit(0);
    await advance(2_000);
    expect(timesOf(bed, 0)).toEqual([0, 260, 520, 780]);
  });

  it('costs no attempt and no retry: after each promise the lookup has all its attempts', async () => {
    const bed = testBed((_, attempt) => (attempt === 40 ? OK : attempt % 4 === 0 ? pendingFor(250) : HTTP_500));
    bed.submit(0);
    await advance(120_000);
    expect(bed.settled.get(0)).toMatchObject({ kind: 'ok', attempts: 4 });
    expect(attemptsOf(bed, 0)).toBe(40);
  });

  it('fails when it is still pending so long after its first pending answer, and is asked a last time then', async () => {
    const bed = testBed(() => pendingFor(400, 't', 1_000));
    bed.submit(0);
    await advance(10_000);
    expect(timesOf(bed, 0)).toEqual([0, 410, 820, 1_080]);
    expect(bed.settled.get(0)).toMatchObject({ kind: 'failed', code: 'still_pending', rejected: false });
  });

  it('tells each new ticket once', async () => {
    const tickets = ['a', 'a', 'b', 'a', 'a'];
    const bed = testBed((_, attempt) => (attempt > tickets.length ? OK : pendingFor(300, tickets[attempt - 1])));
    const told: string[] = [];
    bed.submit(0, { promised: (ticket) => told.push(ticket) });
    await advance(5_000);
    expect(told).toEqual(['a', 'b', 'a']);
    expect(bed.settled.get(0)?.kind).toBe('ok');
  });

  it('takes a permit of the limiter each time, and counts as a call that was sent and answered', async () => {
    const calls: SentCall[] = [];
    const sent: string[] = [];
    const bed = testBed((_, attempt) => (attempt < 6 ? pendingFor(250) : OK), {
      rpm: 60,
      events: {
        sent: ({ step }) => sent.push(step),
        answered: (call) => calls.push(call),
        retrying: () => undefined,
        wentDown: () => undefined,
        cameBack: () => undefined,
      },
    });
    for (let id = 0; id < 20; id++) bed.submit(id);
    await advance(59_000);
    expect(bed.sent.length).toBeLessThanOrEqual(60);
    await advance(600_000);
    expect(bed.settled.size).toBe(20);
    expect([sent.length, calls.length, bed.sent.length]).toEqual([120, 120, 120]);
    expect(new Set(calls.map(({ attempt }) => attempt))).toEqual(new Set([1]));
  });

  it('shows that the provider is at the address', async () => {
    const bed = testBed(() => pendingFor(5_000));
    expect(bed.pool.hasAnswered).toBe(false);
    bed.submit(0);
    await advance(100);
    expect(bed.pool.hasAnswered).toBe(true);
  });

  it('shows that the provider is up: it ends a row of failures', async () => {
    const bed = testBed((id, attempt) => (id === 9 ? pendingFor(1_000) : attempt === 1 ? HTTP_500 : OK), { concurrency: 1 });
    for (let id = 0; id < 12; id++) bed.submit(id);
    await advance(200);
    expect(bed.events).not.toContain('open');
  });

  it('stays open for the next run after a drain, which still tells the ticket of an answer on its way', async () => {
    const bed = testBed((id) => [pendingFor(1_000, `t${id}`), id === 0 ? 10 : 500]);
    const told: string[] = [];
    bed.submit(0, { promised: (ticket) => told.push(ticket) });
    bed.submit(1, { promised: (ticket) => told.push(ticket) });
    await advance(100);
    const drained = bed.pool.drain();
    await advance(1_000);
    await drained;
    expect(told).toEqual(['t0', 't1']);
    expect([bed.pool.pendingAnswers, bed.settled.size, vi.getTimerCount()]).toEqual([0, 0, 0]);
  });

  it('goes out again after an outage that began meanwhile', async () => {
    const bed = testBed((id, attempt, at) => (id === 0 ? (attempt === 1 ? pendingFor(5_000) : OK) : at < 8_000 ? HTTP_500 : OK), {
      hasAnswered: true,
      concurrency: 16,
    });
    for (let id = 0; id < 13; id++) bed.submit(id);
    await advance(120_000);
    expect(bed.settled.size).toBe(13);
    expect(bed.settled.get(0)).toMatchObject({ kind: 'ok' });
    expect(bed.fatal).toEqual([]);
  });
});
