import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type * as files from 'node:fs/promises';
import { mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LEASE_MS, type Holder } from '../../src/checkpoint/holder.ts';
import { currentHolder, JobLock, type LockOptions } from '../../src/checkpoint/job-lock.ts';
import type { MillraceError } from '../../src/errors.ts';
import { seeded } from '../support/leads.ts';

/** What stands between the lock and the disk: a test may delay each call, or let it fail. */
const disk = vi.hoisted(() => ({ before: async (_call: string, _path: string): Promise<void> => undefined }));
/** The clock: stands still but for what the lock sleeps and what a test adds. */
const clock = vi.hoisted(() => ({ ms: 0, onSleep: (): unknown => undefined }));

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof files>();
  const guarded = Object.fromEntries(
    (['open', 'link', 'rename', 'rm', 'readFile', 'stat'] as const).map((name) => [
      name,
      async (...args: readonly [string, ...unknown[]]) => {
        // A link and a rename are told apart by where they lead.
        await disk.before(name, name === 'link' ? String(args[1]) : args[0]);
        return (real[name] as (...args: readonly unknown[]) => unknown)(...args);
      },
    ]),
  );
  return { ...real, ...guarded };
});
/** Past what a test makes of the disk. */
const { readFile: readFileNow } = await vi.importActual<typeof files>('node:fs/promises');

vi.mock('node:timers/promises', () => ({
  setTimeout: async (ms: number) => {
    clock.ms += ms;
    await clock.onSleep();
  },
}));

const RENEW_EVERY_MS = 10_000;
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];
const STOPPED = AbortSignal.abort();

let folder: string;
let path: string;
let held: JobLock[] = [];
let lost: MillraceError[] = [];

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  clock.ms = Date.now();
  clock.onSleep = () => undefined;
  disk.before = async () => undefined;
  folder = await mkdtemp(join(tmpdir(), 'job-lock-'));
  path = join(folder, 'out.csv.checkpoint.json.lock');
});
afterEach(async () => {
  disk.before = async () => undefined;
  for (const lock of held) await lock.release();
  held = [];
  lost = [];
  vi.useRealTimers();
  await rm(folder, { recursive: true });
});

async function acquire(more: Partial<LockOptions> = {}): Promise<JobLock> {
  const lock = await JobLock.acquire({ path, now: () => clock.ms, monotonicNow: () => clock.ms, onLost: (error) => lost.push(error), ...more });
  held.push(lock);
  return lock;
}

async function onDisk(): Promise<Holder> {
  return JSON.parse(await readFile(path, 'utf8')) as Holder;
}

/** What a run leaves behind that was killed a moment ago: a real process, which is gone. */
async function deadHolder(): Promise<Holder> {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
  await once(child, 'exit');
  const lock = await acquire();
  const holder = await onDisk();
  await lock.release();
  return { ...holder, nonce: 'dead', pid: child.pid ?? 0 };
}

const elsewhere = (more: Partial<Holder> = {}): Holder => ({ nonce: 'theirs', host: 'far-away', boot: 'b', pid: 7, processStart: '1', since: '2026-01-01T00:00:00.000Z', renewedAt: clock.ms, overtook: false, ...more });
const put = (holder: Holder): Promise<void> => writeFile(path, JSON.stringify(holder));

/** Resolves when `until` holds; gives way to the disk in between. The test's own time limit is the only one. */
async function when(until: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await until())) await new Promise((resolve) => setImmediate(resolve));
}

describe('JobLock', () => {
  it('is a file of mode 0600 that says who holds it, and is gone once it is released', async () => {
    const lock = await acquire();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await onDisk()).toMatchObject({ pid: process.pid, since: new Date(clock.ms).toISOString(), renewedAt: clock.ms });
    expect(await currentHolder(path, clock.ms)).toEqual(await onDisk());
    expect(lock.tookOverFromUnknown).toBe(false);
    await lock.check();
    await lock.release();
    expect(await readdir(folder)).toEqual([]);
    expect(await currentHolder(path, clock.ms)).toBeNull();
  });

  it('is renewed every ten seconds, under the same nonce, and not once it is released', async () => {
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

  it('makes the folder that it lies in', async () => {
    path = join(folder, 'a', 'b', 'lock');
    await (await acquire()).check();
  });

  it('a folder that is none: 74, naming the lock', async () => {
    await writeFile(join(folder, 'file'), '');
    path = join(folder, 'file', 'lock');
    await expect(acquire()).rejects.toMatchObject({ exitCode: 74, code: 'lock_failed', message: expect.stringContaining(path) });
  });
});

describe('a holder that is alive', () => {
  it('is waited for over one lease, then 75 says who it is', async () => {
    const began = clock.ms;
    clock.onSleep = () => put(elsewhere());
    await put(elsewhere());
    const waits: Holder[] = [];
    const refusal = await acquire({ onWait: (holder) => waits.push(holder) }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ exitCode: 75, code: 'job_held', message: 'another run holds this job: process 7 on far-away, since 2026-01-01T00:00:00.000Z' });
    expect(clock.ms - began).toBe(LEASE_MS);
    expect(waits).toHaveLength(1);
    expect(await onDisk()).toMatchObject({ nonce: 'theirs' });
  });

  it('is waited for by a patient run for as long as its holder lives, and no longer', async () => {
    const began = clock.ms;
    await put(elsewhere());
    clock.onSleep = () => (clock.ms - began < 5 * LEASE_MS ? put(elsewhere()) : rm(path, { force: true }));
    await acquire({ patient: true });
    expect(clock.ms - began).toBeGreaterThanOrEqual(5 * LEASE_MS);
    expect(await onDisk()).toMatchObject({ pid: process.pid });
  });

  it('is left at once by a run that is to stop', async () => {
    const began = clock.ms;
    await put(elsewhere());
    await expect(acquire({ signal: STOPPED })).rejects.toMatchObject({ exitCode: 75 });
    expect(clock.ms).toBe(began);
  });

  it('is taken when it was let go just as it was looked at, by a run that is to stop as well', async () => {
    await symlink(join(folder, 'nowhere'), path);
    clock.onSleep = () => rm(path, { force: true });
    await (await acquire({ signal: STOPPED })).check();
  });

  it('a link that leads nowhere in its place: 74 after a lease, or when the run is to stop', async () => {
    await symlink(join(folder, 'nowhere'), path);
    // It looks many times a second: a tenth of that shows the same.
    clock.onSleep = () => (clock.ms += 90);
    const before = clock.ms;
    await expect(acquire()).rejects.toMatchObject({ exitCode: 74, code: 'lock_failed', message: expect.stringContaining(path) });
    expect(clock.ms - before).toBeGreaterThanOrEqual(LEASE_MS);
    await expect(acquire({ signal: STOPPED })).rejects.toMatchObject({ exitCode: 74, code: 'lock_failed' });
  });

  it('is taken all the same when another run sweeps away what it is made of', async () => {
    let swept = 0;
    disk.before = async (call, to) => {
      if (call !== 'link' || to !== path || swept++ > 0) return;
      for (const name of await readdir(folder)) await rm(join(folder, name));
    };
    const lock = await acquire();
    expect(swept).toBeGreaterThan(1);
    await expect(lock.check()).resolves.toBeUndefined();
  });

  it('sweeps away what a run left that was killed before it had written a byte', async () => {
    await writeFile(`${path}.0123.tmp`, '');
    await acquire();
    expect(await readdir(folder)).toEqual(['out.csv.checkpoint.json.lock']);
  });

  it('leaves the job to the one that waits as soon as it lets go', async () => {
    const first = await acquire();
    clock.onSleep = () => first.release();
    const second = await acquire();
    await second.check();
    expect(second.tookOverFromUnknown).toBe(false);
  });

  it('is not taken for dead because no process of this container has its id', async () => {
    const ours = await deadHolder();
    expect(ours.boot).not.toBe('');
    await put({ ...ours, boot: ours.boot.replace(/\d\]$/, (end) => (end === '0]' ? '1]' : '0]')) });
    await expect(acquire({ signal: STOPPED })).rejects.toMatchObject({ code: 'job_held' });
  });
});

describe('a holder that is gone', () => {
  it('is taken over at once when it died on this machine', async () => {
    const began = clock.ms;
    await put(await deadHolder());
    expect(await currentHolder(path, clock.ms)).toBeNull();
    const lock = await acquire();
    await lock.check();
    expect(clock.ms).toBe(began);
    // Nobody else can still have its files open.
    expect(lock.tookOverFromUnknown).toBe(false);
    expect(await readdir(folder)).toEqual(['out.csv.checkpoint.json.lock']);
  });

  it('is known as dead even when its process id is used again', async () => {
    const ours = await deadHolder();
    await put({ ...ours, pid: process.pid, processStart: '1' });
    await (await acquire({ signal: STOPPED })).check();
  });

  it('is taken over after one lease when it was elsewhere, and may then come back', async () => {
    await put(elsewhere({ renewedAt: clock.ms - 12_000 }));
    const began = clock.ms;
    const lock = await acquire();
    expect(clock.ms - began).toBeGreaterThan(LEASE_MS - 12_000);
    expect(clock.ms - began).toBeLessThanOrEqual(LEASE_MS - 12_000 + 1_000);
    expect(lock.tookOverFromUnknown).toBe(true);
  });
});

describe('a holder elsewhere whose clock is wrong', () => {
  it.each([3_600_000, 1])('by %s ms ahead: it is gone when it does not renew for one lease', async (ahead) => {
    const began = clock.ms;
    await put(elsewhere({ renewedAt: clock.ms + ahead }));
    const lock = await acquire();
    expect(clock.ms - began).toBe(LEASE_MS);
    expect(lock.tookOverFromUnknown).toBe(true);
  });

  it('and alive when it does', async () => {
    let renewedAt = clock.ms + 3_600_000;
    clock.onSleep = () => put(elsewhere({ renewedAt: renewedAt++ }));
    await put(elsewhere({ renewedAt }));
    await expect(acquire()).rejects.toMatchObject({ code: 'job_held' });
  });
});

describe('a holder that was paused and lost the job', () => {
  it('notices it in check(), naming who took over, and takes nothing away from it', async () => {
    const paused = await acquire();
    clock.ms += LEASE_MS + 1;
    await rm(path);
    await put(elsewhere());
    await expect(paused.check()).rejects.toMatchObject({ exitCode: 75, code: 'job_lost', message: 'this run lost the job: process 7 on far-away took it over at 2026-01-01T00:00:00.000Z' });
    const theirs = await readFile(path, 'utf8');
    vi.advanceTimersByTime(RENEW_EVERY_MS);
    await when(() => lost.length > 0);
    expect(lost[0]).toMatchObject({ code: 'job_lost' });
    await paused.release();
    expect(await readFile(path, 'utf8')).toBe(theirs);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is overtaken by another run of this program, which holds the lock from then on', async () => {
    const paused = await acquire();
    const ours = await onDisk();
    // Seen from another machine: it cannot be asked whether it lives.
    await writeFile(path, JSON.stringify({ ...ours, host: 'far-away' }));
    clock.ms += LEASE_MS + 1;
    const second = await acquire();
    expect(second.tookOverFromUnknown).toBe(true);
    await expect(paused.check()).rejects.toMatchObject({ code: 'job_lost' });
    await paused.release();
    await second.check();
  });

  it('notices as well when its lock file was taken away', async () => {
    const lock = await acquire();
    await rm(path);
    await expect(lock.check()).rejects.toMatchObject({ code: 'job_lost', message: expect.stringContaining('gone') });
  });

  it('has not lost it because the disk failed for a moment', async () => {
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

describe('one that took over from a holder that may come back', () => {
  const overtaken = async (): Promise<JobLock> => {
    await put(elsewhere({ renewedAt: clock.ms - LEASE_MS - 1 }));
    return acquire();
  };

  it('says so in the lock, until no file is shared any more', async () => {
    const lock = await overtaken();
    expect([lock.tookOverFromUnknown, await onDisk()]).toMatchObject([true, { overtook: true, pid: process.pid }]);
    await lock.filesReplaced();
    expect([lock.tookOverFromUnknown, await onDisk()]).toMatchObject([false, { overtook: false, pid: process.pid }]);
    await lock.release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('dies: whoever comes next knows', async () => {
    const dead = await deadHolder();
    await put({ ...dead, overtook: true });
    expect((await acquire()).tookOverFromUnknown).toBe(true);
  });

  it('leaves before that: the lock stays, and whoever comes next knows', async () => {
    await (await overtaken()).release();
    expect(await onDisk()).toMatchObject({ overtook: true });
    // Its process lives on here, and would be waited for.
    await put({ ...(await deadHolder()), overtook: (await onDisk()).overtook });
    expect((await acquire()).tookOverFromUnknown).toBe(true);
  });

  it('leaves no moment without a lock: who comes in between sees one or the other', async () => {
    const seen = new Set<string>();
    disk.before = async () => {
      const text = await readFileNow(path, 'utf8').catch(() => 'none');
      seen.add(text === 'none' ? text : (JSON.parse(text) as Holder).host);
    };
    await overtaken();
    expect([...seen].sort()).toEqual(['far-away', (await onDisk()).host].sort());
  });
});

describe('what killed runs leave beside the lock', () => {
  it('goes with the next one, and what belongs to the living stays', async () => {
    const dead = JSON.stringify(await deadHolder());
    for (const name of ['.a.tmp', '.b.next', '.b.next.c.removal', '.d.stale']) await writeFile(`${path}${name}`, dead);
    await writeFile(`${path}.e.next`, JSON.stringify(elsewhere()));
    await writeFile(`${path}.mine`, dead);
    await acquire();
    expect((await readdir(folder)).sort()).toEqual(['', '.e.next', '.mine'].map((name) => `out.csv.checkpoint.json.lock${name}`));
  });
});

describe('the look that cannot wait', () => {
  it('says the same', async () => {
    const lock = await acquire();
    lock.checkNow();
    await rm(path);
    expect(lock.checkNow).toThrow(expect.objectContaining({ exitCode: 75, code: 'job_lost' }));
    // Told once.
    expect(await lock.loss()).toBe(lost[0]);
    expect(lost).toHaveLength(1);
  });

  it('names who took over', async () => {
    const lock = await acquire();
    expect(await lock.loss()).toBeNull();
    await rm(path);
    await put(elsewhere());
    expect(lock.checkNow).toThrow('process 7 on far-away took it over');
  });

  it('a folder that is gone is a disk that failed: nobody has taken anything over', async () => {
    path = join(folder, 'mounted', 'lock');
    const lock = await acquire();
    await rm(join(folder, 'mounted'), { recursive: true });
    expect(lock.checkNow).toThrow(expect.objectContaining({ exitCode: 74, code: 'lock_failed' }));
    await expect(lock.check()).rejects.toMatchObject({ exitCode: 74, code: 'lock_failed' });
    expect([await lock.loss(), lost]).toEqual([null, []]);
  });
});

describe('a lock file that is not whole, or not ours', () => {
  const foreign = ['', '{"nonce":"n","host":"h","bo', 'locked by hand\n', 'null', '{}', '[]', '17', '{"nonce":"n","host":"h","boot":"b","pid":"7"}'];

  it.each(foreign)('%j counts as held since it was written', async (text) => {
    await writeFile(path, text);
    await utimes(path, clock.ms / 1_000, clock.ms / 1_000);
    expect(await currentHolder(path, clock.ms)).toMatchObject({ host: 'an unknown host' });
    await expect(acquire({ signal: STOPPED })).rejects.toMatchObject({ exitCode: 75, message: expect.stringContaining('an unknown host') });
    const lock = await acquire();
    expect(lock.tookOverFromUnknown).toBe(true);
    await lock.check();
  });
});

describe('a disk without hard links', () => {
  const failing = (code: string) => async (call: string): Promise<void> => {
    if (call === 'link') throw Object.assign(new Error(`${code}: link`), { code });
  };

  it.each(NO_LINKS)('%s: the file is created in place, by one alone', async (code) => {
    disk.before = failing(code);
    const lock = await acquire();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await onDisk()).toMatchObject({ pid: process.pid });
    await lock.check();
    await expect(acquire({ signal: STOPPED })).rejects.toMatchObject({ code: 'job_held' });
    await lock.release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('any other failure of a link is storage that failed', async () => {
    disk.before = failing('ENOSPC');
    await expect(acquire()).rejects.toMatchObject({ exitCode: 74, code: 'lock_failed' });
    expect(await readdir(folder)).toEqual([]);
  });
});

/** Many that want one job at the same time, with the disk answering in another order for each seed. */
describe('racers', () => {
  const SEEDS = 40;
  const RACERS = 4;

  async function race(seed: number, links: boolean): Promise<JobLock[]> {
    const random = seeded(seed);
    disk.before = async (call) => {
      if (call === 'link' && !links) throw Object.assign(new Error('EPERM'), { code: 'EPERM' });
      for (let turns = Math.floor(random() * 6); turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
    };
    // Held by a racer, or being taken over by one: those that are to stop do not wait for it.
    const ended = Array.from({ length: RACERS }, () => acquire({ signal: STOPPED }).catch((error: unknown) => error));
    const racing = { left: RACERS };
    // Whoever has won must not lose it again, not for a moment.
    const watched = ended.map(async (entered) => {
      const lock = await entered;
      racing.left--;
      if (!(lock instanceof JobLock)) return;
      do await lock.check();
      while (racing.left > 0);
    });
    const results = await Promise.all(ended);
    await Promise.all(watched);
    const winners = results.filter((result) => result instanceof JobLock);
    for (const result of results) if (!(result instanceof JobLock)) expect(result).toMatchObject({ code: 'job_held' });
    return winners;
  }

  it.each([true, false])('a free job goes to exactly one (hard links: %s)', async (links) => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const winners = await race(seed, links);
      expect(winners.length, `seed ${seed}`).toBe(1);
      await winners[0]?.release();
      expect(await readdir(folder), `seed ${seed}`).toEqual([]);
    }
  });

  it.each([true, false])('so does one whose holder is dead (hard links: %s)', async (links) => {
    const dead = await deadHolder();
    for (let seed = 1; seed <= SEEDS; seed++) {
      disk.before = async () => undefined;
      await put(dead);
      const winners = await race(seed, links);
      expect(winners.length, `seed ${seed}`).toBe(1);
      await winners[0]?.release();
      expect(await readdir(folder), `seed ${seed}`).toEqual([]);
    }
  });

  it('and one whose holder died, and then the one who was taking its place', async () => {
    const dead = await deadHolder();
    for (let seed = 1; seed <= SEEDS / 2; seed++) {
      await put(dead);
      // Killed between its claim and its place: the claim stays.
      disk.before = async (call, at) => {
        if (call === 'rename' && at.endsWith('.next')) throw new Error('killed');
      };
      await acquire({ signal: STOPPED }).catch(() => undefined);
      disk.before = async () => undefined;
      const [claim] = (await readdir(folder)).filter((name) => name.endsWith('.next'));
      expect(claim).toBeDefined();
      await writeFile(join(folder, claim ?? ''), JSON.stringify({ ...dead, nonce: `dead too ${seed}` }));
      const winners = await race(seed, true);
      // All may have seen the place being taken, and stopped as they were told to.
      if (winners.length === 0) winners.push(await acquire());
      expect(winners.length, `seed ${seed}`).toBe(1);
      await winners[0]?.release();
      expect(await readdir(folder), `seed ${seed}`).toEqual([]);
    }
  });
});
