/** Shards of a job with several providers: the bytes of one run, and no lookup paid for twice. */
import { expect, test } from 'vitest';
import { seeded } from '../support/leads.ts';
import { SEED } from '../support/seed.ts';
import { checkpoint } from '../providers/jobs.ts';
import { makeCrashWorld, resultOf, type CrashWorld } from './waterfall-job.ts';

const RECORDS = 240;
const SHARDS = ['0/3', '1/3', '2/3'] as const;

/** Lookups that a provider was asked for, with their number. */
function askedOf(provider: CrashWorld['watched'][number]): Map<string, number> {
  const asked = new Map<string, number>();
  for (const { path, keys } of provider.exchanges().map((one) => one.asked))
    for (const key of keys) asked.set(`${path} ${key}`, (asked.get(`${path} ${key}`) ?? 0) + 1);
  return asked;
}

test('three shards at once give the bytes of one run, ask once for each lookup, and report what each provider counted', async () => {
  const whole = await makeCrashWorld(RECORDS, { concurrency: 3 });
  expect(await whole.start().ended).toMatchObject({ code: 0, stderr: '' });

  const world = await makeCrashWorld(RECORDS, { concurrency: 3, latencyMs: 3 });
  const ended = await Promise.all(SHARDS.map(async (shard) => world.start(shard).ended));
  expect(ended.map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(await resultOf(world.folder)).toEqual(await resultOf(whole.folder));
  const { providers = {} } = await checkpoint(world.folder);
  for (const provider of world.watched) {
    const asked = askedOf(provider);
    expect([provider.name, [...asked].filter(([, times]) => times > 1)]).toEqual([provider.name, []]);
    const totals = providers[provider.name]?.totals;
    expect([provider.name, totals?.credits]).toEqual([provider.name, expect.closeTo(provider.charged(), 6)]);
    const calls = Object.values(totals?.calls ?? {}).reduce((sum, some) => sum + some, 0);
    expect([provider.name, calls]).toEqual([provider.name, provider.arrivals().length]);
  }
});

test(`three shards that are each killed and resumed give the bytes of one run (SEED=${SEED})`, async () => {
  const whole = await makeCrashWorld(RECORDS, { concurrency: 3 });
  expect(await whole.start().ended).toMatchObject({ code: 0, stderr: '' });

  const world = await makeCrashWorld(RECORDS, { concurrency: 4, latencyMs: 5 });
  const random = seeded(SEED);
  const kills = await Promise.all(
    SHARDS.map(async (shard) => {
      const killed = world.start(shard);
      void world.sees(1 + Math.floor(random() * 0.8 * whole.calls())).then(() => killed.kill('SIGKILL'));
      const { signal } = await killed.ended;
      if (signal === 'SIGKILL') expect(await world.start(shard).ended).toMatchObject({ code: 0 });
      return Number(signal === 'SIGKILL');
    }),
  );
  const killed = kills.reduce((sum, one) => sum + one, 0);
  expect(killed).toBeGreaterThan(0);
  expect(await resultOf(world.folder)).toEqual(await resultOf(whole.folder));
  for (const provider of world.watched) {
    // A lookup is paid again only for each kill that may have lost its answer.
    const tooOften = [...askedOf(provider).keys()].filter((lookup) => provider.paid(lookup) > 1 + killed);
    expect([provider.name, tooOften]).toEqual([provider.name, []]);
  }
});
