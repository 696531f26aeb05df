import { describe, expect, test } from 'vitest';
import { seeded } from '../support/leads.ts';
import { casesOf } from '../support/sample.ts';
import { SEED } from '../support/seed.ts';
import { endThrough, expectNothingPaidTwice, makeCrashWorld, resultOf } from './waterfall-job.ts';

const RECORDS = 300;
const KILLS = casesOf(2, 4);

describe(`a waterfall of three enrich and two verify providers (SEED=${SEED})`, () => {
  test('a job that is killed at random moments gives the same bytes, and pays again only what a kill may lose', async () => {
    const calm = await makeCrashWorld(RECORDS, { concurrency: 3 });
    expect(await calm.start().ended).toMatchObject({ code: 0, stderr: '' });
    const expected = await resultOf(calm.folder);

    const world = await makeCrashWorld(RECORDS, { concurrency: 8, latencyMs: 5 });
    const random = seeded(SEED);
    const moments = Array.from({ length: KILLS }, () => 1 + Math.floor(random() * 1.5 * (calm.calls() / KILLS)));
    const { left, ended } = await endThrough(world, moments, 'SIGKILL');
    expect(ended.slice(0, -1).map(({ signal }) => signal)).toContain('SIGKILL');
    expect(ended.at(-1)).toMatchObject({ code: 0, stderr: '' });
    expect(await resultOf(world.folder)).toEqual(expected);
    expectNothingPaidTwice(world, left);
  });

  test('a job that is stopped by SIGTERM at random moments asks for nothing again', async () => {
    const world = await makeCrashWorld(RECORDS, { concurrency: 8, latencyMs: 5 });
    const random = seeded(SEED + 1);
    const { left, ended } = await endThrough(
      world,
      Array.from({ length: KILLS }, () => 60 + Math.floor(random() * 100)),
      'SIGTERM',
    );
    expect(ended.map(({ code }) => code)).toEqual([...Array.from({ length: KILLS }, () => 75), 0]);
    expectNothingPaidTwice(world, left);
    for (const provider of world.watched) {
      const lookups = provider.exchanges().flatMap(({ asked }) => asked.keys.map((key) => `${asked.path} ${key}`));
      expect([provider.name, lookups.length]).toEqual([provider.name, new Set(lookups).size]);
    }
    expect(left.flat().every(({ uncounted }) => uncounted.calls === 0)).toBe(true);
  });
});
