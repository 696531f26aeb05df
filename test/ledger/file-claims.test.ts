/** Concurrent runs on one ledger file: how they notice each other, and what happens when a run dies or is paused. */
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

/** Changes one row of the claims file while runs have it open. */
function change(path: string, sql: string, ...values: (string | number)[]): void {
  const db = new DatabaseSync(path);
  db.exec('PRAGMA busy_timeout = 5000');
  expect(db.prepare(sql).run(...values).changes).toBe(1);
  db.close();
}

/** Opens a write transaction that locks the file until the test ends. */
function lockFile(file: string): DatabaseSync {
  const writer = new DatabaseSync(file);
  onTestFinished(() => writer.close());
  writer.exec('PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE');
  return writer;
}

/** Starts a child process that has claimed these keys. */
async function claimedBy(
  path: string,
  name: string,
  keys: readonly string[],
): Promise<{ kill: () => Promise<unknown>; pause: () => void }> {
  const child = spawn(process.execPath, [CHILD, path, name, ...keys], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  for await (const text of child.stdout.setEncoding('utf8')) {
    output += String(text);
    if (output.split('\n').length > keys.length) break;
  }
  expect(output).toBe(keys.map((key) => `${key} asks\n`).join(''));
  return {
    pause: () => void child.kill('SIGSTOP'),
    kill: () => {
      const ended = once(child, 'close');
      child.kill('SIGKILL');
      return ended;
    },
  };
}

it('a run that is alone may call at once and writes no claims; a run that joins later learns what it is asking for', async () => {
  const { open, path } = fileSite();
  const first = await open(run('first'));
  const asked = ask(first, 'k');
  answer(first, 'answered');
  expect([asked.isAnswered(), hasClaimsFile(path)]).toEqual([true, false]);
  const second = await open(run('second'));
  const waits = ask(second, 'k');
  // The answer was still in the first run's memory when the second run opened the ledger.
  expect(await ask(second, 'answered').answered).toEqual(HIT);
  await expect.poll(() => second.waiting).toBe(1);
  answer(first, 'k');
  expect(await waits.answered).toEqual(HIT);
});

it('the claims file is deleted when only one run is left, and that run may call at once again', async () => {
  const { open, path } = fileSite();
  const [first, second] = [await open(run('first')), await open(run('second'))];
  expect([await ask(first, 'k').answered, await ask(second, 'l').answered, hasClaimsFile(path)]).toEqual([null, null, true]);
  const waits = ask(first, 'l');
  await expect.poll(() => first.waiting).toBe(1);
  await second.close();
  expect(await waits.answered).toBeNull();
  await expect.poll(() => hasClaimsFile(path)).toBe(false);
  expect(ask(first, 'm').isAnswered()).toBe(true);
  const third = await open(run('third'));
  expect(await ask(third, 'n').answered).toBeNull();
  const keys = ['k', 'l', 'm'].map((key) => ask(third, key));
  await expect.poll(() => third.waiting).toBe(3);
  await first.close();
  expect(await Promise.all(keys.map(({ answered }) => answered))).toEqual([null, null, null]);
  await third.close();
  expect(hasClaimsFile(path)).toBe(false);
});

it('a run that waited for another run’s lookup asks itself when that lookup failed after its retries', async () => {
  const { open } = fileSite();
  const [a, b] = [await open(run('a')), await open(run('b'))];
  expect(await ask(a, 'k').answered).toBeNull();
  const waits = ask(b, 'k');
  await expect.poll(() => b.waiting).toBe(1);
  answer(a, 'k', { kind: 'failed', code: 'timeout', attempts: 5, requestId: null });
  expect(await waits.answered).toBeNull();
  answer(b, 'k');
  await b.keep();
  expect([a.totals(), b.totals()]).toEqual([
    { lookups: 1, reused: 0 },
    { lookups: 1, reused: 0 },
  ]);
});

it('a run that takes over a killed run’s lookup uses the killed run’s Idempotency-Key seed, and its own for all others', async () => {
  const { open, path } = fileSite();
  const first = await open(run('first'));
  const killed = await claimedBy(path, 'killed', ['k', 'l', 'm']);
  const waits = ask(first, 'k');
  await expect.poll(() => first.waiting).toBe(1);
  await killed.kill();
  expect([await waits.answered, waits.seed()]).toEqual([null, 'seed of killed']);
  // The first run is alone now: it still knows the seed of unanswered lookups, and has dropped that of the answered one.
  await expect.poll(() => hasClaimsFile(path)).toBe(false);
  answer(first, 'k', { kind: 'failed', code: 'timeout', attempts: 5, requestId: null });
  expect([ask(first, 'k').seed(), ask(first, 'l').seed(), ask(first, 'other').seed()]).toEqual([null, 'seed of killed', null]);
  const second = await open(run('second'));
  const [l, m, other] = [ask(second, 'l'), ask(second, 'm'), ask(second, 'other')];
  expect([await m.answered, m.seed()]).toEqual([null, 'seed of killed']);
  // The first run ends with open lookups: those that it took over keep their first seed.
  await first.close();
  expect([await l.answered, l.seed(), await other.answered, other.seed()]).toEqual([null, 'seed of killed', null, 'seed of first']);
});

it('a retry asks again for a refusal that came from another run', async () => {
  const { open } = fileSite();
  const refused = { kind: 'failed', code: 'http_400', attempts: 1, requestId: null } as const;
  const [a, b] = [await open(run('a')), await open(run('b'))];
  expect(await ask(a, 'k').answered).toBeNull();
  const waits = ask(b, 'k');
  answer(a, 'k', refused);
  expect(await waits.answered).toEqual(refused);
  await Promise.all([a.close(), b.close()]);
  const finished = await open(run('b'));
  const failedUpTo = finished.lastAnswer();
  await finished.close();
  const retry = await open(run('b', { failedUpTo }));
  expect(retry.get(scopeOf(retry), 'k')).toBeNull();
  expect(await ask(retry, 'k').answered).toBeNull();
  answer(retry, 'k');
  expect(retry.totals()).toEqual({ lookups: 1, reused: 1 });
});

it('the claims of a killed process are free at once, and each goes to one of the waiting runs', async () => {
  const { open, path } = fileSite();
  const keys = Array.from({ length: 40 }, (_, i) => `k${i}`);
  const dead = await claimedBy(path, 'dead', keys);
  const waiters = [await open(run('a')), await open(run('b'))];
  const asks = waiters.map((waiter) => keys.map((key) => ask(waiter, key)));
  await expect.poll(() => waiters.map(({ waiting }) => waiting)).toEqual([40, 40]);
  await dead.kill();
  await expect.poll(() => keys.every((_, i) => asks.some((own) => own[i]?.isAnswered())), { timeout: 10_000 }).toBe(true);
  expect(keys.filter((_, i) => asks.every((own) => own[i]?.isAnswered()))).toEqual([]);
});

it('a claimant whose process number now belongs to another process counts as dead', async () => {
  const { open, path } = fileSite();
  const [a, b] = [await open(run('a')), await open(run('b'))];
  expect(await ask(a, 'k').answered).toBeNull();
  const waits = ask(b, 'k');
  await expect.poll(() => b.waiting).toBe(1);
  change(path, `UPDATE holders SET process = json_set(process, '$.processStart', '1'), renewed_at = renewed_at + 1 WHERE name = ?`, 'a');
  expect(await waits.answered).toBeNull();
});

it('a run in another container holds its claims for a lease after its last renewal', async () => {
  const { open, path } = fileSite();
  const [a, b] = [await open(run('a')), await open(run('b'))];
  expect(await ask(a, 'k').answered).toBeNull();
  const waits = ask(b, 'k');
  await expect.poll(() => b.waiting).toBe(1);
  // A process number from another machine cannot be checked here.
  change(path, `UPDATE holders SET process = json_set(process, '$.boot', 'elsewhere', '$.pid', 4194304) WHERE name = ?`, 'a');
  change(path, 'UPDATE holders SET renewed_at = ? WHERE name = ?', START - LEASE_MS, 'a');
  expect(await ask(b, 'other').answered).toBeNull();
  expect(waits.isAnswered()).toBe(false);
  change(path, 'UPDATE holders SET renewed_at = ? WHERE name = ?', START - LEASE_MS - 1, 'a');
  expect(await waits.answered).toBeNull();
});

it('a run that is paused for a lease loses its claims, and claims again before its next call', async () => {
  const { open } = fileSite();
  const clock = { a: 0, b: 0 };
  const [a, b] = [
    await open(run('a', { monotonicNow: () => clock.a, now: () => START + clock.a })),
    await open(run('b', { monotonicNow: () => clock.b, now: () => START + clock.b })),
  ];
  expect([await ask(a, 'k').answered, await ask(a, 'other key').answered]).toEqual([null, null]);
  const waits = ask(b, 'k');
  await expect.poll(() => b.waiting).toBe(1);
  expect(a.mayCall()).toBe(true);
  clock.b = LEASE_MS - 1_000;
  expect(await ask(b, 'other').answered).toBeNull();
  expect(waits.isAnswered()).toBe(false);
  clock.b = LEASE_MS + 1;
  expect(await waits.answered).toBeNull();
  // The paused run continues.
  clock.a = LEASE_MS - 4_000;
  for (let wait = a.mayCall(); wait !== true; wait = a.mayCall()) await wait;
  const again = ask(b, 'other key');
  await expect.poll(() => b.waiting).toBe(1);
  answer(a, 'other key');
  expect(await again.answered).toEqual(HIT);
});

it('a run that joins a paused one reports what it waits for, until the paused run’s lease ends', async () => {
  const { open, path } = fileSite();
  const paused = await claimedBy(path, 'paused', ['k']);
  paused.pause();
  const clock = { b: 0 };
  const b = await open(run('b', { monotonicNow: () => clock.b }));
  expect(b.joining).toBeNull();
  const asks = [ask(b, 'k'), ask(b, 'l')];
  await expect.poll(() => b.joining).toEqual({ reason: 'claim', what: 'another run to show what it is asking for', untilMs: LEASE_MS });
  // These lookups do not count as waiting yet, so that the run's other work goes on.
  expect([b.waiting, asks.some(({ isAnswered }) => isAnswered())]).toEqual([0, false]);
  clock.b = LEASE_MS + 1;
  expect(await Promise.all(asks.map(({ answered }) => answered))).toEqual([null, null]);
  expect(b.joining).toBeNull();
});

it('a run whose lease has run out reports that another process keeps the ledger locked, and ends with 75 after 15 s', async () => {
  const { open, path } = fileSite();
  const clock = { a: 0 };
  const a = await open(run('a', { monotonicNow: () => clock.a }));
  expect(await ask(a, 'k').answered).toBeNull();
  lockFile(path);
  clock.a = LEASE_MS;
  await a.mayCall();
  expect(a.joining).toEqual({ reason: 'claim', what: 'another process to finish its write to the ledger', untilMs: LEASE_MS + 15_000 });
  clock.a = LEASE_MS + 15_000;
  await a.mayCall();
  clock.a++;
  expect(() => a.mayCall()).toThrow(expect.objectContaining({ exitCode: 75, code: 'ledger_busy' }));
});

it('the 15 s that a run waits for a locked ledger start again after the ledger was free', async () => {
  const { open, path } = fileSite();
  const clock = { a: LEASE_MS };
  const a = await open(run('a', { monotonicNow: () => clock.a }));
  const first = lockFile(path);
  clock.a = 2 * LEASE_MS;
  await a.mayCall();
  first.exec('ROLLBACK');
  await expect.poll(() => a.joining).toBeNull();
  lockFile(path);
  clock.a = 3 * LEASE_MS;
  await a.mayCall();
  expect(a.joining).toMatchObject({ untilMs: 3 * LEASE_MS + 15_000 });
});

it('a run that only waits for another run’s answer ends with 75, too, when the ledger stays locked', async () => {
  const { open, path } = fileSite();
  const clock = { b: 0 };
  const [a, b] = [await open(run('a')), await open(run('b', { monotonicNow: () => clock.b }))];
  expect(await ask(a, 'k').answered).toBeNull();
  const failure = new Promise((resolve) => b.listen({ moved: () => undefined, failed: resolve }));
  const waits = ask(b, 'k');
  await expect.poll(() => b.waiting).toBe(1);
  lockFile(path);
  clock.b = LEASE_MS - 1_000;
  await expect.poll(() => b.joining).not.toBeNull();
  clock.b = LEASE_MS + 14_001;
  expect(await failure).toMatchObject({ exitCode: 75, code: 'ledger_busy' });
  expect(waits.isAnswered()).toBe(false);
});

it('a run goes on once another process has finished its write', async () => {
  const { open, path } = fileSite();
  const [a, b] = [await open(run('a')), await open(run('b'))];
  expect([await ask(a, 'k').answered, await ask(b, 'l').answered]).toEqual([null, null]);
  const writers = [`${path}-claims`, path].map((file) => new DatabaseSync(file));
  for (const writer of writers) writer.exec('PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE');
  const waits = ask(b, 'k');
  answer(a, 'k');
  await new Promise((resolve) => setImmediate(resolve));
  expect([waits.isAnswered(), b.room()]).toEqual([false, null]);
  for (const writer of writers) {
    writer.exec('ROLLBACK');
    writer.close();
  }
  expect(await waits.answered).toEqual(HIT);
});

it('a run ends with 75 when another process keeps the claims file locked for 15 s', async () => {
  const { open, path } = fileSite();
  const clock = { b: 0 };
  const [a, b] = [await open(run('a')), await open(run('b', { monotonicNow: () => clock.b }))];
  expect([await ask(a, 'k').answered, await ask(b, 'l').answered]).toEqual([null, null]);
  const failure = new Promise((resolve) => b.listen({ moved: () => undefined, failed: resolve }));
  lockFile(`${path}-claims`);
  const never = ask(b, 'm');
  await expect.poll(() => b.joining).toEqual({ reason: 'claim', what: 'another run to show what it is asking for', untilMs: 15_000 });
  clock.b = 15_001;
  expect(await failure).toMatchObject({ exitCode: 75, code: 'ledger_busy' });
  expect(never.isAnswered()).toBe(false);
});

it('a run does not return an answer of another run that was purged while it waited for a different one', async () => {
  const { open, path } = fileSite();
  const [a, b] = [await open(run('a')), await open(run('b'))];
  const keys = ['ada@works.example', 'bo@works.example'];
  expect(await Promise.all(keys.map((key) => ask(a, key).answered))).toEqual([null, null]);
  const waits = ask(b, 'bo@works.example');
  answer(a, 'ada@works.example');
  await a.keep();
  expect(await purgeLedger(path, { email: 'ada@works.example', before: null })).toMatchObject({ answers: 1 });
  answer(a, 'bo@works.example');
  expect(await waits.answered).toEqual(HIT);
  expect(await ask(b, 'ada@works.example').answered).toBeNull();
});

it('a flush without new answers still syncs the published ones to disk, once', () => {
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

it('closing a ledger that waits for another run leaves neither its reader nor its calls waiting', async () => {
  const { open } = fileSite();
  const [a, b] = [await open(run('a')), await open(run('b'))];
  expect(await ask(a, 'k').answered).toBeNull();
  const waits = ask(b, 'k');
  await expect.poll(() => b.waiting).toBe(1);
  await b.close();
  expect([waits.isAnswered(), b.room(), b.mayCall()]).toEqual([false, null, true]);
  answer(a, 'k');
  await a.keep();
});

it('a note of another shard about a lookup that it is asking for is no answer', async () => {
  const { open } = fileSite();
  const [first, second] = [
    await open({ ...run('job'), claimant: 'shard 0', shared: true }),
    await open({ ...run('job'), claimant: 'shard 1', shared: true }),
  ];
  expect(await ask(first, 'k').answered).toBeNull();
  const waits = ask(second, 'k');
  await expect.poll(() => second.waiting).toBe(1);
  answer(first, 'k', { kind: 'asking', text: '["k",1,1,"ticket"]' });
  await first.keep();
  expect(await ask(first, 'other').answered).toBeNull();
  answer(first, 'other');
  await first.keep();
  // The second run has read the file since the note was written.
  await expect.poll(() => second.get(scopeOf(second), 'k')).toMatchObject({ kind: 'asking' });
  expect(await ask(second, 'other').answered).toEqual(HIT);
  expect([waits.isAnswered(), second.waiting]).toEqual([false, 1]);
  first.put([{ scope: scopeOf(first), key: 'k', answer: HIT, again: true }]);
  await first.keep();
  expect(await waits.answered).toEqual(HIT);
});
