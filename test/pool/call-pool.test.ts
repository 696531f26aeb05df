import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CallPoolOptions } from '../../src/pool/call-pool.ts';
import { wasNeverSent } from '../../src/pool/circuit.ts';
import { isPending, stopTime } from '../limiter/virtual.ts';
import { attemptsOf, CUT, DOWN, GONE, later, meta, MISS, OK, PAGE, pass, readAll, REJECTED, testBed, type Answer, UNREACHABLE } from './scripted.ts';

beforeEach(stopTime);
afterEach(() => vi.useRealTimers());

const MINUTE = 60_000;

describe('what one call comes to', () => {
  it('settles hits, misses, suppressed people and refused requests at the first attempt', async () => {
    const answers = [OK, MISS, { kind: 'suppressed', meta: meta(451) }, REJECTED] as const;
    const bed = testBed((id) => answers[id] ?? OK);
    for (const id of answers.keys()) bed.submit(id);
    await pass(100);
    expect([...bed.settled.entries()].sort(([a], [b]) => a - b).map(([, settled]) => settled)).toEqual([
      { kind: 'ok', value: 'yes', attempts: 1, requestId: 'r-200' },
      { kind: 'miss', status: 404, attempts: 1, requestId: 'r-404' },
      { kind: 'suppressed', status: 451, attempts: 1, requestId: 'r-451' },
      { kind: 'failed', rejected: true, status: 422, code: 'validation_failed', attempts: 1, requestId: 'r-422' },
    ]);
    expect(bed.sent).toHaveLength(4);
    expect(bed.fatal).toEqual([]);
  });

  it('gives a failing lookup five attempts, further and further apart, then fails it alone', async () => {
    const bed = testBed((id) => (id === 3 ? DOWN : OK));
    for (let id = 0; id < 20; id++) bed.submit(id);
    await pass(MINUTE);
    expect(bed.settled.get(3)).toEqual({ kind: 'failed', rejected: false, status: 500, code: 'http_500', attempts: 5, requestId: 'r-500' });
    expect([...bed.settled.values()].filter((settled) => settled.kind === 'ok')).toHaveLength(19);
    const at = bed.sent.filter(({ id }) => id === 3).map((sent) => sent.at);
    expect(at.slice(1).map((t, i) => t - (at[i] as number))).toEqual([135, 260, 510, 1_010]);
    expect(bed.events.filter((event) => event === 'retrying http_500')).toHaveLength(4);
  });

  it('counts the attempts of a lookup that is answered in the end', async () => {
    const bed = testBed((_, attempt) => (attempt < 5 ? DOWN : OK));
    bed.submit(0);
    await pass(MINUTE);
    expect(bed.settled.get(0)).toMatchObject({ kind: 'ok', attempts: 5 });
  });

  it('waits at least as long as a failing answer asks for', async () => {
    const bed = testBed((_, attempt) => (attempt === 1 ? { ...DOWN, retryAfterMs: 9_000 } : OK));
    bed.submit(0);
    await pass(9_009);
    expect(bed.sent).toHaveLength(1);
    await pass(1);
    expect(bed.sent).toHaveLength(2);
  });

  it.each([408, 409, 425, 500, 502, 504])('ends the run with 69 when a failing answer (%d) asks for longer than the job may wait', async (status) => {
    const bed = testBed(() => ({ kind: 'retryable', code: `http_${status}`, detail: '', retryAfterMs: 7_200_000, meta: meta(status) }));
    bed.submit(0);
    await pass(100);
    expect(bed.fatal).toEqual([expect.objectContaining({ exitCode: 69, code: 'wait_too_long', message: 'the service asks to wait 7200 s, longer than limits.maxWaitMs' })]);
    expect(bed.settled.size).toBe(0);
  });

  it('waits longer than a timer can, where the job may', async () => {
    const asked = 2_592_000_000;
    const bed = testBed((_, attempt) => (attempt === 1 ? { ...DOWN, retryAfterMs: asked } : OK), { maxWaitMs: 2 * asked });
    bed.submit(0);
    await pass(asked + 9);
    expect(bed.sent).toHaveLength(1);
    await pass(1);
    expect(bed.sent).toHaveLength(2);
    await pass(10);
    expect(bed.settled.get(0)).toMatchObject({ kind: 'ok', attempts: 2 });
  });

  it('leaves no lookup a shorter wait than was asked for because the service is down', async () => {
    const bed = testBed((_, __, at) => (at < 5 * MINUTE ? { ...GONE, code: 'http_502', retryAfterMs: 90_000, meta: meta(502) } : OK));
    for (let id = 0; id < 14; id++) bed.submit(id);
    await pass(20 * MINUTE);
    expect(bed.settled.size).toBe(14);
    const last = new Map<number, number>();
    for (const { id, at } of bed.sent) {
      expect(at - (last.get(id) ?? -Infinity)).toBeGreaterThanOrEqual(90_010);
      last.set(id, at);
    }
  });

  it('takes no attempt away for being throttled', async () => {
    const bed = testBed((_, attempt) => (attempt <= 30 ? later(1_000) : attempt < 35 ? DOWN : OK));
    bed.submit(0);
    await pass(2 * MINUTE);
    expect(bed.settled.get(0)).toMatchObject({ kind: 'ok', attempts: 5 });
    expect(bed.sent).toHaveLength(35);
  });

  it.each([
    ['401', { kind: 'denied', code: 'unauthorized', detail: '', meta: meta(401) }, 77, 'key_refused'],
    ['402', { kind: 'denied', code: 'insufficient_credits', detail: 'none left', meta: meta(402) }, 77, 'out_of_credits'],
    ['a wrong address', { kind: 'wrong_address', detail: 'a page', meta: meta(404) }, 78, 'not_the_service'],
  ] as const)('ends the run for %s, once, and sends nothing more', async (_, answer, exitCode, code) => {
    const bed = testBed((id) => (id === 0 ? answer : [answer, 50]));
    for (let id = 0; id < 50; id++) bed.submit(id);
    await pass(MINUTE);
    expect(bed.fatal).toEqual([expect.objectContaining({ exitCode, code })]);
    expect(bed.sent).toHaveLength(4);
    expect(bed.settled.size).toBe(0);
  });

  it.each([401, 403, 421])('asks again with another key what was refused with %d, at no cost in attempts', async (status) => {
    const renewed: number[] = [];
    const bed = testBed((id, attempt) => (id < 12 && attempt === 1 ? [{ kind: 'denied', code: 'unauthorized', detail: '', keyVersion: 1, meta: meta(status) }, id === 3 ? 5_000 : 10] : OK), {
      renewKey: async (version) => {
        renewed.push(version);
        return { isNew: true, found: '' };
      },
    });
    for (let id = 0; id < 50; id++) bed.submit(id);
    await pass(MINUTE);
    expect([bed.fatal, bed.settled.size, renewed.length]).toEqual([[], 50, 12]);
    expect([...bed.settled.values()].every((settled) => settled.kind === 'ok' && settled.attempts === 1)).toBe(true);
    expect(bed.sent).toHaveLength(62);
    expect(bed.events.filter((event) => event.startsWith('retrying'))).toEqual([]);
  });

  it('ends the run with 77 when the key is the same after it was read again, and says so; credits that are used up read nothing', async () => {
    const renewals: number[] = [];
    const renewKey: CallPoolOptions['renewKey'] = async (version) => {
      renewals.push(version);
      return { isNew: false, found: 'it holds no other key' };
    };
    const refused = testBed(() => ({ kind: 'denied', code: 'unauthorized', detail: '', keyVersion: 7, meta: meta(401) }), { renewKey, concurrency: 1 });
    refused.submit(0);
    await pass(100);
    expect(refused.fatal).toEqual([expect.objectContaining({ exitCode: 77, code: 'key_refused', message: expect.stringContaining('read again: it holds no other key') })]);
    const empty = testBed(() => ({ kind: 'denied', code: 'insufficient_credits', detail: '', keyVersion: 7, meta: meta(402) }), { renewKey });
    empty.submit(0);
    await pass(100);
    expect([empty.fatal, renewals]).toEqual([[expect.objectContaining({ code: 'out_of_credits' })], [7]]);
  });

  const REDIRECT: Answer = { kind: 'wrong_address', detail: 'answered 302 and points to https://elsewhere.example', meta: meta(302) };

  it('takes a redirect of a service that has answered for the failure of one attempt', async () => {
    const bed = testBed((id, attempt) => (id === 7 || attempt === 1 && id % 4 === 1 ? REDIRECT : OK));
    for (let id = 0; id < 50; id++) bed.submit(id);
    await pass(MINUTE);
    expect(bed.fatal).toEqual([]);
    expect(bed.settled.size).toBe(50);
    expect(bed.settled.get(7)).toMatchObject({ kind: 'failed', rejected: false, status: 302, code: 'http_302', attempts: 5 });
    expect(bed.settled.get(9)).toMatchObject({ kind: 'ok', attempts: 2 });
  });

  it('knows a service that has answered this job before', async () => {
    const bed = testBed((_, attempt) => (attempt <= 2 ? REDIRECT : OK), { hasAnswered: true });
    for (let id = 0; id < 20; id++) bed.submit(id);
    await pass(10 * MINUTE);
    expect(bed.fatal).toEqual([]);
    expect([...bed.settled.values()].every(({ kind }) => kind === 'ok')).toBe(true);
    expect(bed.settled.size).toBe(20);
  });

  const NO_HOST: Answer = { ...UNREACHABLE, detail: 'there is no host nowhere.example (ENOTFOUND)', fault: 'no_such_host' } as Answer;
  const PAGE_405: Answer = { kind: 'rejected', code: 'http_405', detail: 'no', page: true, meta: meta(405) };

  it.each([['redirects', REDIRECT], ['a host that does not exist', NO_HOST], ['a refusal in HTML', PAGE_405]] as const)('ends the run for %s and nothing else, between 10 and 15 s, of one lookup or of many, however the retries fall', async (_, answer) => {
    for (const lookups of [1, 5, 10, 50]) {
      for (const luck of [0, 0.5, 0.999]) {
        const begun = performance.now();
        const ended: number[] = [];
        const bed = testBed(() => answer, { concurrency: 8, random: () => luck, onFatal: (error) => {
          expect(error).toMatchObject({ exitCode: 78 });
          ended.push(performance.now() - begun);
        } });
        for (let id = 0; id < lookups; id++) bed.submit(id);
        await pass(MINUTE);
        expect(ended).toHaveLength(1);
        expect(ended[0]).toBeGreaterThanOrEqual(10_000);
        expect(ended[0]).toBeLessThanOrEqual(15_000);
        expect(bed.settled.size).toBe(0);
      }
    }
  });

  it.each([['redirects', REDIRECT], ['a host that does not exist', NO_HOST]] as const)('goes on after a hiccup of 5 s (%s), of one lookup or of many', async (_, answer) => {
    for (const lookups of [1, 5, 50]) {
      const bed = testBed((_id, _attempt, at) => (at < 5_000 ? answer : OK), { concurrency: 8 });
      for (let id = 0; id < lookups; id++) bed.submit(id);
      await pass(10 * MINUTE);
      expect(bed.fatal).toEqual([]);
      expect([...bed.settled.values()].filter(({ kind }) => kind === 'ok')).toHaveLength(lookups);
    }
  });

  it('begins to doubt the address anew after a gateway has said that the service is down', async () => {
    const bed = testBed((_id, _attempt, at) => (at < 9_000 ? NO_HOST : at < 60_000 ? GONE : OK));
    for (let id = 0; id < 5; id++) bed.submit(id);
    await pass(10 * MINUTE);
    expect([bed.fatal, bed.settled.size]).toEqual([[], 5]);
  });

  it('makes no more calls at once than there can be connections', async () => {
    for (const concurrency of ['auto', 40] as const) {
      const bed = testBed(() => [OK, 50], { concurrency, mostAtOnce: 3 });
      for (let id = 0; id < 60; id++) bed.submit(id);
      await pass(MINUTE);
      expect(bed.settled.size).toBe(60);
      expect(bed.most).toBe(3);
    }
  });

  it('never sends more than it may', async () => {
    let left = 7;
    const bed = testBed((id) => (id === 2 ? DOWN : OK), { mayCall: () => left-- > 0 });
    for (let id = 0; id < 50; id++) bed.submit(id);
    await pass(MINUTE);
    expect(bed.sent).toHaveLength(7);
    expect(bed.fatal).toEqual([expect.objectContaining({ exitCode: 77, code: 'max_calls' })]);
    // What was sent before is still settled: it has been paid for.
    expect(bed.settled.size).toBe(6);
  });

  it('waits at the limit for what is in flight: what nobody was there for is given back, and others may go', async () => {
    let left = 3;
    const none = (): void => undefined;
    const events = { sent: () => void left--, answered: (_: unknown, result: Answer) => void (left += Number(wasNeverSent(result))), retrying: none, wentDown: none, cameBack: none } as CallPoolOptions['events'];
    const bed = testBed((id) => (id < 2 ? UNREACHABLE : OK), { mayCall: () => left > 0, concurrency: 8, events });
    for (let id = 0; id < 5; id++) bed.submit(id);
    await pass(25);
    expect([bed.fatal, [...bed.settled.keys()]]).toEqual([[], [2, 3, 4]]);
    expect(bed.sent.map(({ id }) => id)).toEqual([0, 1, 2, 3, 4]);
  });
});

describe('a service that asks to wait', () => {
  it('ends the run with 69 when it asks for longer than the job may wait', async () => {
    const bed = testBed(() => later(900_001));
    for (let id = 0; id < 20; id++) bed.submit(id);
    await pass(100);
    expect(bed.fatal).toEqual([expect.objectContaining({ exitCode: 69, code: 'wait_too_long' })]);
    expect(bed.settled.size).toBe(0);
  });

  it('waits as long as the job may, with nothing sent meanwhile', async () => {
    const bed = testBed((_, attempt) => (attempt === 1 ? later(900_000) : OK));
    for (let id = 0; id < 4; id++) bed.submit(id);
    await pass(900_000);
    expect(bed.fatal).toEqual([]);
    expect(bed.sent).toHaveLength(4);
    await pass(100);
    expect(bed.settled.size).toBe(4);
  });

  it('adds up waits with no answer between them: it does not wait for ever', async () => {
    const bed = testBed(() => later(60_000));
    bed.submit(0);
    await pass(14 * MINUTE);
    expect(bed.fatal).toEqual([]);
    await pass(2 * MINUTE);
    expect(bed.fatal).toEqual([
      expect.objectContaining({
        exitCode: 69,
        code: 'wait_too_long',
        message: 'the service has said nothing but "later" for 841 s and asks to wait another 60 s, together longer than limits.maxWaitMs',
      }),
    ]);
  });

  it.each([[429, 60_000], [503, 2_000]])('fails a lookup that alone is put off each time (%d), as late as the job may wait', async (status, waitMs) => {
    const bed = testBed((id) => (id === 5 ? { kind: 'throttled', retryAfterMs: waitMs, meta: meta(status) } : OK));
    for (let id = 0; id < 2_000; id++) bed.submit(id);
    await pass(13 * MINUTE);
    expect(bed.settled.has(5)).toBe(false);
    await pass(3 * MINUTE);
    expect(bed.settled.get(5)).toMatchObject({ kind: 'failed', rejected: false, status, code: `http_${status}`, requestId: `r-${status}` });
    await pass(MINUTE);
    expect(bed.fatal).toEqual([]);
    expect([...bed.settled.values()].filter((settled) => settled.kind === 'ok')).toHaveLength(1_999);
  });

  it('begins to count anew after an answer', async () => {
    const bed = testBed((_, attempt) => (attempt <= 10 ? later(60_000) : OK), { concurrency: 1 });
    for (let id = 0; id < 4; id++) bed.submit(id);
    await pass(45 * MINUTE);
    expect(bed.fatal).toEqual([]);
    expect(bed.settled.size).toBe(4);
  });

  it.each([1, 4])('does not hide a long wait in the quota headers of a good answer (%d at once)', async (concurrency) => {
    const usedUp = { ...OK, meta: { ...meta(200), headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '7200000' } } };
    const bed = testBed(() => usedUp, { concurrency });
    for (let id = 0; id < 20; id++) bed.submit(id);
    await pass(100);
    expect(bed.settled.size).toBe(concurrency);
    expect(bed.fatal).toEqual([expect.objectContaining({ exitCode: 69, code: 'wait_too_long' })]);
  });

  it('does not hide it from calls that wait for a permit already', async () => {
    const usedUp = (resetMs: number): typeof OK => ({ ...OK, meta: { ...meta(200), headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(resetMs) } } });
    const bed = testBed((id) => (id === 0 ? [usedUp(7_200_000), 1_000] : usedUp(10_000)), { concurrency: 2 });
    for (let id = 0; id < 3; id++) bed.submit(id);
    await pass(999);
    expect(bed.fatal).toEqual([]);
    expect(bed.sent).toHaveLength(2);
    await pass(1);
    expect(bed.fatal).toEqual([expect.objectContaining({ exitCode: 69, code: 'wait_too_long' })]);
  });

  it('lets a run end that needs nothing more of a quota that is used up', async () => {
    const usedUp = { ...OK, meta: { ...meta(200), headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '7200000' } } };
    const bed = testBed(() => usedUp);
    bed.submit(0);
    await pass(100);
    expect(bed.settled.size).toBe(1);
    expect(bed.fatal).toEqual([]);
  });
});

describe('a service that is down', () => {
  it('is noticed after ten lookups, asked one at a time, and costs no lookup its attempts', async () => {
    const outage = 4 * MINUTE;
    const bed = testBed((_, __, at) => (at < outage ? GONE : OK));
    for (let id = 0; id < 40; id++) bed.submit(id);
    await pass(MINUTE);
    expect(bed.pool.outage).not.toBeNull();
    const noticed = bed.sent.length;
    expect(noticed).toBeLessThan(25);
    await pass(outage - MINUTE - 1);
    // One probe every 15 s at most.
    expect(bed.sent.length - noticed).toBeLessThanOrEqual(13);
    bed.most = 0;
    await pass(MINUTE);
    expect(bed.settled.size).toBe(40);
    expect([...bed.settled.values()].every((settled) => settled.kind === 'ok')).toBe(true);
    expect(bed.most).toBe(4);
    expect(bed.events.filter((event) => event === 'open' || event === 'closed')).toEqual(['open', 'closed']);
    expect(bed.pool.outage).toBeNull();
  });

  it.each([8_000, 10_000, 60_000])('asks for the last time after limits.maxOutageMs (%d), and ends the run right then', async (maxOutageMs) => {
    for (const retryAfterMs of [null, 30_000]) {
      const bed = testBed(() => [{ ...GONE, retryAfterMs } as typeof GONE, 10], { maxOutageMs });
      // The first ten failures open the circuit, at 10 to 30 ms, or when the wait asked for is over.
      for (let id = 0; id < 40; id++) bed.submit(id);
      for (let ms = 0; bed.pool.outage === null && ms < MINUTE; ms += 10) await pass(10);
      await pass(maxOutageMs - 100);
      expect(bed.fatal).toEqual([]);
      await pass(200);
      expect(bed.fatal).toEqual([expect.objectContaining({ exitCode: 69, code: 'service_unavailable' })]);
    }
  });

  it('ends the run with 69 when it stays down', async () => {
    const bed = testBed(() => GONE, { maxOutageMs: 60_000 });
    for (let id = 0; id < 40; id++) bed.submit(id);
    await pass(59_000);
    expect(bed.fatal).toEqual([]);
    await pass(20_000);
    expect(bed.fatal).toEqual([expect.objectContaining({ exitCode: 69, code: 'service_unavailable' })]);
    expect(bed.settled.size).toBe(0);
    const { length } = bed.sent;
    await pass(10 * MINUTE);
    expect(bed.sent).toHaveLength(length);
  });

  it.each([['a miss', MISS], ['a refused request', REJECTED], ['a wait', later(2_000)]])('is back when a probe brings %s', async (_, first) => {
    let firstAfter: typeof OK | null = first;
    const bed = testBed((_, __, at) => {
      if (at < 5_000) return DOWN;
      const answer = firstAfter ?? OK;
      firstAfter = null;
      return answer;
    });
    for (let id = 0; id < 40; id++) bed.submit(id);
    await pass(MINUTE);
    expect(bed.settled.size).toBe(40);
    expect(bed.pool.outage).toBeNull();
  });

  it('is not taken for down by a lookup that others are answered beside', async () => {
    const bed = testBed((id) => (id === 0 ? UNREACHABLE : OK));
    bed.submit(0);
    for (let id = 1; id < 200; id++) {
      bed.submit(id);
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(bed.settled.get(0)?.kind).toBe('failed');
    expect(bed.settled.size).toBe(200);
  });

  it('is not taken for down because of one lookup among good ones', async () => {
    const bed = testBed((id) => (id % 10 === 0 ? DOWN : OK));
    for (let id = 0; id < 1_000; id++) bed.submit(id);
    await pass(MINUTE);
    expect(bed.events).not.toContain('open');
    expect([...bed.settled].filter(([, settled]) => settled.kind === 'failed').map(([id]) => id % 10)).toEqual(Array.from({ length: 100 }, () => 0));
    expect(bed.settled.size).toBe(1_000);
  });

  it('is not taken for down because many lookups that failed before are left over at the end', async () => {
    // Each poisoned lookup takes seconds to fail for good, so they pile up: here fifty of them outlast the last good one.
    const bed = testBed((id) => (id % 8 === 0 ? DOWN : OK), { concurrency: 64, random: () => 0.999 });
    for (let id = 0; id < 400; id++) bed.submit(id);
    await pass(MINUTE);
    expect(bed.settled.size).toBe(400);
    expect(bed.events).not.toContain('open');
  });
});

describe('a service that is down when only a few lookups are left', () => {
  const ways: [string, Answer][] = [['503', GONE], ['an HTML page', PAGE], ['an HTML page with a 503', { ...GONE, page: true } as Answer], ['a refused connection', UNREACHABLE], ['a cut connection', CUT], ['500', DOWN]];

  it.each(ways.flatMap(([name, answer]) => [1, 5, 9].map((lookups) => [name, lookups, answer] as const)))('(%s, %d of them, from the start) is waited for: none fails', async (_, lookups, gone) => {
    for (const downMs of [40_000, 9 * MINUTE]) {
      const bed = testBed((__, ___, at) => (at < downMs ? gone : OK));
      for (let id = 0; id < lookups; id++) bed.submit(id);
      await pass(downMs - 1);
      expect([bed.settled.size, bed.fatal]).toEqual([0, []]);
      expect(bed.pool.outage?.forMs).toBeGreaterThan(30_000);
      await pass(MINUTE);
      expect([...bed.settled.values()].map(({ kind }) => kind)).toEqual(Array.from({ length: lookups }, () => 'ok'));
      expect(bed.events.filter((event) => event === 'open' || event === 'closed')).toEqual(['open', 'closed']);
      await bed.pool.drain();
    }
  });

  it.each(ways)('(%s, after a thousand answers) is waited for: none fails', async (_, gone) => {
    const beginsAt = 1_000;
    for (const left of [1, 5]) {
      const bed = testBed((__, ___, at) => (at >= beginsAt && at < beginsAt + 40_000 ? gone : OK));
      void readAll(bed, 100);
      await pass(beginsAt);
      expect(bed.settled.size).toBe(100);
      for (let id = 100; id < 100 + left; id++) bed.submit(id);
      await pass(39_000);
      expect(bed.settled.size).toBe(100);
      await pass(MINUTE);
      expect([...bed.settled.values()].filter(({ kind }) => kind === 'ok')).toHaveLength(100 + left);
      await bed.pool.drain();
    }
  });

  it.each(ways.filter(([name]) => name !== 'an HTML page'))('(%s) for too long ends the run with 69, and fails none', async (_, gone) => {
    for (const lookups of [1, 5]) {
      const bed = testBed(() => gone, { maxOutageMs: 60_000 });
      for (let id = 0; id < lookups; id++) bed.submit(id);
      await pass(2 * MINUTE);
      expect(bed.fatal).toEqual([expect.objectContaining({ exitCode: 69, code: 'service_unavailable' })]);
      expect(bed.settled.size).toBe(0);
    }
  });

  it('is asked one at a time, more and more seldom', async () => {
    const bed = testBed(() => GONE);
    for (let id = 0; id < 5; id++) bed.submit(id);
    await pass(10 * MINUTE);
    // Five attempts each at most, and then a probe every 15 s.
    expect(bed.sent.length).toBeLessThanOrEqual(25 + 5 + 40);
  });
});

describe('a lookup that never works', () => {
  it.each([1, 2, 16])('beside four that do fails alone within seconds, wherever it is (%d at once)', async (concurrency) => {
    for (const poisoned of [0, 2, 3]) {
      const bed = testBed((id) => (id === poisoned ? DOWN : OK), { concurrency });
      for (let id = 0; id < 5; id++) bed.submit(id);
      await pass(10_000);
      expect(bed.settled.get(poisoned)).toMatchObject({ kind: 'failed', code: 'http_500', attempts: 5 });
      expect(bed.settled.size).toBe(5);
      expect(bed.events).not.toContain('open');
    }
  });

  it('and is the last, with nobody beside it, fails after a fifth of the longest outage', async () => {
    const bed = testBed((id) => (id === 4 ? DOWN : OK), { concurrency: 1 });
    for (let id = 0; id < 5; id++) bed.submit(id);
    await pass(119_000);
    expect(bed.settled.size).toBe(4);
    // Nobody can tell, and so nobody says, that the service is down.
    expect(bed.pool.outage?.lastLookups).toBe('http_500');
    await pass(MINUTE);
    expect(bed.settled.get(4)).toMatchObject({ kind: 'failed', code: 'http_500' });
    expect(bed.fatal).toEqual([]);
  });

  it.each([1, 5, 9])('and is asked again in a later run, with %d like it, fails long before an outage would end the run', async (lookups) => {
    const bed = testBed(() => DOWN, { hasAnswered: true });
    for (let id = 0; id < lookups; id++) bed.submit(id);
    await pass(5 * MINUTE);
    expect([...bed.settled.values()].filter(({ kind }) => kind === 'failed')).toHaveLength(lookups);
    expect(bed.fatal).toEqual([]);
  });

  it.each([1, 5])('for a gateway (502), and is asked again by a retry with %d like it, fails again when an outage would end the run', async (lookups) => {
    const bed = testBed(() => GONE, { hasAnswered: true, asksAgain: true });
    for (let id = 0; id < lookups; id++) bed.submit(id);
    await pass(10 * MINUTE);
    expect(bed.settled.size).toBe(0);
    await pass(2 * MINUTE);
    expect([...bed.settled.values()].filter(({ kind }) => kind === 'failed')).toHaveLength(lookups);
    expect(bed.fatal).toEqual([]);
  });

  it.each([
    ['nobody listens', UNREACHABLE, true],
    ['it has never answered', DOWN, false],
  ] as const)('counts as an outage where %s', async (_why, answer, hasAnswered) => {
    const bed = testBed(() => answer, { hasAnswered });
    bed.submit(0);
    await pass(MINUTE);
    expect(bed.pool.outage?.lastLookups).toBeNull();
  });

  it('because nobody listens ends a retry with 69', async () => {
    const bed = testBed(() => UNREACHABLE, { hasAnswered: true, asksAgain: true });
    bed.submit(0);
    await pass(11 * MINUTE);
    expect(bed.fatal).toEqual([expect.objectContaining({ exitCode: 69 })]);
    expect(bed.settled.size).toBe(0);
  });

  it('and asks for many keys is given back to be halved, although nothing else was ever answered', async () => {
    const bed = testBed(() => DOWN);
    bed.submit(0, { divisible: true });
    await pass(10_000);
    expect(bed.settled.get(0)).toMatchObject({ kind: 'failed', attempts: 5 });
    expect(bed.events).not.toContain('open');
  });

  it('and asks for many keys, and breaks what stands in front of the service, is given back after a while', async () => {
    const bed = testBed(() => GONE);
    bed.submit(0, { divisible: true });
    await pass(119_000);
    expect(bed.settled.size).toBe(0);
    await pass(MINUTE);
    expect(bed.settled.get(0)).toMatchObject({ kind: 'failed', code: 'http_503' });
  });
});

describe('a service that answers with 500', () => {
  it.each([[10, 1], [12, 4], [13, 1], [40, 16], [100, 4]])('fails a tail of %d lookups that never work, %d at once, long before an outage would end the run', async (lookups, concurrency) => {
    const bed = testBed((id) => (id < 30 ? OK : DOWN), { concurrency });
    void readAll(bed, 30 + lookups);
    await pass(7 * MINUTE);
    expect(bed.fatal).toEqual([]);
    expect(bed.settled.size).toBe(30 + lookups);
    expect([...bed.settled.values()].filter((settled) => settled.kind === 'failed' && settled.attempts === 5 && settled.code === 'http_500')).toHaveLength(lookups);
    for (let id = 30; id < 30 + lookups; id++) expect(attemptsOf(bed, id)).toBe(5);
  });

  it('is probed with another lookup each time', async () => {
    const bed = testBed(() => DOWN);
    for (let id = 0; id < 12; id++) bed.submit(id);
    await pass(7 * MINUTE);
    const probes = bed.sent.slice(-36).map(({ id }) => id);
    for (let i = 0; i + 12 <= probes.length; i += 12) expect(new Set(probes.slice(i, i + 12)).size).toBe(12);
  });

  it('and is back within minutes has failed no lookup, not even of a tail', async () => {
    const bed = testBed((_, __, at) => (at < 3 * MINUTE ? DOWN : OK));
    for (let id = 0; id < 12; id++) bed.submit(id);
    await pass(7 * MINUTE);
    expect([...bed.settled.values()].filter((settled) => settled.kind === 'ok')).toHaveLength(12);
  });

  it.each([1, 4, 32])('for all in the middle of a large job fails nothing, and is waited for (%d at once)', async (concurrency) => {
    const bed = testBed((_, __, at) => (at > 1_000 && at < 9 * MINUTE ? DOWN : OK), { concurrency });
    void readAll(bed, 20_000);
    await pass(8 * MINUTE);
    expect(bed.pool.outage).not.toBeNull();
    await pass(10 * MINUTE);
    expect(bed.fatal).toEqual([]);
    expect(bed.settled.size).toBe(20_000);
    expect([...bed.settled.values()].every((settled) => settled.kind === 'ok')).toBe(true);
  });

  it('for all, for too long, in the middle of a large job ends the run with 69', async () => {
    const bed = testBed((_, __, at) => (at > 1_000 ? DOWN : OK));
    void readAll(bed, 20_000);
    await pass(11 * MINUTE);
    expect(bed.fatal).toEqual([expect.objectContaining({ exitCode: 69, code: 'service_unavailable' })]);
    expect([...bed.settled.values()].every((settled) => settled.kind === 'ok')).toBe(true);
  });

  it.each([1, 4, 16])('for more lookups in a row than there is room for loses those alone, wherever they are (%d at once)', async (concurrency) => {
    const bed = testBed((id) => (id >= 500 && id < 600 ? DOWN : OK), { concurrency });
    void readAll(bed, 1_000);
    await pass(10 * MINUTE);
    expect(bed.fatal).toEqual([]);
    expect(bed.settled.size).toBe(1_000);
    expect([...bed.settled].filter(([, settled]) => settled.kind === 'failed').map(([id]) => id).sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => 500 + i));
  });
});

describe('a service that does not answer', () => {
  const ways: [string, number][] = [['network', 0], ['timeout', 0], ['timeout', 200], ['http_502', 502], ['http_503', 503], ['http_504', 504], ['http_522', 522]];
  it.each(ways)('(%s, status %d) costs not even a tail its attempts', async (code, status) => {
    const gone: Answer = { kind: 'retryable', code, detail: '', retryAfterMs: null, meta: meta(status) };
    const bed = testBed((_, __, at) => (at < 9 * MINUTE ? gone : OK));
    for (let id = 0; id < 12; id++) bed.submit(id);
    await pass(11 * MINUTE);
    expect([...bed.settled.values()].filter((settled) => settled.kind === 'ok')).toHaveLength(12);
    expect(bed.fatal).toEqual([]);
  });
});

describe('the retry budget', () => {
  it('keeps retries from multiplying the load: they wait, and are not failed', async () => {
    const bed = testBed((id, attempt) => (attempt <= 4 && (id * 7 + attempt * 3) % 4 < 2 ? DOWN : OK), { concurrency: 64 });
    void readAll(bed, 3_000);
    for (let minutes = 0; minutes < 30 && bed.settled.size < 3_000; minutes++) await pass(MINUTE);
    expect([...bed.settled.values()].filter((settled) => settled.kind === 'ok')).toHaveLength(3_000);
    expect(bed.events).not.toContain('open');
    const seen = new Set<number>();
    let retries = 0;
    for (const { id, at } of bed.sent) {
      if (seen.has(id)) expect(++retries).toBeLessThanOrEqual(100 + 0.2 * seen.size + at / 100 + 1);
      seen.add(id);
    }
    expect(retries).toBeGreaterThan(1_000);
  });

  it('leaves nothing behind when the pool is drained', async () => {
    const bed = testBed((id, attempt) => (attempt === 1 && id % 2 === 0 ? DOWN : OK), { concurrency: 16 });
    for (let id = 0; id < 1_000; id++) bed.submit(id);
    await pass(2_000);
    expect(bed.settled.size).toBeLessThan(1_000);
    const drained = bed.pool.drain();
    await pass(50);
    expect(await isPending(drained)).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('how many at once', () => {
  it.each([1, 3, 16])('keeps to a concurrency of %d, and uses it', async (concurrency) => {
    const bed = testBed((id) => [OK, 5 + (id % 7)], { concurrency });
    for (let id = 0; id < 200; id++) bed.submit(id);
    await pass(MINUTE);
    expect(bed.most).toBe(concurrency);
    expect(bed.settled.size).toBe(200);
  });

  it('asks for more as soon as its backlog is half gone, and not before', async () => {
    const bed = testBed(() => [OK, 100], { concurrency: 8 });
    expect(bed.pool.room()).toBeNull();
    for (let id = 0; id < 15; id++) bed.submit(id);
    expect(bed.pool.room()).toBeNull();
    bed.submit(15);
    const room = bed.pool.room() as Promise<void>;
    await pass(99);
    expect(await isPending(room)).toBe(true);
    await pass(2);
    await room;
    expect(bed.pool.room()).toBeNull();
  });

  it('holds the reader back while the service is down, and lets it go when the run ends', async () => {
    const bed = testBed(() => GONE, { maxOutageMs: 60_000 });
    for (let id = 0; id < 40; id++) bed.submit(id);
    await pass(1_000);
    const room = bed.pool.room() as Promise<void>;
    expect(await isPending(room)).toBe(true);
    await pass(2 * MINUTE);
    expect(bed.fatal).toHaveLength(1);
    const drained = bed.pool.drain();
    await pass(100);
    await drained;
    await room;
    expect(bed.pool.room()).toBeNull();
  });
});

describe('drain', () => {
  it('waits for what was sent, settles it, and sends nothing more', async () => {
    const bed = testBed((id) => [id === 2 ? DOWN : OK, 5_000]);
    for (let id = 0; id < 40; id++) bed.submit(id);
    await pass(100);
    const drained = bed.pool.drain();
    await pass(4_800);
    expect(await isPending(drained)).toBe(true);
    await pass(200);
    await drained;
    expect([...bed.settled.keys()]).toEqual([0, 1, 3]);
    expect(bed.sent).toHaveLength(4);
    bed.submit(99);
    await pass(MINUTE);
    expect(bed.sent).toHaveLength(4);
    expect(vi.getTimerCount()).toBe(0);
    expect(bed.fatal).toEqual([]);
  });

  it.each([
    ['the service is down', () => DOWN, 2_000],
    ['the service has just failed for the first time', () => DOWN, 5],
    ['everything is paused', () => later(500_000), 2_000],
    ['the gate is closed', () => OK, 100],
  ] as const)('ends when %s', async (_, answer, after) => {
    const bed = testBed(answer, { rpm: 60 });
    for (let id = 0; id < 40; id++) bed.submit(id);
    await pass(after);
    const drained = bed.pool.drain();
    await pass(50);
    expect(await isPending(drained)).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
    expect(bed.fatal).toEqual([]);
  });

  it('leaves a call that was cancelled from this side to the next run', async () => {
    const bed = testBed((_, attempt) => (attempt < 5 ? DOWN : { ...DOWN, code: 'aborted', meta: meta(0) }));
    bed.submit(0);
    await pass(MINUTE);
    expect(attemptsOf(bed, 0)).toBe(5);
    expect(bed.settled.size).toBe(0);
  });
});

describe('a result that cannot be kept', () => {
  it.each([['while running', false], ['while draining', true]])('ends the run, %s', async (_, draining) => {
    const bed = testBed(() => OK, {
      onSettle: (id) => {
        if (id === 1) throw new Error('disk full');
      },
    });
    for (let id = 0; id < 40; id++) bed.submit(id);
    await pass(5);
    const drained = draining ? bed.pool.drain() : null;
    await pass(MINUTE);
    expect(bed.fatal).toEqual([new Error('disk full')]);
    // Those that were on their way with it are settled all the same.
    expect([...bed.settled.keys()]).toEqual(bed.sent.map(({ id }) => id));
    expect(bed.sent.length).toBeLessThanOrEqual(8);
    if (drained !== null) expect(await isPending(drained)).toBe(false);
  });
});
