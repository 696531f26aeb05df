import { expect, test } from 'vitest';
import { fourVendorsJob, startFourVendors, type FourVendors } from '../providers/four-vendors.ts';
import { checkpoint, keys, RUN, writeJob, writePeople } from '../providers/jobs.ts';
import { cleanUp } from '../support/clean-up.ts';
import type { Folder } from '../support/cli.ts';
import { seeded } from '../support/leads.ts';
import { API_KEY } from '../support/scripted-service.ts';
import { casesOf } from '../support/sample.ts';
import { SEED } from '../support/seed.ts';
import { makeFolder } from '../support/world.ts';

const RECORDS = 300;
const KILLS = casesOf(2, 3);
const AT_ONCE = 8;

async function world(latencyMs: number, concurrency: number): Promise<{ folder: Folder; vendors: FourVendors; calls: () => number }> {
  const folder = await makeFolder();
  const vendors = await startFourVendors({ apiKey: API_KEY, latencyMs });
  cleanUp(() => Promise.all(Object.values(vendors).map((vendor) => vendor.close())));
  await Promise.all([writePeople(folder, RECORDS), writeJob(folder, fourVendorsJob(vendors, concurrency))]);
  return { folder, vendors, calls: () => Object.values(vendors).reduce((sum, { counts }) => sum + counts.requests, 0) };
}

test(`a job through the definitions that ship, killed and resumed, gives the bytes of a calm one (SEED=${SEED})`, async () => {
  const calm = await world(0, 3);
  const names = Object.keys(calm.vendors);
  expect(await calm.folder.start(RUN, { env: keys(...names) }).ended).toMatchObject({
    code: 0,
    // These vendors know much that a CSV does not show.
    stderr: expect.stringMatching(/^warning: the providers find \d+ fields that are in no column: millrace plan names them\n$/),
  });
  const { tally, totals } = await resultOf(calm.folder);
  for (const vendor of Object.values(calm.vendors)) {
    expect([vendor.counts.refused429, vendor.counts.refusedOther]).toEqual([0, 0]);
    expect([...vendor.paidFor.values()].filter((times) => times > 1)).toEqual([]);
  }
  for (const [name, vendor] of Object.entries(calm.vendors))
    expect([name, totals[name]]).toEqual([name, expect.closeTo(vendor.counts.charged, 6)]);

  const killed = await world(3, AT_ONCE);
  const random = seeded(SEED);
  for (let kill = 0; kill < KILLS; kill++) {
    const running = killed.folder.start(RUN, { env: keys(...names) });
    const target = killed.calls() + 1 + Math.floor(random() * 1.5 * (calm.calls() / KILLS));
    await Promise.race([running.ended, ...Object.values(killed.vendors).map((vendor) => vendor.when(() => killed.calls() >= target))]);
    running.kill('SIGKILL');
    await running.ended;
  }
  expect(await killed.folder.start(RUN, { env: keys(...names) }).ended).toMatchObject({ code: 0, stderr: '' });
  const result = await resultOf(killed.folder);
  expect(result.tally).toEqual(tally);
  expect(await killed.folder.read('out.csv')).toBe(await calm.folder.read('out.csv'));
  for (const [name, vendor] of Object.entries(killed.vendors)) {
    // Answers of which no file knew are paid twice and counted once. Hunter charges a repeated request once, and it is counted twice.
    expect(result.totals[name], name).toBeGreaterThanOrEqual((totals[name] ?? 0) - 1e-6);
    expect(result.totals[name], name).toBeLessThanOrEqual(vendor.counts.charged + KILLS * AT_ONCE);
    expect([vendor.counts.refused429, vendor.counts.refusedOther]).toEqual([0, 0]);
    // At most once more for each kill.
    expect([...vendor.paidFor.values()].filter((times) => times > 1 + KILLS)).toEqual([]);
  }
});

async function resultOf(folder: Folder): Promise<{ tally: unknown; totals: Record<string, number> }> {
  const { mark, providers = {} } = await checkpoint(folder);
  return { tally: mark.tally, totals: Object.fromEntries(Object.entries(providers).map(([name, { totals }]) => [name, totals.credits])) };
}
