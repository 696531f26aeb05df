import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CallPoolOptions } from '../../src/pool/call-pool.ts';
import { wasNeverSent } from '../../src/pool/circuit.ts';
import { isPending, stopTime } from '../limiter/virtual.ts';
import {
  attemptsOf,
  HTTP_500,
  HTTP_503,
  throttledFor,
  meta,
  MISS,
  OK,
  advance,
  REJECTED,
  testBed,
  type Answer,
  CONNECTION_REFUSED,
} from './scripted.ts';

beforeEach(stopTime);
afterEach(() => vi.useRealTimers());

const MINUTE = 60_000;

describe('a lookup', () => {
  it('settles at the first answer: a hit, a miss, a suppressed person or a rejected request', async () => {
    const answers = [OK, MISS, { kind: 'suppressed', meta: meta(451) }, REJECTED] as const;
    const bed = testBed((id) => answers[id] ?? OK);
    for (const id of answers.keys()) bed.submit(id);
    await advance(100);
    expect([...bed.settled.entries()].sort(([a], [b]) => a - b).map(([, settled]) => settled)).toEqual([
      { kind: 'ok', value: 'yes', attempts: 1, requestId: 'r-200' },
      { kind: 'miss', status: 404, attempts: 1, requestId: 'r-404' },
      { kind: 'suppressed', status: 451, attempts: 1, requestId: 'r-451' },
      { kind: 'failed', rejected: true, status: 422, code: 'validation_failed', attempts: 1, requestId: 'r-422' },
    ]);
    expect(bed.sent).toHaveLength(4);
    expect(bed.fatal).toEqual([]);
  });

  it('fails alone after five attempts with growing delays', async () => {
    const bed = testBed((id) => (id === 3 ? HTTP_500 : OK));
    for (let id = 0; id < 20; id++) bed.submit(id);
    await advance(MINUTE);
    expect(bed.settled.get(3)).toEqual({ kind: 'failed', rejected: false, status: 500, code: 'http_500', attempts: 5, requestId: 'r-500' });
    expect([...bed.settled.values()].filter((settled) => settled.kind === 'ok')).toHaveLength(19);
    const sentAt = bed.sent.filter(({ id }) => id === 3).map(({ at }) => at);
    expect(sentAt.slice(1).map((at, i) => at - (sentAt[i] as number))).toEqual([135, 260, 510, 1_010]);
    expect(bed.events.filter((event) => event === 'retrying http_500')).toHaveLength(4);
  });

  it('has one attempt for each failed call and one for the answer', async () => {
    const bed = testBed((_, attempt) => (attempt < 5 ? HTTP_500 : OK));
    bed.submit(0);
    await advance(MINUTE);
    expect(bed.settled.get(0)).toMatchObject({ kind: 'ok', attempts: 5 });
  });

  it('has no attempt for a throttled call', async () => {
    const bed = testBed((_, attempt) => (attempt <= 30 ? throttledFor(1_000) : attempt < 35 ? HTTP_500 : OK));
    bed.submit(0);
    await advance(2 * MINUTE);
    expect(bed.settled.get(0)).toMatchObject({ kind: 'ok', attempts: 5 });
    expect(bed.sent).toHaveLength(35);
  });
});

describe('limits.maxCalls', () => {
  it('ends the run with 77 when all calls are used, and sends no further one', async () => {
    let callsLeft = 7;
    const bed = testBed((id) => (id === 2 ? HTTP_500 : OK), { mayCall: () => (callsLeft-- > 0 ? true : 'never') });
    for (let id = 0; id < 50; id++) bed.submit(id);
    await advance(MINUTE);
    expect(bed.sent).toHaveLength(7);
    expect(bed.fatal).toEqual([expect.objectContaining({ exitCode: 77, code: 'max_calls' })]);
    // Calls sent earlier are still settled, because they have been paid for.
    expect(bed.settled.size).toBe(6);
  });

  it('waits at the limit for calls in flight, because a refused connection gives its call back', async () => {
    let callsLeft = 3;
    const ignore = (): void => undefined;
    const events = {
      sent: () => void callsLeft--,
      rejoined: () => undefined,
      answered: (_: unknown, result: Answer) => void (callsLeft += Number(wasNeverSent(result))),
      retrying: ignore,
      wentDown: ignore,
      cameBack: ignore,
    } as CallPoolOptions['events'];
    const bed = testBed((id) => (id < 2 ? CONNECTION_REFUSED : OK), {
      mayCall: () => (callsLeft > 0 ? true : 'never'),
      concurrency: 8,
      events,
    });
    for (let id = 0; id < 5; id++) bed.submit(id);
    await advance(25);
    expect([bed.fatal, [...bed.settled.keys()]]).toEqual([[], [2, 3, 4]]);
    expect(bed.sent.map(({ id }) => id)).toEqual([0, 1, 2, 3, 4]);
  });
});

describe('limits.maxCredits', () => {
  const dear = { keys: 10, isTooDear: () => true };
  /** Room for calls of fewer keys than this. */
  const roomFor =
    (keys: number): CallPoolOptions['mayCall'] =>
    (call) =>
      call.keys < keys ? true : 'smaller';

  it('gives a call back that is too dear and can be divided, and sends smaller ones', async () => {
    const bed = testBed(() => OK, { mayCall: roomFor(10) });
    bed.submit(0, dear);
    await advance(100);
    expect([bed.settled.get(0), bed.sent, bed.fatal]).toEqual([expect.objectContaining({ kind: 'failed', code: 'too_dear' }), [], []]);
    bed.submit(1, { ...dear, keys: 5 });
    await advance(100);
    expect(bed.settled.get(1)).toMatchObject({ kind: 'ok' });
  });

  it('ends the run at a call that is too dear and cannot be divided', async () => {
    const bed = testBed(() => OK, { mayCall: roomFor(10) });
    bed.submit(0, { keys: 10 });
    await advance(100);
    expect([bed.sent, bed.fatal]).toEqual([[], [expect.objectContaining({ exitCode: 77 })]]);
  });

  it('first waits for the calls in flight, which may cost less than they might', async () => {
    let left = 10;
    const ignore = (): void => undefined;
    const events: CallPoolOptions['events'] = {
      sent: ({ keys }) => void (left -= keys),
      rejoined: () => undefined,
      answered: ({ keys }) => void (left += keys),
      retrying: ignore,
      wentDown: ignore,
      cameBack: ignore,
    };
    const bed = testBed(() => OK, { mayCall: ({ keys }) => (keys <= left ? true : 'smaller'), events });
    bed.submit(0, { keys: 6 });
    bed.submit(1, dear);
    await advance(100);
    expect([...bed.settled.values()].map(({ kind }) => kind)).toEqual(['ok', 'ok']);
  });
});

describe('the concurrency of the pool', () => {
  it.each([1, 3, 16])('reaches the configured limit of %d and stays within it', async (concurrency) => {
    const bed = testBed((id) => [OK, 5 + (id % 7)], { concurrency });
    for (let id = 0; id < 200; id++) bed.submit(id);
    await advance(MINUTE);
    expect(bed.mostInFlight).toBe(concurrency);
    expect(bed.settled.size).toBe(200);
  });

  it('stays within maxConnections, whether it is auto or a number', async () => {
    for (const concurrency of ['auto', 40] as const) {
      const bed = testBed(() => [OK, 50], { concurrency, maxConnections: 3 });
      for (let id = 0; id < 60; id++) bed.submit(id);
      await advance(MINUTE);
      expect(bed.settled.size).toBe(60);
      expect(bed.mostInFlight).toBe(3);
    }
  });
});

describe('back-pressure', () => {
  it('ends when half of the backlog has left, and not before', async () => {
    const bed = testBed(() => [OK, 100], { concurrency: 8 });
    expect(bed.pool.room()).toBeNull();
    for (let id = 0; id < 15; id++) bed.submit(id);
    expect(bed.pool.room()).toBeNull();
    bed.submit(15);
    const room = bed.pool.room() as Promise<void>;
    await advance(99);
    expect(await isPending(room)).toBe(true);
    await advance(2);
    await room;
    expect(bed.pool.room()).toBeNull();
  });

  it('holds the reader while the service is down, and ends with the run', async () => {
    const bed = testBed(() => HTTP_503, { maxOutageMs: 60_000 });
    for (let id = 0; id < 40; id++) bed.submit(id);
    await advance(1_000);
    const room = bed.pool.room() as Promise<void>;
    expect(await isPending(room)).toBe(true);
    await advance(2 * MINUTE);
    expect(bed.fatal).toHaveLength(1);
    const drained = bed.pool.drain();
    await advance(100);
    await drained;
    await room;
    expect(bed.pool.room()).toBeNull();
  });
});

describe('drain', () => {
  it('waits for the calls in flight, settles them, and sends no other call', async () => {
    const bed = testBed((id) => [id === 2 ? HTTP_500 : OK, 5_000]);
    for (let id = 0; id < 40; id++) bed.submit(id);
    await advance(100);
    const drained = bed.pool.drain();
    await advance(4_800);
    expect(await isPending(drained)).toBe(true);
    await advance(200);
    await drained;
    expect([...bed.settled.keys()]).toEqual([0, 1, 3]);
    expect(bed.sent).toHaveLength(4);
    bed.submit(99);
    await advance(MINUTE);
    expect(bed.sent).toHaveLength(4);
    expect(vi.getTimerCount()).toBe(0);
    expect(bed.fatal).toEqual([]);
  });

  it.each([
    ['the service is down', () => HTTP_500, 2_000],
    ['the service has just failed for the first time', () => HTTP_500, 5],
    ['a throttle pause holds every call', () => throttledFor(500_000), 2_000],
    ['calls wait for permits', () => OK, 100],
  ] as const)('ends at once when %s', async (_, answer, after) => {
    const bed = testBed(answer, { rpm: 60 });
    for (let id = 0; id < 40; id++) bed.submit(id);
    await advance(after);
    const drained = bed.pool.drain();
    await advance(50);
    expect(await isPending(drained)).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
    expect(bed.fatal).toEqual([]);
  });

  it('leaves a cancelled call unsettled for the next run', async () => {
    const bed = testBed((_, attempt) => (attempt < 5 ? HTTP_500 : { ...HTTP_500, code: 'aborted', meta: meta(0) }));
    bed.submit(0);
    await advance(MINUTE);
    expect(attemptsOf(bed, 0)).toBe(5);
    expect(bed.settled.size).toBe(0);
  });
});

describe('a result that cannot be stored', () => {
  it.each([
    ['while running', false],
    ['while draining', true],
  ])('ends the run %s', async (_, draining) => {
    const bed = testBed(() => OK, {
      onSettle: (id) => {
        if (id === 1) throw new Error('disk full');
      },
    });
    for (let id = 0; id < 40; id++) bed.submit(id);
    await advance(5);
    const drained = draining ? bed.pool.drain() : null;
    await advance(MINUTE);
    expect(bed.fatal).toEqual([new Error('disk full')]);
    // The calls that were in flight at that moment are settled all the same.
    expect([...bed.settled.keys()]).toEqual(bed.sent.map(({ id }) => id));
    expect(bed.sent.length).toBeLessThanOrEqual(8);
    if (drained !== null) expect(await isPending(drained)).toBe(false);
  });
});
