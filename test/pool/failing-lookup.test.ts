import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { stopTime } from '../limiter/virtual.ts';
import { attemptsOf, HTTP_500, HTTP_503, meta, OK, advance, readAll, testBed, CONNECTION_REFUSED, type Answer } from './scripted.ts';

beforeEach(stopTime);
afterEach(() => vi.useRealTimers());

const MINUTE = 60_000;

describe('an answer of a shape that says nothing', () => {
  const UNFIT: Answer = { kind: 'retryable', code: 'bad_body', detail: 'not JSON', retryAfterMs: null, unfit: true, meta: meta(200) };

  it.each([1, 3, 9])('costs a lookup two attempts, and begins no outage, when %d lookups get nothing else', async (lookups) => {
    for (const hasAnswered of [true, false]) {
      const bed = testBed(() => UNFIT, { hasAnswered });
      for (let id = 0; id < lookups; id++) bed.submit(id);
      await advance(MINUTE);
      expect([...bed.settled.values()]).toEqual(
        Array(lookups).fill(expect.objectContaining({ kind: 'failed', rejected: true, attempts: 2 })),
      );
      expect(bed.sent).toHaveLength(2 * lookups);
      expect([bed.fatal, bed.events.includes('open')]).toEqual([[], false]);
    }
  });

  it('begins no outage where it counts as an answer, however many lookups get nothing else', async () => {
    const bed = testBed(() => UNFIT, { hasAnswered: true, unfitIsAnswer: true });
    for (let id = 0; id < 60; id++) bed.submit(id);
    await advance(MINUTE);
    expect([...bed.settled.values()]).toEqual(Array(60).fill(expect.objectContaining({ kind: 'failed', rejected: true, attempts: 2 })));
    expect(bed.sent).toHaveLength(120);
    expect([bed.fatal, bed.events.includes('open')]).toEqual([[], false]);
  });

  it('ends an outage where it counts as an answer: the service is up', async () => {
    const bed = testBed((_id, _attempt, at) => (at < 5_000 ? HTTP_503 : UNFIT), { hasAnswered: true, unfitIsAnswer: true });
    for (let id = 0; id < 30; id++) bed.submit(id);
    await advance(2 * MINUTE);
    expect([...bed.settled.values()]).toEqual(Array(30).fill(expect.objectContaining({ kind: 'failed', code: 'bad_body' })));
    expect([bed.fatal, bed.events.filter((event) => event === 'open').length]).toEqual([[], 1]);
  });

  it('costs a lookup two attempts while calls go one by one, until the service recovers', async () => {
    const bed = testBed((_id, _attempt, at) => (at < 60_000 ? UNFIT : OK), { hasAnswered: true });
    for (let id = 0; id < 200; id++) bed.submit(id);
    await advance(10 * MINUTE);
    expect(Math.max(...Array.from({ length: 200 }, (_, id) => attemptsOf(bed, id)))).toBe(2);
    expect([...bed.settled.values()].filter(({ kind }) => kind === 'ok').length).toBeGreaterThan(100);
    expect(bed.fatal).toEqual([]);
  });
});

describe('a lookup that always fails', () => {
  it.each([1, 2, 16])('fails alone within seconds among four good ones, at any position (%d at once)', async (concurrency) => {
    for (const failing of [0, 2, 3]) {
      const bed = testBed((id) => (id === failing ? HTTP_500 : OK), { concurrency });
      for (let id = 0; id < 5; id++) bed.submit(id);
      await advance(10_000);
      expect(bed.settled.get(failing)).toMatchObject({ kind: 'failed', code: 'http_500', attempts: 5 });
      expect(bed.settled.size).toBe(5);
      expect(bed.events).not.toContain('open');
    }
  });

  it('fails after a fifth of limits.maxOutageMs when it is the last one', async () => {
    const bed = testBed((id) => (id === 4 ? HTTP_500 : OK), { concurrency: 1 });
    for (let id = 0; id < 5; id++) bed.submit(id);
    await advance(119_000);
    expect(bed.settled.size).toBe(4);
    // The lookup or the service may be at fault, so the pool does not report the service as down.
    expect(bed.pool.outage?.lastLookups).toBe('http_500');
    await advance(MINUTE);
    expect(bed.settled.get(4)).toMatchObject({ kind: 'failed', code: 'http_500' });
    expect(bed.fatal).toEqual([]);
  });

  it.each([1, 5, 9])('fails long before limits.maxOutageMs when a later run has only such lookups (%d)', async (lookups) => {
    const bed = testBed(() => HTTP_500, { hasAnswered: true });
    for (let id = 0; id < lookups; id++) bed.submit(id);
    await advance(5 * MINUTE);
    expect([...bed.settled.values()].filter(({ kind }) => kind === 'failed')).toHaveLength(lookups);
    expect(bed.fatal).toEqual([]);
  });

  it.each([1, 5])('fails again after limits.maxOutageMs when a retry run has only lookups with a gateway error (%d)', async (lookups) => {
    const bed = testBed(() => HTTP_503, { hasAnswered: true, isRetryRun: true });
    for (let id = 0; id < lookups; id++) bed.submit(id);
    await advance(10 * MINUTE);
    expect(bed.settled.size).toBe(0);
    await advance(2 * MINUTE);
    expect([...bed.settled.values()].filter(({ kind }) => kind === 'failed')).toHaveLength(lookups);
    expect(bed.fatal).toEqual([]);
  });

  it.each([
    ['the connection is refused', CONNECTION_REFUSED, true],
    ['the service has never answered', HTTP_500, false],
  ] as const)('counts as an outage when %s', async (_why, answer, hasAnswered) => {
    const bed = testBed(() => answer, { hasAnswered });
    bed.submit(0);
    await advance(MINUTE);
    expect(bed.pool.outage?.lastLookups).toBeNull();
  });

  it('ends a retry run with 69 when the connection is refused', async () => {
    const bed = testBed(() => CONNECTION_REFUSED, { hasAnswered: true, isRetryRun: true });
    bed.submit(0);
    await advance(11 * MINUTE);
    expect(bed.fatal).toEqual([expect.objectContaining({ exitCode: 69 })]);
    expect(bed.settled.size).toBe(0);
  });

  it('fails within seconds when it can be divided, although the service has answered no other', async () => {
    const bed = testBed(() => HTTP_500);
    bed.submit(0, { divisible: true });
    await advance(10_000);
    expect(bed.settled.get(0)).toMatchObject({ kind: 'failed', attempts: 5 });
    expect(bed.events).not.toContain('open');
  });

  it('fails after a fifth of limits.maxOutageMs when it can be divided and a gateway answers', async () => {
    const bed = testBed(() => HTTP_503);
    bed.submit(0, { divisible: true });
    await advance(119_000);
    expect(bed.settled.size).toBe(0);
    await advance(MINUTE);
    expect(bed.settled.get(0)).toMatchObject({ kind: 'failed', code: 'http_503' });
  });
});

describe('answers of 500', () => {
  it.each([
    [10, 1],
    [12, 4],
    [13, 1],
    [40, 16],
    [100, 4],
  ])('fail the last %d lookups of a job, %d at once, long before limits.maxOutageMs', async (lookups, concurrency) => {
    const bed = testBed((id) => (id < 30 ? OK : HTTP_500), { concurrency });
    void readAll(bed, 30 + lookups);
    await advance(7 * MINUTE);
    expect(bed.fatal).toEqual([]);
    expect(bed.settled.size).toBe(30 + lookups);
    expect(
      [...bed.settled.values()].filter((settled) => settled.kind === 'failed' && settled.attempts === 5 && settled.code === 'http_500'),
    ).toHaveLength(lookups);
    for (let id = 30; id < 30 + lookups; id++) expect(attemptsOf(bed, id)).toBe(5);
  });

  it('let the pool probe with each lookup in turn', async () => {
    const bed = testBed(() => HTTP_500);
    for (let id = 0; id < 12; id++) bed.submit(id);
    await advance(7 * MINUTE);
    const probes = bed.sent.slice(-36).map(({ id }) => id);
    for (let i = 0; i + 12 <= probes.length; i += 12) expect(new Set(probes.slice(i, i + 12)).size).toBe(12);
  });

  it('fail no lookup when they end within minutes, even if only 12 lookups are left', async () => {
    const bed = testBed((_, __, at) => (at < 3 * MINUTE ? HTTP_500 : OK));
    for (let id = 0; id < 12; id++) bed.submit(id);
    await advance(7 * MINUTE);
    expect([...bed.settled.values()].filter((settled) => settled.kind === 'ok')).toHaveLength(12);
  });

  it.each([1, 4, 32])(
    'to all lookups in the middle of a large job fail none when the service recovers (%d at once)',
    async (concurrency) => {
      const bed = testBed((_, __, at) => (at > 1_000 && at < 9 * MINUTE ? HTTP_500 : OK), { concurrency });
      void readAll(bed, 20_000);
      await advance(8 * MINUTE);
      expect(bed.pool.outage).not.toBeNull();
      await advance(10 * MINUTE);
      expect(bed.fatal).toEqual([]);
      expect(bed.settled.size).toBe(20_000);
      expect([...bed.settled.values()].every((settled) => settled.kind === 'ok')).toBe(true);
    },
  );

  it('to all lookups in the middle of a large job end the run with 69 after limits.maxOutageMs', async () => {
    const bed = testBed((_, __, at) => (at > 1_000 ? HTTP_500 : OK));
    void readAll(bed, 20_000);
    await advance(11 * MINUTE);
    expect(bed.fatal).toEqual([expect.objectContaining({ exitCode: 69, code: 'service_unavailable' })]);
    expect([...bed.settled.values()].every((settled) => settled.kind === 'ok')).toBe(true);
  });

  it.each([1, 4, 16])('to 100 lookups in a row fail those alone (%d at once)', async (concurrency) => {
    const bed = testBed((id) => (id >= 500 && id < 600 ? HTTP_500 : OK), { concurrency });
    void readAll(bed, 1_000);
    await advance(10 * MINUTE);
    expect(bed.fatal).toEqual([]);
    expect(bed.settled.size).toBe(1_000);
    expect(
      [...bed.settled]
        .filter(([, settled]) => settled.kind === 'failed')
        .map(([id]) => id)
        .sort((a, b) => a - b),
    ).toEqual(Array.from({ length: 100 }, (_, i) => 500 + i));
  });
});
