import { describe, expect, test } from 'vitest';
import { keys, definition, RUN, start, writeJob, writePeople, type ProviderJob } from '../providers/jobs.ts';
import { startPeopleDataLabs } from '../providers/stand-ins/people-data-labs.ts';
import { startPromises } from '../providers/stand-ins/promises.ts';
import { seeded } from '../support/leads.ts';
import { casesOf } from '../support/sample.ts';
import { SEED } from '../support/seed.ts';
import { makeFolder } from '../support/world.ts';

const RECORDS = 400;
const KILLS = casesOf(2, 3);
const AT_ONCE = 3;

const LIMITS: readonly {
  readonly name: string;
  readonly most: number;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly limits: Readonly<Record<string, unknown>>;
  readonly counted: (people: number, promises: number) => number;
}[] = [
  { name: 'providers.promises.maxCredits', most: 60, settings: { maxCredits: 60 }, limits: {}, counted: (_people, promises) => promises },
  { name: 'limits.maxCredits', most: 120, settings: {}, limits: { maxCredits: 120 }, counted: (people, promises) => people + promises },
];

describe(`a job over several providers that is killed again and again (SEED=${SEED})`, () => {
  test.each(LIMITS)('never exceeds $name, and uses most of it', async ({ name, most, settings, limits, counted }) => {
    const folder = await makeFolder();
    const people = await start(startPeopleDataLabs, { latencyMs: 2, knows: (_person: unknown, i: number) => i % 2 === 0 });
    const promises = await start(startPromises, { latencyMs: 2 });
    const job: ProviderJob = {
      providers: {
        people: { use: definition('person'), baseUrl: `${people.url}/v5`, concurrency: AT_ONCE },
        promises: { use: definition('promises'), baseUrl: promises.url, concurrency: AT_ONCE, ...settings },
      },
      steps: [{ enrich: { from: ['people', 'promises'] } }],
      limits: { maxErrors: '100%', ...limits },
    };
    await Promise.all([writePeople(folder, RECORDS), writeJob(folder, job)]);
    const random = seeded(SEED);
    const spent = (): number => counted(people.counts.charged, promises.counts.charged);
    for (let kill = 0; kill < KILLS; kill++) {
      const running = folder.start(RUN, { env: keys('people', 'promises') });
      const more = promises.counts.requests + 5 + Math.floor(random() * 20);
      const enough = promises.when(() => promises.counts.requests >= more).then(() => 'killed');
      expect(await Promise.race([enough, running.ended.then(({ code, stderr }) => `${code} ${stderr}`)])).toBe('killed');
      running.kill('SIGKILL');
      await running.ended;
      expect(spent()).toBeLessThanOrEqual(most);
    }
    const last = await folder.start(RUN, { env: keys('people', 'promises') }).ended;
    expect(last).toMatchObject({ code: 77, stderr: expect.stringContaining(`${name} is reached`) });
    expect(spent()).toBeLessThanOrEqual(most);
    // A kill leaves its claim behind, and calls that were never answered.
    expect(spent()).toBeGreaterThan(most / 2);
  });
});
