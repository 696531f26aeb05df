import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { acquire, clock, disk, elsewhere, LEASE_MS, lost, onDisk, place, put, RENEW_EVERY_MS, when } from './lock-bed.ts';

vi.mock('node:fs/promises', async (original) => (await import('./mocks.ts')).mockFiles(await original()));
vi.mock('node:timers/promises', async () => (await import('./mocks.ts')).mockTimers);

describe('a holder that lost the job', () => {
  it('notices the loss in check(), names the new holder, and leaves its lock in place', async () => {
    const paused = await acquire();
    clock.ms += LEASE_MS + 1;
    await rm(place.path);
    await put(elsewhere());
    await expect(paused.check()).rejects.toMatchObject({
      exitCode: 75,
      code: 'job_lost',
      message: 'this run lost the job: process 7 on far-away took it over at 2026-01-01T00:00:00.000Z',
    });
    const theirs = await readFile(place.path, 'utf8');
    vi.advanceTimersByTime(RENEW_EVERY_MS);
    await when(() => lost.length > 0);
    expect(lost[0]).toMatchObject({ code: 'job_lost' });
    await paused.release();
    expect(await readFile(place.path, 'utf8')).toBe(theirs);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('notices that another run of its own process holds the lock', async () => {
    const paused = await acquire();
    const ours = await onDisk();
    // Seen from another machine, where its process cannot be checked.
    await writeFile(place.path, JSON.stringify({ ...ours, host: 'far-away' }));
    clock.ms += LEASE_MS + 1;
    const second = await acquire();
    expect(second.previousHolderMayReturn).toBe(true);
    await expect(paused.check()).rejects.toMatchObject({ code: 'job_lost' });
    await paused.release();
    await second.check();
  });

  it('notices that its lock file was removed', async () => {
    const lock = await acquire();
    await rm(place.path);
    await expect(lock.check()).rejects.toMatchObject({ code: 'job_lost', message: expect.stringContaining('gone') });
  });
});

describe('a holder whose disk fails for a moment', () => {
  it('keeps the job and renews the lock when the disk works again', async () => {
    const lock = await acquire();
    let failures = 0;
    disk.before = async (call) => {
      if (call !== 'stat') return;
      failures++;
      throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
    };
    await expect(lock.check()).rejects.toMatchObject({ exitCode: 74, code: 'lock_failed' });
    vi.advanceTimersByTime(RENEW_EVERY_MS);
    await when(() => failures === 2);
    disk.before = async () => undefined;
    clock.ms += 5;
    vi.advanceTimersByTime(RENEW_EVERY_MS);
    await when(async () => (await onDisk()).renewedAt === clock.ms);
    expect(lost).toEqual([]);
  });
});

describe('checkNow()', () => {
  it('agrees with check()', async () => {
    const lock = await acquire();
    lock.checkNow();
    await rm(place.path);
    expect(lock.checkNow).toThrow(expect.objectContaining({ exitCode: 75, code: 'job_lost' }));
    // The loss is reported once.
    expect(await lock.loss()).toBe(lost[0]);
    expect(lost).toHaveLength(1);
  });

  it('names the new holder', async () => {
    const lock = await acquire();
    expect(await lock.loss()).toBeNull();
    await rm(place.path);
    await put(elsewhere());
    expect(lock.checkNow).toThrow('process 7 on far-away took it over');
  });

  it('reports a missing folder as a failed disk, because no run has taken the job over', async () => {
    place.path = join(place.folder, 'mounted', 'lock');
    const lock = await acquire();
    await rm(join(place.folder, 'mounted'), { recursive: true });
    expect(lock.checkNow).toThrow(expect.objectContaining({ exitCode: 74, code: 'lock_failed' }));
    await expect(lock.check()).rejects.toMatchObject({ exitCode: 74, code: 'lock_failed' });
    expect([await lock.loss(), lost]).toEqual([null, []]);
  });
});
