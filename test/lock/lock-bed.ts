/** Job locks on a real folder. The test file mocks the disk and the sleeps with `mocks.ts`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, vi } from 'vitest';
import { LEASE_MS, type Holder } from '../../src/lock/holder.ts';
import { currentHolder, JobLock, type LockOptions } from '../../src/lock/job-lock.ts';
import type { MillraceError } from '../../src/util/errors.ts';
import { clock, disk } from './mocks.ts';

export { clock, disk };
export { currentHolder, JobLock, LEASE_MS, type Holder };

export const RENEW_EVERY_MS = 10_000;
/** The signal of a stopping run. */
export const STOPPED = AbortSignal.abort();

/** The folder and the lock of the current test. A test may change `path`. */
export const place = { folder: '', path: '' };
/** The losses that locks reported in the current test. */
export const lost: MillraceError[] = [];
const held: JobLock[] = [];

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  clock.ms = Date.now();
  clock.onSleep = () => undefined;
  disk.before = async () => undefined;
  place.folder = await mkdtemp(join(tmpdir(), 'job-lock-'));
  place.path = join(place.folder, 'out.csv.checkpoint.json.lock');
});
afterEach(async () => {
  disk.before = async () => undefined;
  for (const lock of held.splice(0)) await lock.release();
  lost.length = 0;
  vi.useRealTimers();
  await rm(place.folder, { recursive: true });
});

export async function acquire(more: Partial<LockOptions> = {}): Promise<JobLock> {
  const lock = await JobLock.acquire({
    path: place.path,
    now: () => clock.ms,
    monotonicNow: () => clock.ms,
    onLost: (error) => lost.push(error),
    ...more,
  });
  held.push(lock);
  return lock;
}

export async function onDisk(): Promise<Holder> {
  return JSON.parse(await readFile(place.path, 'utf8')) as Holder;
}

/** The lock of a run that was just killed. Its process was real and has ended. */
export async function deadHolder(): Promise<Holder> {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
  await once(child, 'exit');
  const lock = await acquire();
  const holder = await onDisk();
  await lock.release();
  return { ...holder, nonce: 'dead', pid: child.pid ?? 0 };
}

/** A holder on another machine. */
export const elsewhere = (more: Partial<Holder> = {}): Holder => ({
  nonce: 'theirs',
  host: 'far-away',
  boot: 'b',
  pid: 7,
  processStart: '1',
  since: '2026-01-01T00:00:00.000Z',
  renewedAt: clock.ms,
  overtook: false,
  ...more,
});
export const put = (holder: Holder): Promise<void> => writeFile(place.path, JSON.stringify(holder));

/** Resolves when `until` holds. Between checks other work proceeds; only the test's own timeout ends the wait. */
export async function when(until: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await until())) await new Promise((resolve) => setImmediate(resolve));
}
