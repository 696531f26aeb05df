import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { stopTime } from '../limiter/virtual.ts';
import {
  CONNECTION_CLOSED,
  HTTP_500,
  HTTP_503,
  throttledFor,
  meta,
  MISS,
  OK,
  HTML_PAGE,
  advance,
  readAll,
  REJECTED,
  testBed,
  type Answer,
  CONNECTION_REFUSED,
} from './scripted.ts';

beforeEach(stopTime);
afterEach(() => vi.useRealTimers());

const MINUTE = 60_000;

describe('a service that is down', () => {
  it('gets one probe at a time after ten failed lookups, and costs no attempts', async () => {
    const outageMs = 4 * MINUTE;
    const bed = testBed((_, __, at) => (at < outageMs ? HTTP_503 : OK));
    for (let id = 0; id < 40; id++) bed.submit(id);
    await advance(MINUTE);
    expect(bed.pool.outage).not.toBeNull();
    const sentBefore = bed.sent.length;
    expect(sentBefore).toBeLessThan(25);
    await advance(outageMs - MINUTE - 1);
    // At most one probe in 15 s.
    expect(bed.sent.length - sentBefore).toBeLessThanOrEqual(13);
    bed.mostInFlight = 0;
    await advance(MINUTE);
    expect(bed.settled.size).toBe(40);
    expect([...bed.settled.values()].every((settled) => settled.kind === 'ok')).toBe(true);
    expect(bed.mostInFlight).toBe(4);
    expect(bed.events.filter((event) => event === 'open' || event === 'closed')).toEqual(['open', 'closed']);
    expect(bed.pool.outage).toBeNull();
  });

  it.each([8_000, 10_000, 60_000])(
    'gets its last probe after limits.maxOutageMs (%d), and that failure ends the run',
    async (maxOutageMs) => {
      for (const retryAfterMs of [null, 30_000]) {
        const bed = testBed(() => [{ ...HTTP_503, retryAfterMs } as typeof HTTP_503, 10], { maxOutageMs });
        // The tenth failure opens the circuit: after 10 to 30 ms, or after the Retry-After.
        for (let id = 0; id < 40; id++) bed.submit(id);
        for (let ms = 0; bed.pool.outage === null && ms < MINUTE; ms += 10) await advance(10);
        await advance(maxOutageMs - 100);
        expect(bed.fatal).toEqual([]);
        await advance(200);
        expect(bed.fatal).toEqual([expect.objectContaining({ exitCode: 69, code: 'service_unavailable' })]);
      }
    },
  );

  it('ends the run with 69 after limits.maxOutageMs', async () => {
    const bed = testBed(() => HTTP_503, { maxOutageMs: 60_000 });
    for (let id = 0; id < 40; id++) bed.submit(id);
    await advance(59_000);
    expect(bed.fatal).toEqual([]);
    await advance(20_000);
    expect(bed.fatal).toEqual([expect.objectContaining({ exitCode: 69, code: 'service_unavailable' })]);
    expect(bed.settled.size).toBe(0);
    const { length } = bed.sent;
    await advance(10 * MINUTE);
    expect(bed.sent).toHaveLength(length);
  });

  it.each([
    ['a miss', MISS],
    ['a rejected request', REJECTED],
    ['a 429', throttledFor(2_000)],
  ])('counts as up again when a probe gets %s', async (_, probeAnswer) => {
    let firstAnswer: typeof OK | null = probeAnswer;
    const bed = testBed((_, __, at) => {
      if (at < 5_000) return HTTP_500;
      const answer = firstAnswer ?? OK;
      firstAnswer = null;
      return answer;
    });
    for (let id = 0; id < 40; id++) bed.submit(id);
    await advance(MINUTE);
    expect(bed.settled.size).toBe(40);
    expect(bed.pool.outage).toBeNull();
  });
});

describe('a service that is up', () => {
  it('stays in use when one lookup cannot connect and others are answered', async () => {
    const bed = testBed((id) => (id === 0 ? CONNECTION_REFUSED : OK));
    bed.submit(0);
    for (let id = 1; id < 200; id++) {
      bed.submit(id);
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(bed.settled.get(0)?.kind).toBe('failed');
    expect(bed.settled.size).toBe(200);
  });

  it('stays in use when every tenth lookup fails', async () => {
    const bed = testBed((id) => (id % 10 === 0 ? HTTP_500 : OK));
    for (let id = 0; id < 1_000; id++) bed.submit(id);
    await advance(MINUTE);
    expect(bed.events).not.toContain('open');
    expect([...bed.settled].filter(([, settled]) => settled.kind === 'failed').map(([id]) => id % 10)).toEqual(
      Array.from({ length: 100 }, () => 0),
    );
    expect(bed.settled.size).toBe(1_000);
  });

  it('stays in use when only lookups that failed earlier are left at the end', async () => {
    // A failing lookup takes seconds to use its five attempts, so fifty of them are left after the last good one.
    const bed = testBed((id) => (id % 8 === 0 ? HTTP_500 : OK), { concurrency: 64, random: () => 0.999 });
    for (let id = 0; id < 400; id++) bed.submit(id);
    await advance(MINUTE);
    expect(bed.settled.size).toBe(400);
    expect(bed.events).not.toContain('open');
  });
});

describe('a service that is down when only a few lookups are left', () => {
  const failures: [string, Answer][] = [
    ['503', HTTP_503],
    ['an HTML page', HTML_PAGE],
    ['an HTML page with a 503', { ...HTTP_503, page: true } as Answer],
    ['a refused connection', CONNECTION_REFUSED],
    ['a cut connection', CONNECTION_CLOSED],
    ['500', HTTP_500],
  ];

  it.each(failures.flatMap(([name, answer]) => [1, 5, 9].map((lookups) => [name, lookups, answer] as const)))(
    '(%s, %d lookups, from the start) fails no lookup when it recovers',
    async (_, lookups, failure) => {
      for (const downMs of [40_000, 9 * MINUTE]) {
        const bed = testBed((__, ___, at) => (at < downMs ? failure : OK));
        for (let id = 0; id < lookups; id++) bed.submit(id);
        await advance(downMs - 1);
        expect([bed.settled.size, bed.fatal]).toEqual([0, []]);
        expect(bed.pool.outage?.forMs).toBeGreaterThan(30_000);
        await advance(MINUTE);
        expect([...bed.settled.values()].map(({ kind }) => kind)).toEqual(Array.from({ length: lookups }, () => 'ok'));
        expect(bed.events.filter((event) => event === 'open' || event === 'closed')).toEqual(['open', 'closed']);
        await bed.pool.drain();
      }
    },
  );

  it.each(failures)('(%s, after a hundred answers) fails no lookup when it recovers', async (_, failure) => {
    const beginsAt = 1_000;
    for (const left of [1, 5]) {
      const bed = testBed((__, ___, at) => (at >= beginsAt && at < beginsAt + 40_000 ? failure : OK));
      void readAll(bed, 100);
      await advance(beginsAt);
      expect(bed.settled.size).toBe(100);
      for (let id = 100; id < 100 + left; id++) bed.submit(id);
      await advance(39_000);
      expect(bed.settled.size).toBe(100);
      await advance(MINUTE);
      expect([...bed.settled.values()].filter(({ kind }) => kind === 'ok')).toHaveLength(100 + left);
      await bed.pool.drain();
    }
  });

  it.each(failures.filter(([name]) => name !== 'an HTML page'))(
    '(%s) ends the run with 69 after limits.maxOutageMs, and no lookup fails',
    async (_, failure) => {
      for (const lookups of [1, 5]) {
        const bed = testBed(() => failure, { maxOutageMs: 60_000 });
        for (let id = 0; id < lookups; id++) bed.submit(id);
        await advance(2 * MINUTE);
        expect(bed.fatal).toEqual([expect.objectContaining({ exitCode: 69, code: 'service_unavailable' })]);
        expect(bed.settled.size).toBe(0);
      }
    },
  );

  it('gets probes at growing intervals', async () => {
    const bed = testBed(() => HTTP_503);
    for (let id = 0; id < 5; id++) bed.submit(id);
    await advance(10 * MINUTE);
    // At most five attempts of each lookup, then one probe in 15 s.
    expect(bed.sent.length).toBeLessThanOrEqual(25 + 5 + 40);
  });
});

describe('a service that cannot be reached', () => {
  const failures: [string, number][] = [
    ['network', 0],
    ['timeout', 0],
    ['timeout', 200],
    ['http_502', 502],
    ['http_503', 503],
    ['http_504', 504],
    ['http_522', 522],
  ];
  it.each(failures)('(%s, status %d) costs even the last lookups no attempts', async (code, status) => {
    const failure: Answer = { kind: 'retryable', code, detail: '', retryAfterMs: null, meta: meta(status) };
    const bed = testBed((_, __, at) => (at < 9 * MINUTE ? failure : OK));
    for (let id = 0; id < 12; id++) bed.submit(id);
    await advance(11 * MINUTE);
    expect([...bed.settled.values()].filter((settled) => settled.kind === 'ok')).toHaveLength(12);
    expect(bed.fatal).toEqual([]);
  });
});
