import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ServiceError } from '../../src/service/errors.ts';
import { Journal } from '../../src/service/store/journal.ts';
import { openStore } from '../../src/service/store/open-store.ts';
import { toRow, VerificationRows, type VerificationRequest } from '../../src/service/store/verification-rows.ts';
import { suppress } from '../../src/service/store/suppress.ts';
import { suppressedResult } from '../../src/service/suppressed-result.ts';
import { VerificationJobs, type JobState, type VerificationJobsOptions } from '../../src/service/verification-jobs.ts';
import { StoreHealth } from '../../src/service/watch/store-health.ts';
import type { EmailVerification, VerifyRequest } from '../../src/verification/types.ts';
import type { Announcement, EventType } from '../../src/service/webhooks/announcement.ts';
import { makeStore } from './harness.ts';

const MINUTE_MS = 60_000;
/** Nobody is to be told. */
const UNHEARD = { wants: () => false, collect: () => () => undefined, withdraw: () => undefined };
const NOTHING = { mailbox: () => [], domain: () => null };

/** `later`: after how long each address may be asked about again, by how often it was asked; where that ends its server answers. */
async function make(later: Readonly<Record<string, readonly number[]>> = {}) {
  const path = await makeStore();
  const asked: string[][] = [];
  const times = new Map<string, number>();
  const answer = (email: string): EmailVerification => {
    const time = times.get(email) ?? 0;
    times.set(email, time + 1);
    const waitMs = later[email]?.[time];
    return { email, normalized: email, result: waitMs === undefined ? 'deliverable' : 'unknown', did_you_mean: null, retry_at: waitMs === undefined ? null : new Date(Date.now() + waitMs).toISOString() } as EmailVerification;
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
    const journal = new Journal(store, (error) => { throw error; });
    const jobs = new VerificationJobs({ verifier: using, evidence: NOTHING, rows: new VerificationRows(store, journal), now: () => Date.now(), webhooks, health: new StoreHealth(path, null) });
    onTestFinished(() => {
      jobs.close();
      store.close();
    });
    return { jobs, journal };
  };
  return { ...start(), asked, start, path };
}

const request = (emails: readonly string[], timeoutMs: number | null = null): VerificationRequest => ({ emails, mode: 'full', maxAgeS: null, timeoutMs, webhookUrl: null });
const resultsOf = (state: JobState | null): unknown => (state?.kind === 'completed' ? state.results.map(({ email, result, reason }) => (email === null ? reason : `${email} ${result}`)) : state);

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => void vi.useRealTimers());

describe('VerificationJobs', () => {
  it('comes back for those whose servers said later, when they said, and for nobody else', async () => {
    const { jobs, journal, asked } = await make({ 'grey@a.test': [6 * MINUTE_MS, 15 * MINUTE_MS], 'late@b.test': [MINUTE_MS] });
    jobs.begin('j1', 'k1', request(['grey@a.test', 'ok@a.test', 'late@b.test', 'ok@a.test']));
    await vi.advanceTimersByTimeAsync(0);
    expect(jobs.find('j1', 'k1')).toEqual({ kind: 'in_progress', total: 3, settled: 1, nextMs: MINUTE_MS });
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    expect(jobs.find('j1', 'k1')).toEqual({ kind: 'in_progress', total: 3, settled: 2, nextMs: 5 * MINUTE_MS });
    await vi.advanceTimersByTimeAsync(20 * MINUTE_MS);
    expect(resultsOf(jobs.find('j1', 'k1'))).toEqual(['grey@a.test deliverable', 'ok@a.test deliverable', 'late@b.test deliverable', 'ok@a.test deliverable']);
    expect(asked).toEqual([['grey@a.test', 'ok@a.test', 'late@b.test'], ['late@b.test'], ['grey@a.test'], ['grey@a.test']]);
    journal.flush();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('gives up in time: by the deadline it was given, and after two hours without one', async () => {
    const { jobs } = await make({ 'a@a.test': [6 * MINUTE_MS], 'b@a.test': Array.from({ length: 500 }, () => MINUTE_MS) });
    jobs.begin('j1', 'k1', request(['a@a.test'], 5 * MINUTE_MS));
    jobs.begin('j2', 'k1', request(['b@a.test']));
    await vi.advanceTimersByTimeAsync(0);
    // Nothing more can be learnt by the deadline, so nobody is kept waiting for it.
    expect(resultsOf(jobs.find('j1', 'k1'))).toEqual(['a@a.test unknown']);
    await vi.advanceTimersByTimeAsync(119 * MINUTE_MS);
    expect(jobs.find('j2', 'k1')).toMatchObject({ kind: 'in_progress' });
    await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
    expect(resultsOf(jobs.find('j2', 'k1'))).toEqual(['b@a.test unknown']);
  });

  it('is for the key that began it, and is forgotten after a day', async () => {
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

  it('announces once what is done, to whom it was asked to, and takes back what was not written down', async () => {
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
    expect(told).toEqual([{ type: 'verification.completed', keyId: 'k1', webhookUrl: 'https://hooks.acme.example', data: { id: 'later', location: '/v1/emails/verify/later', total: 2, summary: { deliverable: 2, undeliverable: 0, risky: 0, unknown: 0 } } }]);
  });

  it('holds so many at once and no more, and no key all of them', async () => {
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

  it('a bug is told to whoever asks, and holds no place; want of room is no bug', async () => {
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

  it('outlives the process: what is done is kept with whether it was paid, and what is not goes on where it was', async () => {
    const { jobs, journal, asked, start } = await make({ 'grey@a.test': [6 * MINUTE_MS] });
    jobs.begin('done', 'k1', request(['ok@a.test']));
    jobs.begin('open', 'k1', request(['grey@a.test', 'ok@a.test']));
    await vi.advanceTimersByTimeAsync(0);
    jobs.markPaid('done', true);
    journal.flush();
    // Killed: nothing more is written. Begun and killed before anybody was told of it: as if it had not been.
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

  it('answers, asks and writes nothing more of who is erased meanwhile, and goes on with the others', async () => {
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
    expect([resultsOf(jobs.find('one', 'k1')), jobs.find('both', 'k1')]).toEqual([['suppressed_person'], { kind: 'in_progress', total: 1, settled: 0, nextMs: MINUTE_MS }]);
    expect(resultsOf(jobs.find('done', 'k1'))).toEqual(['suppressed_person', 'fine@a.test deliverable']);
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    expect(asked).toEqual([['grey@a.test']]);
    expect(resultsOf(jobs.find('both', 'k1'))).toEqual(['suppressed_person', 'suppressed_person', 'grey@a.test deliverable']);
    journal.flush();
    const kept = store.prepare('SELECT * FROM verifications ORDER BY seq').all().map((row) => JSON.stringify(toRow(row)));
    expect(kept).toEqual([expect.stringContaining('grey@a.test'), expect.any(String), expect.stringContaining('fine@a.test')]);
    for (const text of kept) expect(text).not.toMatch(/gone@|ok@/i);
    store.close();
    expect(start().jobs.find('done', 'k1')).toMatchObject({ paid: true, results: [{ email: null }, { email: 'fine@a.test' }] });
  });

  it('asks nothing about those of whom the answer is known, after a restart neither, and names them as they were sent', async () => {
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
    expect(second.jobs.find('some', 'k1')).toMatchObject({ kind: 'completed', results: [{ email: null }, { email: 'Old@a.test', reason: 'suppressed_person' }] });
    expect(asked.flat()).not.toContain('Old@a.test');
  });

  it('keeps nothing of who was erased while their server was asked', async () => {
    const { start, path } = await make();
    const held = Promise.withResolvers<EmailVerification[]>();
    const { jobs, journal } = start({ verify: () => held.promise });
    jobs.begin('j', 'k1', request(['gone@a.test', 'ok@a.test']));
    journal.flush();
    const store = openStore(path);
    suppress(store, ['gone@a.test'], Date.now());
    expect(jobs.find('j', 'k1')).toMatchObject({ total: 1 });
    held.resolve(['gone@a.test', 'ok@a.test'].map((email) => ({ email, normalized: email, result: 'deliverable', retry_at: null, did_you_mean: email === 'ok@a.test' ? 'gone@a.test' : null }) as EmailVerification));
    await vi.advanceTimersByTimeAsync(0);
    expect(jobs.find('j', 'k1')).toMatchObject({ kind: 'completed', results: [{ email: null, reason: 'suppressed_person' }, { email: 'ok@a.test', did_you_mean: null }] });
    store.close();
  });
});
