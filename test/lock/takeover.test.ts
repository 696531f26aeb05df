import type * as files from 'node:fs/promises';
import { readdir, writeFile } from 'node:fs/promises';
import { describe, expect, it, vi } from 'vitest';
import type { JobLock } from './lock-bed.ts';
import {
  acquire,
  clock,
  currentHolder,
  deadHolder,
  disk,
  elsewhere,
  type Holder,
  LEASE_MS,
  onDisk,
  place,
  put,
  STOPPED,
} from './lock-bed.ts';

vi.mock('node:fs/promises', async (original) => (await import('./mocks.ts')).mockFiles(await original()));
vi.mock('node:timers/promises', async () => (await import('./mocks.ts')).mockTimers);
/** The real disk, past the hook. */
const { readFile: readFileNow } = await vi.importActual<typeof files>('node:fs/promises');

describe('a dead holder', () => {
  it('loses the job at once when it died on this machine', async () => {
    const began = clock.ms;
    await put(await deadHolder());
    expect(await currentHolder(place.path, clock.ms)).toBeNull();
    const lock = await acquire();
    await lock.check();
    expect(clock.ms).toBe(began);
    // No other process can still have its files open.
    expect(lock.previousHolderMayReturn).toBe(false);
    expect(await readdir(place.folder)).toEqual(['out.csv.checkpoint.json.lock']);
  });

  it('counts as dead also when its process id is reused', async () => {
    const ours = await deadHolder();
    await put({ ...ours, pid: process.pid, processStart: '1' });
    await (await acquire({ signal: STOPPED })).check();
  });

  it('loses the job after one lease when it ran elsewhere, and may come back', async () => {
    await put(elsewhere({ renewedAt: clock.ms - 12_000 }));
    const began = clock.ms;
    const lock = await acquire();
    expect(clock.ms - began).toBeGreaterThan(LEASE_MS - 12_000);
    expect(clock.ms - began).toBeLessThanOrEqual(LEASE_MS - 12_000 + 1_000);
    expect(lock.previousHolderMayReturn).toBe(true);
  });
});

describe('a holder elsewhere whose clock is wrong', () => {
  it.each([3_600_000, 1])('loses the job when it is %s ms ahead and does not renew for one lease', async (ahead) => {
    const began = clock.ms;
    await put(elsewhere({ renewedAt: clock.ms + ahead }));
    const lock = await acquire();
    expect(clock.ms - began).toBe(LEASE_MS);
    expect(lock.previousHolderMayReturn).toBe(true);
  });

  it('keeps the job when it renews', async () => {
    let renewedAt = clock.ms + 3_600_000;
    clock.onSleep = () => put(elsewhere({ renewedAt: renewedAt++ }));
    await put(elsewhere({ renewedAt }));
    await expect(acquire()).rejects.toMatchObject({ code: 'job_held' });
  });
});

describe('a successor of a holder that may come back', () => {
  const overtaken = async (): Promise<JobLock> => {
    await put(elsewhere({ renewedAt: clock.ms - LEASE_MS - 1 }));
    return acquire();
  };

  it('records in the lock that files may be shared, until none is', async () => {
    const lock = await overtaken();
    expect([lock.previousHolderMayReturn, await onDisk()]).toMatchObject([true, { overtook: true, pid: process.pid }]);
    await lock.filesReplaced();
    expect([lock.previousHolderMayReturn, await onDisk()]).toMatchObject([false, { overtook: false, pid: process.pid }]);
    await lock.release();
    expect(await readdir(place.folder)).toEqual([]);
  });

  it('leaves the record to its own successor when it dies', async () => {
    const dead = await deadHolder();
    await put({ ...dead, overtook: true });
    expect((await acquire()).previousHolderMayReturn).toBe(true);
  });

  it('leaves the lock and the record when it stops while files may be shared', async () => {
    await (await overtaken()).release();
    expect(await onDisk()).toMatchObject({ overtook: true });
    // The lock names this live process, so the next run would wait for it.
    await put({ ...(await deadHolder()), overtook: (await onDisk()).overtook });
    expect((await acquire()).previousHolderMayReturn).toBe(true);
  });

  it('replaces the lock without a gap, so that every reader sees the old or the new holder', async () => {
    const seen = new Set<string>();
    disk.before = async () => {
      const text = await readFileNow(place.path, 'utf8').catch(() => 'none');
      seen.add(text === 'none' ? text : (JSON.parse(text) as Holder).host);
    };
    await overtaken();
    expect([...seen].sort()).toEqual(['far-away', (await onDisk()).host].sort());
  });
});

describe('files of killed runs beside the lock', () => {
  it('disappear with the next run, and those of live runs stay', async () => {
    const dead = JSON.stringify(await deadHolder());
    for (const name of ['.a.tmp', '.b.next', '.b.next.c.removal', '.d.stale']) await writeFile(`${place.path}${name}`, dead);
    await writeFile(`${place.path}.e.next`, JSON.stringify(elsewhere()));
    await writeFile(`${place.path}.mine`, dead);
    await acquire();
    expect((await readdir(place.folder)).sort()).toEqual(['', '.e.next', '.mine'].map((name) => `out.csv.checkpoint.json.lock${name}`));
  });
});
