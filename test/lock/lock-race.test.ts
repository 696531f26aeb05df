import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { seeded } from '../support/leads.ts';
import { casesOf } from '../support/sample.ts';
import { acquire, deadHolder, disk, JobLock, place, put, STOPPED } from './lock-bed.ts';

vi.mock('node:fs/promises', async (original) => (await import('./mocks.ts')).mockFiles(await original()));
vi.mock('node:timers/promises', async () => (await import('./mocks.ts')).mockTimers);

/** The order in which the disk answers depends on the seed. */
describe('runs that race for one job', () => {
  const SEEDS = casesOf(10, 40);
  const RUNS = 4;

  async function race(seed: number, links: boolean): Promise<JobLock[]> {
    const random = seeded(seed);
    disk.before = async (call) => {
      if (call === 'link' && !links) throw Object.assign(new Error('EPERM'), { code: 'EPERM' });
      for (let turns = Math.floor(random() * 6); turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
    };
    // Stopping runs do not wait for the run that holds the job or takes it over.
    const attempts = Array.from({ length: RUNS }, () => acquire({ signal: STOPPED }).catch((error: unknown) => error));
    const racing = { left: RUNS };
    // The winner must not lose the job for a moment.
    const watched = attempts.map(async (attempt) => {
      const lock = await attempt;
      racing.left--;
      if (!(lock instanceof JobLock)) return;
      do await lock.check();
      while (racing.left > 0);
    });
    const results = await Promise.all(attempts);
    await Promise.all(watched);
    const winners = results.filter((result) => result instanceof JobLock);
    for (const result of results) if (!(result instanceof JobLock)) expect(result).toMatchObject({ code: 'job_held' });
    return winners;
  }

  it.each([true, false])('have exactly one winner of a free job (hard links: %s)', async (links) => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const winners = await race(seed, links);
      expect(winners.length, `seed ${seed}`).toBe(1);
      await winners[0]?.release();
      expect(await readdir(place.folder), `seed ${seed}`).toEqual([]);
    }
  });

  it.each([true, false])('have exactly one winner of a dead holder’s job (hard links: %s)', async (links) => {
    const dead = await deadHolder();
    for (let seed = 1; seed <= SEEDS; seed++) {
      disk.before = async () => undefined;
      await put(dead);
      const winners = await race(seed, links);
      expect(winners.length, `seed ${seed}`).toBe(1);
      await winners[0]?.release();
      expect(await readdir(place.folder), `seed ${seed}`).toEqual([]);
    }
  });

  it('have exactly one winner after the holder and the run that claimed its lock died', async () => {
    const dead = await deadHolder();
    for (let seed = 1; seed <= SEEDS / 2; seed++) {
      await put(dead);
      // Killed between its claim and the takeover: the claim stays.
      disk.before = async (call, at) => {
        if (call === 'rename' && at.endsWith('.next')) throw new Error('killed');
      };
      await acquire({ signal: STOPPED }).catch(() => undefined);
      disk.before = async () => undefined;
      const [claim] = (await readdir(place.folder)).filter((name) => name.endsWith('.next'));
      expect(claim).toBeDefined();
      await writeFile(join(place.folder, claim ?? ''), JSON.stringify({ ...dead, nonce: `dead too ${seed}` }));
      const winners = await race(seed, true);
      // Every run may have seen the takeover and stopped.
      if (winners.length === 0) winners.push(await acquire());
      expect(winners.length, `seed ${seed}`).toBe(1);
      await winners[0]?.release();
      expect(await readdir(place.folder), `seed ${seed}`).toEqual([]);
    }
  });
});
