import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CallAnswer } from '../../src/pool/call.ts';
import type { CallSize, MayCall, SentCall } from '../../src/pool/call-pool-options.ts';
import { OpenPromises } from '../../src/pool/open-promises.ts';
import { stopTime } from '../limiter/virtual.ts';
import {
  advance,
  attemptsOf,
  CONNECTION_CLOSED,
  HTTP_500,
  HTTP_503,
  OK,
  pendingFor,
  REJECTED,
  testBed,
  type Answer,
  type Bed,
} from './scripted.ts';

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
        rejoined: () => undefined,
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

describe('a call whose polls fail', () => {
  const LONGEST_MS = 60_000;
  const longestPollMsOf = (): number => LONGEST_MS;

  /** One lookup is promised and then polled, beside others that are answered. */
  async function polled(failure: Answer, answered: (at: number) => boolean): Promise<Bed> {
    const bed = testBed(
      (id, attempt, at) => (id > 0 ? OK : attempt === 1 ? pendingFor(1_000, 't', LONGEST_MS) : answered(at) ? OK : failure),
      { longestPollMsOf },
    );
    for (let id = 0; id < 90; id++) {
      bed.submit(id);
      await advance(1_000);
    }
    return bed;
  }

  const FAILURES = [
    ['the service', HTTP_500],
    ['a gateway', HTTP_503],
    ['the network', CONNECTION_CLOSED],
  ] as const;

  it.each(FAILURES)('goes on while %s fails, for as long as the answer may take, and has it then', async (_who, failure) => {
    const bed = await polled(failure, (at) => at > LONGEST_MS * 0.9);
    expect(attemptsOf(bed, 0)).toBeGreaterThan(6);
    expect(bed.settled.get(0)).toMatchObject({ kind: 'ok' });
  });

  it.each(FAILURES)('a failing poll leaves it pending when %s fails until then', async (_who, failure) => {
    const bed = await polled(failure, () => false);
    expect(bed.settled.get(0)).toMatchObject({ kind: 'failed', code: 'still_pending', rejected: false });
    expect(timesOf(bed, 0).at(-1)).toBeGreaterThanOrEqual(LONGEST_MS);
    expect(timesOf(bed, 0).at(-1)).toBeLessThan(LONGEST_MS * 1.1);
  });

  it('has its usual attempts when a run asks after that time', async () => {
    const bed = testBed((id) => (id === 0 ? HTTP_500 : OK), { longestPollMsOf, hasAnswered: true });
    bed.submit(0, { promise: { at: Date.now() - 2 * LONGEST_MS, charged: 0 } });
    for (let id = 1; id < 60; id++) {
      bed.submit(id);
      await advance(1_000);
    }
    expect(attemptsOf(bed, 0)).toBe(5);
    expect(bed.settled.get(0)).toMatchObject({ code: 'still_pending' });
  });

  it('ends by a refusal at once', async () => {
    const bed = await polled(REJECTED, () => false);
    expect(bed.settled.get(0)).toMatchObject({ code: 'validation_failed', rejected: true });
    expect(attemptsOf(bed, 0)).toBe(2);
  });
});

/** Limits of credits for lookups of one credit each: what is promised or paid counts. */
function creditsOf(most: number) {
  const spent = { reserved: 0, paid: 0 };
  const asked: string[] = [];
  const options = {
    mayCall: ({ isPoll }: CallSize): MayCall => {
      asked.push(isPoll === true ? 'poll' : 'call');
      return isPoll === true || spent.reserved + spent.paid < most ? true : 'spent';
    },
    events: {
      sent: () => undefined,
      rejoined: () => void spent.reserved++,
      answered: ({ isPoll }: SentCall, { kind, meta }: CallAnswer<unknown>) => {
        if (kind === 'pending' && isPoll !== true) spent.reserved++;
        else if (kind !== 'pending' && isPoll === true) spent.reserved--;
        spent.paid += meta.credits;
      },
      retrying: () => undefined,
      wentDown: () => undefined,
      cameBack: () => undefined,
    },
  };
  return { spent, asked, options };
}

/** An answer to a poll that costs this many credits. */
const costing = (credits: number): Answer => ({ ...OK, meta: { ...OK.meta, credits } });

describe('a call whose credits are reserved for promised answers', () => {
  it('waits without a slot and a permit until an answer turns out to be free, in the order of the calls', async () => {
    const { asked, options } = creditsOf(2);
    const bed = testBed((_, attempt) => (attempt === 1 ? pendingFor(1_000) : costing(0)), { ...options, concurrency: 1 });
    for (let id = 0; id < 6; id++) bed.submit(id);
    await advance(500);
    expect(bed.sent.map(({ id }) => id)).toEqual([0, 1]);
    expect([bed.pool.waiting, bed.pool.inFlight]).toEqual([4, 0]);
    await advance(10_000);
    expect([...bed.settled.keys()]).toEqual([0, 1, 2, 3, 4, 5]);
    expect(bed.fatal).toEqual([]);
    // Each answer wakes one call, and each call that goes out the next one.
    expect(asked.length).toBeLessThan(30);
  });

  it('ends the run once no open promise can free credits any more, after all of them are answered', async () => {
    const { spent, options } = creditsOf(2);
    const bed = testBed((_, attempt) => (attempt < 3 ? pendingFor(1_000) : costing(1)), { ...options, concurrency: 1 });
    for (let id = 0; id < 6; id++) bed.submit(id);
    await advance(10_000);
    expect([...bed.settled.keys()]).toEqual([0, 1]);
    expect([spent, bed.fatal]).toMatchObject([{ reserved: 0, paid: 2 }, [{ code: 'max_calls' }]]);
  });

  it('does not wait for a promise that was left to the next run', async () => {
    const { options } = creditsOf(1);
    const bed = testBed(() => pendingFor(500, 't', 1_000), { ...options, concurrency: 1 });
    bed.submit(0);
    bed.submit(1);
    await advance(10_000);
    expect(bed.settled.get(0)).toMatchObject({ code: 'still_pending' });
    expect(bed.fatal).toHaveLength(1);
  });

  it('leaves the probe of an outage to another call', async () => {
    const promises = new OpenPromises();
    promises.began();
    const bed = testBed((_, _attempt, at) => (at < 20_000 ? HTTP_503 : OK), {
      mayCall: ({ keys }) => (keys === 2 ? 'spent' : true),
      promises,
      hasAnswered: true,
      concurrency: 2,
    });
    for (let id = 0; id < 8; id++) bed.submit(id);
    await advance(15_000);
    expect(bed.pool.outage).not.toBeNull();
    bed.submit(8, { keys: 2 });
    await advance(300_000);
    expect([bed.pool.outage, bed.settled.size, bed.pool.waiting]).toEqual([null, 8, 1]);
  });

  it('waits for the promises of other pools too, and no longer once those are drained', async () => {
    const promises = new OpenPromises();
    const other = testBed(() => pendingFor(60_000), { promises });
    other.submit(0);
    await advance(100);
    const bed = testBed(() => OK, { mayCall: () => 'spent', promises });
    bed.submit(0);
    await advance(30_000);
    expect([bed.fatal, bed.sent]).toEqual([[], []]);
    await other.pool.drain();
    await advance(1_000);
    expect(bed.fatal).toHaveLength(1);
  });
});
