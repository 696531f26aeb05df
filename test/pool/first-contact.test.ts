import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { stopTime } from '../limiter/virtual.ts';
import { HTTP_503, meta, OK, advance, testBed, type Answer, CONNECTION_REFUSED } from './scripted.ts';

beforeEach(stopTime);
afterEach(() => vi.useRealTimers());

const MINUTE = 60_000;

const REDIRECT: Answer = { kind: 'wrong_address', detail: 'answered 302 and points to https://elsewhere.example', meta: meta(302) };
const UNKNOWN_HOST: Answer = {
  ...CONNECTION_REFUSED,
  detail: 'there is no host nowhere.example (ENOTFOUND)',
  fault: 'no_such_host',
} as Answer;
const HTML_PAGE_405: Answer = { kind: 'rejected', code: 'http_405', detail: 'no', page: true, meta: meta(405) };

const NOT_FOUND: Answer = { kind: 'wrong_address', detail: 'POST http://localhost/v1/enrich answered 404', meta: meta(404) };
const PAGE_403: Answer = { kind: 'retryable', code: 'http_403', detail: 'Blocked', retryAfterMs: null, page: true, meta: meta(403) };
const PLAIN_403: Answer = { kind: 'denied', code: 'http_403', detail: 'RBAC: access denied', isForeign: true, meta: meta(403) };

describe.each([
  ['a 404 that is no miss', NOT_FOUND, 'http_404'],
  ['a 403 in HTML', PAGE_403, 'http_403'],
  ['a 403 in plain text', PLAIN_403, 'http_403'],
] as const)('%s', (_, odd, code) => {
  it('costs one attempt when the service has already answered', async () => {
    const bed = testBed((id, attempt) => (id === 30 || (id % 7 === 5 && attempt === 1) ? odd : OK));
    for (let id = 0; id < 50; id++) bed.submit(id);
    await advance(MINUTE);
    expect(bed.fatal).toEqual([]);
    expect(bed.settled.size).toBe(50);
    expect(bed.settled.get(30)).toMatchObject({ kind: 'failed', rejected: false, code, attempts: 5 });
    expect([...bed.settled.values()].filter(({ kind }) => kind === 'ok')).toHaveLength(49);
  });

  it('begins an outage when nothing else comes for a while, and costs no lookup its answer', async () => {
    const bed = testBed((id, _attempt, at) => (id >= 10 && at < 60_000 ? odd : OK));
    for (let id = 0; id < 50; id++) bed.submit(id);
    await advance(10 * MINUTE);
    expect(bed.fatal).toEqual([]);
    expect([...bed.settled.values()].filter(({ kind }) => kind === 'ok')).toHaveLength(50);
    expect(bed.events).toContain('open');
  });
});

describe('a redirect', () => {
  it('costs one attempt when the service has already answered', async () => {
    const bed = testBed((id, attempt) => (id === 7 || (attempt === 1 && id % 4 === 1) ? REDIRECT : OK));
    for (let id = 0; id < 50; id++) bed.submit(id);
    await advance(MINUTE);
    expect(bed.fatal).toEqual([]);
    expect(bed.settled.size).toBe(50);
    expect(bed.settled.get(7)).toMatchObject({ kind: 'failed', rejected: false, status: 302, code: 'http_302', attempts: 5 });
    expect(bed.settled.get(9)).toMatchObject({ kind: 'ok', attempts: 2 });
  });

  it('costs one attempt when the service has answered an earlier run of the job', async () => {
    const bed = testBed((_, attempt) => (attempt <= 2 ? REDIRECT : OK), { hasAnswered: true });
    for (let id = 0; id < 20; id++) bed.submit(id);
    await advance(10 * MINUTE);
    expect(bed.fatal).toEqual([]);
    expect([...bed.settled.values()].every(({ kind }) => kind === 'ok')).toBe(true);
    expect(bed.settled.size).toBe(20);
  });
});

describe('an address that may be wrong', () => {
  it.each([
    ['redirects', REDIRECT],
    ['a host that does not exist', UNKNOWN_HOST],
    ['a refusal in HTML', HTML_PAGE_405],
    ['a 403 in HTML', PAGE_403],
  ] as const)('ends the run within 10 to 15 s when all lookups meet %s, with any retry jitter', async (_, answer) => {
    for (const lookups of [1, 5, 10, 50]) {
      for (const jitter of [0, 0.5, 0.999]) {
        const startedAt = performance.now();
        const endedAfterMs: number[] = [];
        const bed = testBed(() => answer, {
          concurrency: 8,
          random: () => jitter,
          onFatal: (error) => {
            expect(error).toMatchObject({ exitCode: 78 });
            endedAfterMs.push(performance.now() - startedAt);
          },
        });
        for (let id = 0; id < lookups; id++) bed.submit(id);
        await advance(MINUTE);
        expect(endedAfterMs).toHaveLength(1);
        expect(endedAfterMs[0]).toBeGreaterThanOrEqual(10_000);
        expect(endedAfterMs[0]).toBeLessThanOrEqual(15_000);
        expect(bed.settled.size).toBe(0);
      }
    }
  });

  it.each([
    ['redirects', REDIRECT],
    ['a host that does not exist', UNKNOWN_HOST],
  ] as const)('does not end a run that meets %s only for its first 5 s', async (_, answer) => {
    for (const lookups of [1, 5, 50]) {
      const bed = testBed((_id, _attempt, at) => (at < 5_000 ? answer : OK), { concurrency: 8 });
      for (let id = 0; id < lookups; id++) bed.submit(id);
      await advance(10 * MINUTE);
      expect(bed.fatal).toEqual([]);
      expect([...bed.settled.values()].filter(({ kind }) => kind === 'ok')).toHaveLength(lookups);
    }
  });

  it('gets a new period of doubt after a gateway reports that the service is down', async () => {
    const bed = testBed((_id, _attempt, at) => (at < 9_000 ? UNKNOWN_HOST : at < 60_000 ? HTTP_503 : OK));
    for (let id = 0; id < 5; id++) bed.submit(id);
    await advance(10 * MINUTE);
    expect([bed.fatal, bed.settled.size]).toEqual([[], 5]);
  });
});
