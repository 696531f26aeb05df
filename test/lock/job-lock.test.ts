import { readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import {
  acquire,
  clock,
  currentHolder,
  deadHolder,
  disk,
  elsewhere,
  type Holder,
  LEASE_MS,
  lost,
  onDisk,
  place,
  put,
  RENEW_EVERY_MS,
  STOPPED,
  when,
} from './lock-bed.ts';

vi.mock('node:fs/promises', async (original) => (await import('./mocks.ts')).mockFiles(await original()));
vi.mock('node:timers/promises', async () => (await import('./mocks.ts')).mockTimers);

describe('JobLock', () => {
  it('creates a file of mode 0600 that names its holder, and removes it at the release', async () => {
    const lock = await acquire();
    expect((await stat(place.path)).mode & 0o777).toBe(0o600);
    expect(await onDisk()).toMatchObject({ pid: process.pid, since: new Date(clock.ms).toISOString(), renewedAt: clock.ms });
    expect(await currentHolder(place.path, clock.ms)).toEqual(await onDisk());
    expect(lock.previousHolderMayReturn).toBe(false);
    await lock.check();
    await lock.release();
    expect(await readdir(place.folder)).toEqual([]);
    expect(await currentHolder(place.path, clock.ms)).toBeNull();
  });

  it('renews every ten seconds under the same nonce, and stops at the release', async () => {
    const lock = await acquire();
    const { renewedAt, ...rest } = await onDisk();
    for (let i = 1; i <= 4; i++) {
      clock.ms += RENEW_EVERY_MS;
      vi.advanceTimersByTime(RENEW_EVERY_MS);
      await when(async () => (await onDisk()).renewedAt === renewedAt + i * RENEW_EVERY_MS);
      expect(await onDisk()).toMatchObject(rest);
    }
    await lock.release();
    expect(vi.getTimerCount()).toBe(0);
    expect(lost).toEqual([]);
  });

  it('creates the folder of the lock', async () => {
    place.path = join(place.folder, 'a', 'b', 'lock');
    await (await acquire()).check();
  });

  it('fails with 74 and names the lock when its folder is a file', async () => {
    await writeFile(join(place.folder, 'file'), '');
    place.path = join(place.folder, 'file', 'lock');
    await expect(acquire()).rejects.toMatchObject({ exitCode: 74, code: 'lock_failed', message: expect.stringContaining(place.path) });
  });
});

describe('a live holder', () => {
  it('keeps the job: the next run waits one lease, then 75 names the holder', async () => {
    const began = clock.ms;
    clock.onSleep = () => put(elsewhere());
    await put(elsewhere());
    const waits: Holder[] = [];
    const refusal = await acquire({ onWait: (holder) => waits.push(holder) }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({
      exitCode: 75,
      code: 'job_held',
      message: 'another run holds this job: process 7 on far-away, since 2026-01-01T00:00:00.000Z',
    });
    expect(clock.ms - began).toBe(LEASE_MS);
    expect(waits).toHaveLength(1);
    expect(await onDisk()).toMatchObject({ nonce: 'theirs' });
  });

  it('keeps the job from a run with `untilReleased`, which waits as long as the holder lives', async () => {
    const began = clock.ms;
    await put(elsewhere());
    clock.onSleep = () => (clock.ms - began < 5 * LEASE_MS ? put(elsewhere()) : rm(place.path, { force: true }));
    await acquire({ untilReleased: true });
    expect(clock.ms - began).toBeGreaterThanOrEqual(5 * LEASE_MS);
    expect(await onDisk()).toMatchObject({ pid: process.pid });
  });

  it('ends the wait of a stopping run at once', async () => {
    const began = clock.ms;
    await put(elsewhere());
    await expect(acquire({ signal: STOPPED })).rejects.toMatchObject({ exitCode: 75 });
    expect(clock.ms).toBe(began);
  });

  it('passes the lock to a stopping run that reads it at the moment of the release', async () => {
    await symlink(join(place.folder, 'nowhere'), place.path);
    clock.onSleep = () => rm(place.path, { force: true });
    await (await acquire({ signal: STOPPED })).check();
  });

  it('with a dangling link for a lock ends the wait with 74: after one lease, or at once for a stopping run', async () => {
    await symlink(join(place.folder, 'nowhere'), place.path);
    // The lock is polled many times a second. A tenth of that shows the same.
    clock.onSleep = () => (clock.ms += 90);
    const before = clock.ms;
    await expect(acquire()).rejects.toMatchObject({ exitCode: 74, code: 'lock_failed', message: expect.stringContaining(place.path) });
    expect(clock.ms - before).toBeGreaterThanOrEqual(LEASE_MS);
    await expect(acquire({ signal: STOPPED })).rejects.toMatchObject({ exitCode: 74, code: 'lock_failed' });
  });

  it('does not lose the lock when another run sweeps the file that it is created from', async () => {
    let swept = 0;
    disk.before = async (call, to) => {
      if (call !== 'link' || to !== place.path || swept++ > 0) return;
      for (const name of await readdir(place.folder)) await rm(join(place.folder, name));
    };
    const lock = await acquire();
    expect(swept).toBeGreaterThan(1);
    await expect(lock.check()).resolves.toBeUndefined();
  });

  it('removes the empty file of a run that was killed while creating it', async () => {
    await writeFile(`${place.path}.0123.tmp`, '');
    await acquire();
    expect(await readdir(place.folder)).toEqual(['out.csv.checkpoint.json.lock']);
  });

  it('leaves the job to a waiting run at the release', async () => {
    const first = await acquire();
    clock.onSleep = () => first.release();
    const second = await acquire();
    await second.check();
    expect(second.previousHolderMayReturn).toBe(false);
  });

  it('counts as alive although no process of this container has its id', async () => {
    const ours = await deadHolder();
    expect(ours.boot).not.toBe('');
    await put({ ...ours, boot: ours.boot.replace(/\d\]$/, (end) => (end === '0]' ? '1]' : '0]')) });
    await expect(acquire({ signal: STOPPED })).rejects.toMatchObject({ code: 'job_held' });
  });
});
