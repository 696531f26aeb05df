import { readdir, stat, utimes, writeFile } from 'node:fs/promises';
import { describe, expect, it, vi } from 'vitest';
import { acquire, clock, currentHolder, disk, onDisk, place, STOPPED } from './lock-bed.ts';

vi.mock('node:fs/promises', async (original) => (await import('./mocks.ts')).mockFiles(await original()));
vi.mock('node:timers/promises', async () => (await import('./mocks.ts')).mockTimers);

describe('a lock file that is incomplete or foreign', () => {
  const texts = [
    '',
    '{"nonce":"n","host":"h","bo',
    'locked by hand\n',
    'null',
    '{}',
    '[]',
    '17',
    '{"nonce":"n","host":"h","boot":"b","pid":"7"}',
  ];

  it.each(texts)('%j counts as a holder that renewed when the file was written', async (text) => {
    await writeFile(place.path, text);
    await utimes(place.path, clock.ms / 1_000, clock.ms / 1_000);
    expect(await currentHolder(place.path, clock.ms)).toMatchObject({ host: 'an unknown host' });
    await expect(acquire({ signal: STOPPED })).rejects.toMatchObject({ exitCode: 75, message: expect.stringContaining('an unknown host') });
    const lock = await acquire();
    expect(lock.previousHolderMayReturn).toBe(true);
    await lock.check();
  });
});

describe('a disk without hard links', () => {
  const failing =
    (code: string) =>
    async (call: string): Promise<void> => {
      if (call === 'link') throw Object.assign(new Error(`${code}: link`), { code });
    };

  it.each(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])('(%s) lets one run alone create the lock file in place', async (code) => {
    disk.before = failing(code);
    const lock = await acquire();
    expect((await stat(place.path)).mode & 0o777).toBe(0o600);
    expect(await onDisk()).toMatchObject({ pid: process.pid });
    await lock.check();
    await expect(acquire({ signal: STOPPED })).rejects.toMatchObject({ code: 'job_held' });
    await lock.release();
    expect(await readdir(place.folder)).toEqual([]);
  });

  it('ends the run with 74 when a link fails for another reason', async () => {
    disk.before = failing('ENOSPC');
    await expect(acquire()).rejects.toMatchObject({ exitCode: 74, code: 'lock_failed' });
    expect(await readdir(place.folder)).toEqual([]);
  });
});
