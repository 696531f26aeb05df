import { expect, test } from 'vitest';
import { csvJob } from '../support/crash-jobs.ts';
import { leads, seeded } from '../support/leads.ts';
import { prepare } from './crashed-job.ts';
import { casesOf, sampleOf } from '../support/sample.ts';
import { SEED } from '../support/seed.ts';

const KILLS = casesOf(2, 4);
const AT_ONCE = 4;

const LIMIT = 200;
/** A hundredth of that. */
const CLAIM = 2;

test.each(sampleOf(['50', '600000'], 1))(
  `a job killed again and again keeps to a stated day of ${LIMIT} requests, and uses most of it (every %s ms, SEED=${SEED})`,
  async (everyMs) => {
    const random = seeded(SEED + Number(everyMs));
    const flags = { steps: 'enrich', 'service.windows': `${LIMIT}/day`, 'checkpoint.everyMs': everyMs, concurrency: String(AT_ONCE) };
    const { folder, service, args } = await prepare(csvJob(leads(2 * LIMIT, SEED % 1_000), flags));
    service.latencyMs = 3;
    for (let kill = 0; kill < KILLS; kill++) {
      const run = folder.start(args);
      const enough = service.sees(1 + Math.floor(random() * (LIMIT / KILLS - CLAIM - AT_ONCE)));
      expect(await Promise.race([enough.then(() => 'killed'), run.ended.then(({ code, stderr }) => `${code} ${stderr}`)])).toBe('killed');
      run.kill('SIGKILL');
      expect((await run.ended).signal).toBe('SIGKILL');
    }
    expect(await folder.run(args)).toMatchObject({ code: 69, stderr: expect.stringContaining(`${LIMIT} requests a day`) });
    expect(service.requests.length).toBeLessThanOrEqual(LIMIT);
    // The unused part of each claim, and calls that were cut off before the service saw them.
    expect(service.requests.length).toBeGreaterThanOrEqual(LIMIT - KILLS * (CLAIM + AT_ONCE));
  },
);
