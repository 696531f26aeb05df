/** Runs that use one ledger file at the same time: how they notice each other, and what becomes of a run that dies or stands still. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { Ledger } from '../../src/ledger/ledger.ts';
import { purgeLedger } from '../../src/ledger/purge.ts';
import { answer, ask, HIT, scopeOf } from './asking.ts';
import { fileSite, START, type FileSiteOptions } from './shared.ts';

const CHILD = fileURLToPath(new URL('claiming-child.ts', import.meta.url));
const LEASE_MS = 30_000;

const run = (name: string, more: FileSiteOptions = {}): FileSiteOptions => ({ job: name, run: name, maxAgeDays: 7, ...more });
const hasClaimsFile = (path: string): boolean => existsSync(`${path}-claims`);

/** Changes rows of the file behind the backs of those who have it open. */
function change(path: string, sql: string, ...values: (string | number)[]): void {
  const db = new DatabaseSync(path);
  db.exec('PRAGMA busy_timeout = 5000');
  expect(db.prepare(sql).run(...values).changes).toBe(1);
  db.close();
}

/** Another process that writes to the file, and does not end. */
function locked(file: string): DatabaseSync {
  const paused = new DatabaseSync(file);
  onTestFinished(() => paused.close());
  paused.exec('PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE');
  return paused;
}

/** Another process that has claimed these keys. */
async function claimedBy(path: string, name: string, keys: readonly string[]): Promise<{ kill: () => Promise<unknown>; pause: () => void }> {
  const child = spawn(process.execPath, [CHILD, path, name, ...keys], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  for await (const text of child.stdout.setEncoding('utf8')) {
    said += String(text);
    if (said.split('\n').length > keys.length) break;
  }
  expect(said).toBe(keys.map((key) => `${key} asks\n`).join(''));
  return {
    pause: () => void child.kill('SIGSTOP'),
    kill: () => {
      const ended = once(child, 'close');
      child.kill('SIGKILL');
      return ended;
    },
  };
}

it('a run alone is told at once and keeps no claims on the disk; what it was asking for is known to one that comes later', async () => {
  const { open, path } = fileSite();
  const first = await open(run('first'));
  const asked = ask(first, 'k');
  answer(first, 'answered');
  expect([asked.isTold(), hasClaimsFile(path)]).toEqual([true, false]);
  const second = await open(run('second'));
  const waits = ask(second, 'k');
  // It was answered and not written when the second one came.
  expect(await ask(second, 'answered').told).toEqual(HIT);
  await expect.poll(() => second.waiting).toBe(1);
  answer(first, 'k');
  expect(await waits.told).toEqual(HIT);
});

it('the claims file goes with the last but one, and the one that is left is told at once again', async () => {
  const { open, path } = fileSite();
  const [first, second] = [await open(run('first')), await open(run('second'))];
  expect([await ask(first, 'k').told, await ask(second, 'l').told, hasClaimsFile(path)]).toEqual([null, null, true]);
  const waits = ask(first, 'l');
  await expect.poll(() => first.waiting).toBe(1);
  await second.close();
  expect(await waits.told).toBeNull();
  await expect.poll(() => hasClaimsFile(path)).toBe(false);
  expect(ask(first, 'm').isTold()).toBe(true);
  const third = await open(run('third'));
  expect(await ask(third, 'n').told).toBeNull();
  const keys = ['k', 'l', 'm'].map((key) => ask(third, key));
  await expect.poll(() => third.waiting).toBe(3);
  await first.close();
  expect(await Promise.all(keys.map(({ told }) => told))).toEqual([null, null, null]);
  await third.close();
  expect(hasClaimsFile(path)).toBe(false);
});

it('a lookup that failed for another run after retries is asked for by the one that waited', async () => {
  const { open } = fileSite();
  const [a, b] = [await open(run('a')), await open(run('b'))];
  expect(await ask(a, 'k').told).toBeNull();
  const waits = ask(b, 'k');
  await expect.poll(() => b.waiting).toBe(1);
  answer(a, 'k', { kind: 'failed', code: 'timeout', attempts: 5, requestId: null });
  expect(await waits.told).toBeNull();
  answer(b, 'k');
  await b.keep();
  expect([a.totals(), b.totals()]).toEqual([{ lookups: 1, reused: 0 }, { lookups: 1, reused: 0 }]);
});

it('what a killed run was asking for is asked for with that run’s keys, by whichever run takes it over, and nothing else is', async () => {
  const { open, path } = fileSite();
  const first = await open(run('first'));
  const killed = await claimedBy(path, 'killed', ['k', 'l', 'm']);
  const waits = ask(first, 'k');
  await expect.poll(() => first.waiting).toBe(1);
  await killed.kill();
  expect([await waits.told, waits.seed()]).toEqual([null, 'seed of killed']);
  // Alone by now: what it has not asked for yet is remembered, and what is answered is not.
  await expect.poll(() => hasClaimsFile(path)).toBe(false);
  answer(first, 'k', { kind: 'failed', code: 'timeout', attempts: 5, requestId: null });
  expect([ask(first, 'k').seed(), ask(first, 'l').seed(), ask(first, 'other').seed()]).toEqual([null, 'seed of killed', null]);
  const second = await open(run('second'));
  const [l, m, other] = [ask(second, 'l'), ask(second, 'm'), ask(second, 'other')];
  expect([await m.told, m.seed()]).toEqual([null, 'seed of killed']);
  // It ends while it asks: what it took over keeps the keys that it had first.
  await first.close();
  expect([await l.told, l.seed(), await other.told, other.seed()]).toEqual([null, 'seed of killed', null, 'seed of first']);
});

it('a retry asks again for a refusal that came from another run', async () => {
  const { open } = fileSite();
  const refused = { kind: 'failed', code: 'http_400', attempts: 1, requestId: null } as const;
  const [a, b] = [await open(run('a')), await open(run('b'))];
  expect(await ask(a, 'k').told).toBeNull();
  const waits = ask(b, 'k');
  answer(a, 'k', refused);
  expect(await waits.told).toEqual(refused);
  await Promise.all([a.close(), b.close()]);
  const finished = await open(run('b'));
  const failedUpTo = finished.lastAnswer();
  await finished.close();
  const retry = await open(run('b', { failedUpTo }));
  expect(retry.get(scopeOf(retry), 'k')).toBeNull();
  expect(await ask(retry, 'k').told).toBeNull();
  answer(retry, 'k');
  expect(retry.totals()).toEqual({ lookups: 1, reused: 1 });
});

it('claims of a process that was killed are free at once, also for several that wait, and each goes to one of them', async () => {
  const { open, path } = fileSite();
  const keys = Array.from({ length: 40 }, (_, i) => `k${i}`);
  const dead = await claimedBy(path, 'dead', keys);
  const heirs = [await open(run('a')), await open(run('b'))];
  const asks = heirs.map((heir) => keys.map((key) => ask(heir, key)));
  await expect.poll(() => heirs.map(({ waiting }) => waiting)).toEqual([40, 40]);
  await dead.kill();
  await expect.poll(() => keys.every((_, i) => asks.some((own) => own[i]?.isTold())), { timeout: 10_000 }).toBe(true);
  expect(keys.filter((_, i) => asks.every((own) => own[i]?.isTold()))).toEqual([]);
});

it('a process number that was given to another process counts as dead', async () => {
  const { open, path } = fileSite();
  const [a, b] = [await open(run('a')), await open(run('b'))];
  expect(await ask(a, 'k').told).toBeNull();
  const waits = ask(b, 'k');
  await expect.poll(() => b.waiting).toBe(1);
  change(path, `UPDATE holders SET process = json_set(process, '$.processStart', '1'), renewed_at = renewed_at + 1 WHERE name = ?`, 'a');
  expect(await waits.told).toBeNull();
});

it('a run in another container holds its claims for a lease after its last renewal', async () => {
  const { open, path } = fileSite();
  const [a, b] = [await open(run('a')), await open(run('b'))];
  expect(await ask(a, 'k').told).toBeNull();
  const waits = ask(b, 'k');
  await expect.poll(() => b.waiting).toBe(1);
  // Its process number means nothing here.
  change(path, `UPDATE holders SET process = json_set(process, '$.boot', 'elsewhere', '$.pid', 4194304) WHERE name = ?`, 'a');
  change(path, 'UPDATE holders SET renewed_at = ? WHERE name = ?', START - LEASE_MS, 'a');
  expect(await ask(b, 'other').told).toBeNull();
  expect(waits.isTold()).toBe(false);
  change(path, 'UPDATE holders SET renewed_at = ? WHERE name = ?', START - LEASE_MS - 1, 'a');
  expect(await waits.told).toBeNull();
});

it('a run that stands still for a lease loses its claims, and claims anew before it calls again', async () => {
  const { open } = fileSite();
  const clock = { a: 0, b: 0 };
  const [a, b] = [await open(run('a', { monotonicNow: () => clock.a, now: () => START + clock.a })), await open(run('b', { monotonicNow: () => clock.b, now: () => START + clock.b }))];
  expect([await ask(a, 'k').told, await ask(a, 'kept').told]).toEqual([null, null]);
  const waits = ask(b, 'k');
  await expect.poll(() => b.waiting).toBe(1);
  expect(a.mayCall()).toBe(true);
  clock.b = LEASE_MS - 1_000;
  expect(await ask(b, 'other').told).toBeNull();
  expect(waits.isTold()).toBe(false);
  clock.b = LEASE_MS + 1;
  expect(await waits.told).toBeNull();
  // The other one wakes.
  clock.a = LEASE_MS - 4_000;
  for (let wait = a.mayCall(); wait !== true; wait = a.mayCall()) await wait;
  const again = ask(b, 'kept');
  await expect.poll(() => b.waiting).toBe(1);
  answer(a, 'kept');
  expect(await again.told).toEqual(HIT);
});

it('a run that waits for the claims of a paused one says so, until the lease of that one ends', async () => {
  const { open, path } = fileSite();
  const paused = await claimedBy(path, 'paused', ['k']);
  paused.pause();
  const clock = { b: 0 };
  const b = await open(run('b', { monotonicNow: () => clock.b }));
  expect(b.joining).toBeNull();
  const asks = [ask(b, 'k'), ask(b, 'l')];
  await expect.poll(() => b.joining).toEqual({ reason: 'claim', what: 'another run to show what it is asking for', untilMs: LEASE_MS });
  // They are not waited for yet: what the run may do without them does not wait either.
  expect([b.waiting, asks.some(({ isTold }) => isTold())]).toEqual([0, false]);
  clock.b = LEASE_MS + 1;
  expect(await Promise.all(asks.map(({ told }) => told))).toEqual([null, null]);
  expect(b.joining).toBeNull();
});

it('a run that may not call while another process keeps the ledger locked says so, and ends with 75', async () => {
  const { open, path } = fileSite();
  const clock = { a: 0 };
  const a = await open(run('a', { monotonicNow: () => clock.a }));
  expect(await ask(a, 'k').told).toBeNull();
  locked(path);
  clock.a = LEASE_MS;
  await a.mayCall();
  expect(a.joining).toEqual({ reason: 'claim', what: 'another process to finish its write to the ledger', untilMs: LEASE_MS + 15_000 });
  clock.a = LEASE_MS + 15_000;
  await a.mayCall();
  clock.a++;
  expect(() => a.mayCall()).toThrow(expect.objectContaining({ exitCode: 75, code: 'ledger_busy' }));
});

it('a run that may not call has the whole time again where the ledger was free in between', async () => {
  const { open, path } = fileSite();
  const clock = { a: LEASE_MS };
  const a = await open(run('a', { monotonicNow: () => clock.a }));
  const first = locked(path);
  clock.a = 2 * LEASE_MS;
  await a.mayCall();
  first.exec('ROLLBACK');
  await expect.poll(() => a.joining).toBeNull();
  locked(path);
  clock.a = 3 * LEASE_MS;
  await a.mayCall();
  expect(a.joining).toMatchObject({ untilMs: 3 * LEASE_MS + 15_000 });
});

it('a run that only waits for another one ends with 75 as well where the ledger stays locked', async () => {
  const { open, path } = fileSite();
  const clock = { b: 0 };
  const [a, b] = [await open(run('a')), await open(run('b', { monotonicNow: () => clock.b }))];
  expect(await ask(a, 'k').told).toBeNull();
  const failure = new Promise((resolve) => b.listen({ moved: () => undefined, failed: resolve }));
  const waits = ask(b, 'k');
  await expect.poll(() => b.waiting).toBe(1);
  locked(path);
  clock.b = LEASE_MS - 1_000;
  await expect.poll(() => b.joining).not.toBeNull();
  clock.b = LEASE_MS + 14_001;
  expect(await failure).toMatchObject({ exitCode: 75, code: 'ledger_busy' });
  expect(waits.isTold()).toBe(false);
});

it('a run goes on when another process that was writing is through', async () => {
  const { open, path } = fileSite();
  const [a, b] = [await open(run('a')), await open(run('b'))];
  expect([await ask(a, 'k').told, await ask(b, 'l').told]).toEqual([null, null]);
  const writers = [`${path}-claims`, path].map((file) => new DatabaseSync(file));
  for (const writer of writers) writer.exec('PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE');
  const waits = ask(b, 'k');
  answer(a, 'k');
  await new Promise((resolve) => setImmediate(resolve));
  expect([waits.isTold(), b.room()]).toEqual([false, null]);
  for (const writer of writers) {
    writer.exec('ROLLBACK');
    writer.close();
  }
  expect(await waits.told).toEqual(HIT);
});

it('a process that keeps the claims locked ends the run that waits for it with 75, which can be resumed', async () => {
  const { open, path } = fileSite();
  const clock = { b: 0 };
  const [a, b] = [await open(run('a')), await open(run('b', { monotonicNow: () => clock.b }))];
  expect([await ask(a, 'k').told, await ask(b, 'l').told]).toEqual([null, null]);
  const failure = new Promise((resolve) => b.listen({ moved: () => undefined, failed: resolve }));
  locked(`${path}-claims`);
  const never = ask(b, 'm');
  await expect.poll(() => b.joining).toEqual({ reason: 'claim', what: 'another run to show what it is asking for', untilMs: 15_000 });
  clock.b = 15_001;
  expect(await failure).toMatchObject({ exitCode: 75, code: 'ledger_busy' });
  expect(never.isTold()).toBe(false);
});

it('a purge takes out what another run has answered while this one waited for something else', async () => {
  const { open, path } = fileSite();
  const [a, b] = [await open(run('a')), await open(run('b'))];
  const keys = ['ada@works.example', 'bo@works.example'];
  expect(await Promise.all(keys.map((key) => ask(a, key).told))).toEqual([null, null]);
  const waits = ask(b, 'bo@works.example');
  answer(a, 'ada@works.example');
  await a.keep();
  expect(await purgeLedger(path, { email: 'ada@works.example', before: null })).toMatchObject({ answers: 1 });
  answer(a, 'bo@works.example');
  expect(await waits.told).toEqual(HIT);
  expect(await ask(b, 'ada@works.example').told).toBeNull();
});

it('what was shown to others is flushed to the disk by the next flush, with nothing new to write', () => {
  const { path } = fileSite();
  const ledger = Ledger.open({ path, job: 'nightly', run: 'run', maxAgeDays: 1, now: () => START });
  onTestFinished(() => ledger.close());
  ledger.put([{ scope: ledger.scope('https://api.example', 'enrich', ''), key: 'k', answer: HIT }]);
  expect(ledger.publish()).toBe(true);
  const written = readFileSync(`${path}-wal`);
  ledger.flush();
  const flushed = readFileSync(`${path}-wal`);
  expect(flushed.equals(written)).toBe(false);
  ledger.flush();
  expect(readFileSync(`${path}-wal`).equals(flushed)).toBe(true);
});

it('closing lets nobody wait: neither the run that closes nor its reader', async () => {
  const { open } = fileSite();
  const [a, b] = [await open(run('a')), await open(run('b'))];
  expect(await ask(a, 'k').told).toBeNull();
  const waits = ask(b, 'k');
  await expect.poll(() => b.waiting).toBe(1);
  await b.close();
  expect([waits.isTold(), b.room(), b.mayCall()]).toEqual([false, null, true]);
  answer(a, 'k');
  await a.keep();
});
