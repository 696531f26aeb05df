import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ServiceError } from '../../../src/service/http/problem.ts';
import { Journal } from '../../../src/service/store/journal.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { toRow, VerificationRows, type VerificationRequest } from '../../../src/service/verify/verification-rows.ts';
import { suppress } from '../../../src/service/erasure/suppress.ts';
import { suppressedResult } from '../../../src/service/records/suppressed-result.ts';
import { VerificationJobs, type VerificationState, type VerificationJobsOptions } from '../../../src/service/verify/verification-jobs.ts';
import { StoreHealth } from '../../../src/service/monitoring/store-health.ts';
import type { EmailVerification, VerifyRequest } from '../../../src/verification/types.ts';
import type { Announcement, EventType } from '../../../src/service/webhooks/announcement.ts';
import { makeStore } from '../harness.ts';

const MINUTE_MS = 60_000;
/** Webhooks without a listener. */
const UNHEARD = { wants: () => false, collect: () => () => undefined, withdraw: () => undefined };
const NOTHING = { mailbox: () => [], domain: () => null };

/** @param later for each address the waits that its server asks for, one an attempt; after the last one it answers */
async function make(later: Readonly<Record<string, readonly number[]>> = {}) {
  const path = await makeStore();
  const asked: string[][] = [];
  const times = new Map<string, number>();
  const answer = (email: string): EmailVerification => {
    const time = times.get(email) ?? 0;
    times.set(email, time + 1);
    const waitMs = later[email]?.[time];
    return {
      email,
      normalized: email,
      result: waitMs === undefined ? 'deliverable' : 'unknown',
      did_you_mean: null,
      retry_at: waitMs === undefined ? null : new Date(Date.now() + waitMs).toISOString(),
    } as EmailVerification;
  };
  const verifier = {
    async verify(emails: readonly string[], { timeoutMs }: VerifyRequest) {
      expect(timeoutMs).toBeLessThanOrEqual(MINUTE_MS);
      asked.push([...emails]);
      return emails.map(answer);
    },
  };
  /** A process on the store. */
  const start = (using: VerificationJobsOptions['verifier'] = verifier, webhooks: VerificationJobsOptions['webhooks'] = UNHEARD) => {
    const store = openStore(path);
    const journal = new Journal(store, (error) => {
      throw error;
    });
    const jobs = new VerificationJobs({
      verifier: using,
      evidence: NOTHING,
      rows: new VerificationRows(store, journal),
      now: () => Date.now(),
      webhooks,
      health: new StoreHealth(path, null),
    });
    onTestFinished(() => {
      jobs.close();
      store.close();
    });
    return { jobs, journal };
  };
  return { ...start(), asked, start, path };
}

const request = (emails: readonly string[], timeoutMs: number | null = null): VerificationRequest => ({
  emails,
  mode: 'full',
  maxAgeS: null,
  timeoutMs,
  webhookUrl: null,
});
const resultsOf = (state: VerificationState | null): unknown =>
  state?.kind === 'completed' ? state.results.map(({ email, result, reason }) => (email === null ? reason : `${email} ${result}`)) : state;

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => void vi.useRealTimers());

describe('VerificationJobs', () => {
  it('polls again the addresses whose servers asked to wait, at the time they said, and no others', async () => {
    const { jobs, journal, asked } = await make({ 'grey@a.test': [6 * MINUTE_MS, 15 * MINUTE_MS], 'late@b.test': [MINUTE_MS] });
    jobs.begin('j1', 'k1', request(['grey@a.test', 'ok@a.test', 'late@b.test', 'ok@a.test']));
    await vi.advanceTimersByTimeAsync(0);
    expect(jobs.find('j1', 'k1')).toEqual({ kind: 'in_progress', total: 3, settled: 1, nextMs: MINUTE_MS });
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    expect(jobs.find('j1', 'k1')).toEqual({ kind: 'in_progress', total: 3, settled: 2, nextMs: 5 * MINUTE_MS });
    await vi.advanceTimersByTimeAsync(20 * MINUTE_MS);
    expect(resultsOf(jobs.find('j1', 'k1'))).toEqual([
      'grey@a.test deliverable',
      'ok@a.test deliverable',
      'late@b.test deliverable',
      'ok@a.test deliverable',
    ]);
    expect(asked).toEqual([['grey@a.test', 'ok@a.test', 'late@b.test'], ['late@b.test'], ['grey@a.test'], ['grey@a.test']]);
    journal.flush();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('gives up at its deadline, or after two hours without one', async () => {
    const { jobs } = await make({ 'a@a.test': [6 * MINUTE_MS], 'b@a.test': Array.from({ length: 500 }, () => MINUTE_MS) });
    jobs.begin('j1', 'k1', request(['a@a.test'], 5 * MINUTE_MS));
    jobs.begin('j2', 'k1', request(['b@a.test']));
    await vi.advanceTimersByTimeAsync(0);
    // Nothing more can be learnt by the deadline, so the job ends at once.
    expect(resultsOf(jobs.find('j1', 'k1'))).toEqual(['a@a.test unknown']);
    await vi.advanceTimersByTimeAsync(119 * MINUTE_MS);
    expect(jobs.find('j2', 'k1')).toMatchObject({ kind: 'in_progress' });
    await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
    expect(resultsOf(jobs.find('j2', 'k1'))).toEqual(['b@a.test unknown']);
  });

  it('belongs to the key that began it, and expires after a day', async () => {
    const { jobs, asked } = await make();
    jobs.begin('j1', 'k1', request(['a@a.test']));
    await vi.advanceTimersByTimeAsync(0);
    expect(asked).toHaveLength(1);
    expect(jobs.find('j1', 'k2')).toBeNull();
    expect(jobs.find('j1', 'k1')).toMatchObject({ paid: false });
    for (const paid of [true, false, true]) {
      jobs.markPaid('j1', paid);
      expect(jobs.find('j1', 'k1')).toMatchObject({ paid });
    }
    await vi.advanceTimersByTimeAsync(24 * 60 * MINUTE_MS + 1);
    expect(jobs.find('j1', 'k1')).toBeNull();
  });

  it('announces a completed job once to its webhook, and withdraws an announcement that was not written', async () => {
    const told: Announcement[] = [];
    const { start } = await make({ 'grey@a.test': [MINUTE_MS] });
    const webhooks = {
      wants: (_keyId: string, _type: EventType, url: string | null) => url !== null,
      collect: (announcement: Announcement) => (told.push(announcement), () => undefined),
      withdraw: (isIt: (announcement: Announcement) => boolean) => void told.splice(0, told.length, ...told.filter((one) => !isIt(one))),
    };
    const { jobs } = start(undefined, webhooks);
    const asked = { ...request(['grey@a.test', 'ok@a.test']), webhookUrl: 'https://hooks.acme.example' };
    jobs.begin('later', 'k1', asked);
    jobs.begin('unheard', 'k1', request(['ok@a.test']));
    jobs.begin('dropped', 'k1', { ...asked, emails: ['ok@a.test'] });
    await vi.advanceTimersByTimeAsync(0);
    expect(told.map(({ data }) => data['id'])).toEqual(['dropped']);
    jobs.drop('dropped');
    await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
    jobs.find('later', 'k1');
    expect(told).toEqual([
      {
        type: 'verification.completed',
        keyId: 'k1',
        webhookUrl: 'https://hooks.acme.example',
        data: {
          id: 'later',
          location: '/v1/emails/verify/later',
          total: 2,
          summary: { deliverable: 2, undeliverable: 0, risky: 0, unknown: 0 },
        },
      },
    ]);
  });

  it('limits the jobs in total and per key', async () => {
    const slow = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [`${name}@a.test`, [MINUTE_MS]]));
    const { jobs, journal } = await make(slow);
    const begin = (key: string, n: number): void => jobs.begin(`${key}${n}`, key, request([`${key}@a.test`]));
    for (let n = 0; n < 25; n++) begin('a', n);
    expect(() => begin('a', 25)).toThrow(expect.objectContaining({ code: 'overloaded', headers: { 'retry-after': '30' } }));
    for (const key of ['b', 'c', 'd']) for (let n = 0; n < 25; n++) begin(key, n);
    expect(() => begin('e', 0)).toThrow(/too many/);
    jobs.close();
    journal.flush();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('throws a bug to the caller and frees its permit, and does not count a lack of room as a bug', async () => {
    const { start } = await make();
    let error: Error = new ServiceError('overloaded', 'no room');
    const { jobs } = start({ verify: async () => Promise.reject(error) });
    jobs.begin('j', 'k1', request(['a@a.test']));
    await vi.advanceTimersByTimeAsync(0);
    expect(jobs.find('j', 'k1')).toMatchObject({ kind: 'in_progress', settled: 0 });
    error = new Error('a bug');
    for (let n = 0; n < 30; n++) {
      jobs.begin(`j${n}`, 'k1', request(['a@a.test']));
      await vi.advanceTimersByTimeAsync(0);
    }
    expect(() => jobs.find('j0', 'k1')).toThrow('a bug');
  });

  it('survives a restart: completed jobs keep their payment, and open ones continue where they were', async () => {
    const { jobs, journal, asked, start } = await make({ 'grey@a.test': [6 * MINUTE_MS] });
    jobs.begin('done', 'k1', request(['ok@a.test']));
    jobs.begin('open', 'k1', request(['grey@a.test', 'ok@a.test']));
    await vi.advanceTimersByTimeAsync(0);
    jobs.markPaid('done', true);
    journal.flush();
    // A killed process writes nothing more. A job that was never written does not exist after the restart.
    jobs.begin('unwritten', 'k1', request(['lost@a.test']));
    vi.clearAllTimers();
    await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
    asked.length = 0;
    const second = start();
    expect(second.jobs.find('done', 'k1')).toMatchObject({ kind: 'completed', paid: true, results: [{ email: 'ok@a.test' }] });
    expect(second.jobs.find('open', 'k1')).toEqual({ kind: 'in_progress', total: 2, settled: 1, nextMs: 4 * MINUTE_MS });
    expect([second.jobs.find('unwritten', 'k1'), second.jobs.find('open', 'k2')]).toEqual([null, null]);
    await vi.advanceTimersByTimeAsync(4 * MINUTE_MS);
    expect(resultsOf(second.jobs.find('open', 'k1'))).toEqual(['grey@a.test deliverable', 'ok@a.test deliverable']);
    expect(asked).toEqual([['grey@a.test']]);
  });

  it('answers, asks and writes nothing more about an erased person, and continues with the others', async () => {
    const { jobs, journal, asked, start, path } = await make({ 'gone@a.test': [MINUTE_MS, MINUTE_MS], 'grey@a.test': [MINUTE_MS] });
    jobs.begin('both', 'k1', request(['Gone@a.test', 'gone@a.test', 'grey@a.test']));
    jobs.begin('one', 'k1', request(['gone@a.test']));
    jobs.begin('done', 'k1', request(['ok@a.test', 'fine@a.test']));
    await vi.advanceTimersByTimeAsync(0);
    journal.flush();
    jobs.markPaid('done', true);
    const store = openStore(path);
    suppress(store, ['gone@a.test', 'ok@a.test'], Date.now());
    asked.length = 0;
    expect([resultsOf(jobs.find('one', 'k1')), jobs.find('both', 'k1')]).toEqual([
      ['suppressed_person'],
      { kind: 'in_progress', total: 1, settled: 0, nextMs: MINUTE_MS },
    ]);
    expect(resultsOf(jobs.find('done', 'k1'))).toEqual(['suppressed_person', 'fine@a.test deliverable']);
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    expect(asked).toEqual([['grey@a.test']]);
    expect(resultsOf(jobs.find('both', 'k1'))).toEqual(['suppressed_person', 'suppressed_person', 'grey@a.test deliverable']);
    journal.flush();
    const kept = store.books
      .prepare('SELECT * FROM verifications ORDER BY seq')
      .all()
      .map((row) => JSON.stringify(toRow(row)));
    expect(kept).toEqual([expect.stringContaining('grey@a.test'), expect.any(String), expect.stringContaining('fine@a.test')]);
    for (const text of kept) expect(text).not.toMatch(/gone@|ok@/i);
    store.close();
    expect(start().jobs.find('done', 'k1')).toMatchObject({ paid: true, results: [{ email: null }, { email: 'fine@a.test' }] });
  });

  it('asks nothing about addresses with a known answer, also after a restart, and names them as they were sent', async () => {
    const { jobs, journal, asked, start, path } = await make({ 'grey@a.test': [MINUTE_MS] });
    const removed = [suppressedResult('Old@a.test', Date.now())];
    jobs.begin('all', 'k1', request(['Old@a.test']), removed);
    expect(resultsOf(jobs.find('all', 'k1'))).toEqual(['Old@a.test unknown']);
    jobs.begin('some', 'k1', request(['grey@a.test', 'Old@a.test']), removed);
    expect(jobs.find('some', 'k1')).toMatchObject({ total: 2, settled: 1 });
    journal.flush();
    jobs.close();
    const second = start();
    const store = openStore(path);
    suppress(store, ['grey@a.test'], Date.now());
    store.close();
    expect(second.jobs.find('some', 'k1')).toMatchObject({
      kind: 'completed',
      results: [{ email: null }, { email: 'Old@a.test', reason: 'suppressed_person' }],
    });
    expect(asked.flat()).not.toContain('Old@a.test');
  });

  it('stores nothing of a person who is erased while the mail server is asked', async () => {
    const { start, path } = await make();
    const held = Promise.withResolvers<EmailVerification[]>();
    const { jobs, journal } = start({ verify: () => held.promise });
    jobs.begin('j', 'k1', request(['gone@a.test', 'ok@a.test']));
    journal.flush();
    const store = openStore(path);
    suppress(store, ['gone@a.test'], Date.now());
    expect(jobs.find('j', 'k1')).toMatchObject({ total: 1 });
    held.resolve(
      ['gone@a.test', 'ok@a.test'].map(
        (email) =>
          ({
            email,
            normalized: email,
            result: 'deliverable',
            retry_at: null,
            did_you_mean: email === 'ok@a.test' ? 'gone@a.test' : null,
          }) as EmailVerification,
      ),
    );
    await vi.advanceTimersByTimeAsync(0);
    expect(jobs.find('j', 'k1')).toMatchObject({
      kind: 'completed',
      results: [
        { email: null, reason: 'suppressed_person' },
        { email: 'ok@a.test', did_you_mean: null },
      ],
    });
    store.close();
  });
});
