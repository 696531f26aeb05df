import { expect, test } from 'vitest';
import { SEMI_SPACES } from '../support/cli.ts';
import { csvJob } from '../support/crash-jobs.ts';
import { leads, seeded } from '../support/leads.ts';
import { sampleOf } from '../support/sample.ts';
import { prepare } from './crashed-job.ts';
import { SEED } from '../support/seed.ts';

test.each(
  sampleOf(
    [
      { maxCalls: 40, rows: 200, kills: 3, everyMs: '600000', claim: 1, atOnce: 2 },
      { maxCalls: 450, rows: 800, kills: 3, everyMs: '50', claim: 5, atOnce: 8 },
      { maxCalls: 450, rows: 800, kills: 3, everyMs: '600000', claim: 5, atOnce: 8 },
    ],
    1,
    SEED,
  ),
)(
  `killed again and again, a job sends no more than $maxCalls calls in all, and few fewer (every $everyMs ms, SEED=${SEED})`,
  async ({ maxCalls, rows, kills, everyMs, claim, atOnce }) => {
    const random = seeded(SEED + maxCalls);
    const { folder, service, args } = await prepare(
      csvJob(leads(rows, SEED % 1_000), {
        steps: 'enrich',
        'max-calls': String(maxCalls),
        'limits.maxCredits': String(10 * maxCalls),
        'checkpoint.everyMs': everyMs,
        concurrency: String(atOnce),
      }),
    );
    service.latencyMs = 3;
    for (let kill = 0; kill < kills; kill++) {
      const run = folder.start(args);
      const enough = service.sees(1 + Math.floor(random() * (maxCalls / kills - claim - atOnce)));
      expect(await Promise.race([enough.then(() => 'killed'), run.ended.then(({ code, stderr }) => `${code} ${stderr}`)])).toBe('killed');
      run.kill('SIGKILL');
      expect((await run.ended).signal).toBe('SIGKILL');
      const { callsAtMost, creditsAtMost } = (await folder.json('out.csv.checkpoint.json')) as Record<string, number>;
      expect(callsAtMost).toBeGreaterThanOrEqual(service.requests.length);
      expect(creditsAtMost).toBeGreaterThanOrEqual(service.credits);
    }
    expect(await folder.run(args)).toMatchObject({ code: 77, stderr: expect.stringContaining('limits.maxCalls is reached') });
    expect(service.requests.length).toBeLessThanOrEqual(maxCalls);
    // The unused part of each claim, and calls that were cut off before the service saw them.
    expect(service.requests.length).toBeGreaterThanOrEqual(maxCalls - kills * (claim + atOnce));
    expect((await folder.json('out.csv.checkpoint.json'))['callsAtMost']).toBe(maxCalls);

    // A raised limit continues from there.
    const before = service.requests.length;
    expect(
      await folder.run([...args.filter((arg) => arg !== String(maxCalls) && arg !== '--max-calls'), '--max-calls', String(maxCalls + 7)]),
    ).toMatchObject({ code: 77 });
    expect(service.requests.length).toBe(before + 7);
  },
);

test.each(
  sampleOf(
    [12, 14].flatMap((rows) => [8, 15].map((flushMs) => ({ rows, flushMs }))),
    1,
    SEED,
  ),
)(
  'a claim that is still being written when the last of $rows rows is done keeps nobody from finishing (flushes of $flushMs ms)',
  async ({ rows, flushMs }) => {
    const { folder, args } = await prepare(csvJob(leads(rows, 5), { steps: 'enrich', 'max-calls': '150', 'checkpoint.everyMs': '600000' }));
    const slow = {
      NODE_OPTIONS: `${SEMI_SPACES} --import=${new URL('../support/slow-flush.ts', import.meta.url).href}`,
      FLUSH_MS: String(flushMs),
    };
    expect(await folder.run(args, { env: slow })).toMatchObject({ code: 0, stderr: '' });
    expect(await folder.json('out.csv.checkpoint.json')).toMatchObject({ state: 'finished' });
  },
);
