/** Plans of a job whose ledger has answers of another job. */
import { copyFile, rm, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { leads, PROFILE_COLUMNS, toCsv, withProfiles, type Lead } from '../support/leads.ts';
import { sampleOf } from '../support/sample.ts';
import { makeWorld } from '../support/world.ts';
import { plan, type Plan, ROWS } from './planned.ts';
import { SEED } from '../support/seed.ts';
import { STEPS } from '../../src/steps/registry.ts';

test(`a plan counts a shared ledger's answers by age, and the next run makes the planned calls (SEED=${SEED})`, async () => {
  const rows = leads(1_600, 52).filter(({ key }) => key === null || !/^(gone|refused)/.test(key));
  const csv = (some: readonly Lead[]): string => toCsv(withProfiles(some), PROFILE_COLUMNS);
  const world = await makeWorld(csv(rows.slice(0, 700)));
  const { folder, service, args } = world;
  const shared = { ledger: 'shared.ledger', 'ledger.maxAgeDays': '30' };
  expect((await folder.run(args({ ...shared, steps: STEPS.join(','), output: 'other.csv' }))).code).toBe(0);
  // A third of the answers is older than 30 days.
  const db = new DatabaseSync(folder.at('shared.ledger'));
  db.exec('UPDATE answers SET at = at - 31 * 86400000 WHERE id % 3 = 0');
  db.close();
  await writeFile(folder.at('in.csv'), csv(rows));
  for (const steps of sampleOf(['enrich', 'verify', 'enrich,verify', 'company,reveal', STEPS.join(',')], 3)) {
    const job = { ...shared, steps, output: `${steps.replaceAll(',', '-')}.csv` };
    // Each job gets the shared ledger as the first job left it.
    await copyFile(folder.at('shared.ledger'), folder.at('copy.ledger'));
    const planned = await plan(world, { ...job, ledger: 'copy.ledger' });
    expect(planned.lookups.fromLedger).toBeGreaterThan(200);
    service.forget();
    expect((await folder.run(args({ ...job, ledger: 'copy.ledger' }))).code).toBe(0);
    expect({ ...service.calls, total: service.requests.length }).toEqual(planned.requests);
    expect((await folder.json(`${job.output}.report.json`))['lookups']).toEqual(planned.lookups);
    for (const suffix of ['', '-wal', '-shm']) await rm(folder.at(`copy.ledger${suffix}`), { force: true });
  }
});

test('a plan with verify.when unverified counts the verify requests by the enrich answers in the ledger', async () => {
  const world = await makeWorld(toCsv(ROWS));
  const { folder, service, args } = world;
  const shared = { ledger: 'shared.ledger', 'ledger.maxAgeDays': '30' };
  expect((await folder.run(args({ ...shared, steps: 'enrich', output: 'other.csv', 'max-errors': '100%' }))).code).toBe(0);
  const planned = await plan(world, { ...shared, 'verify.when': 'unverified' });
  service.forget();
  // Without trustMisses, refusals alone stay in quarantine, and so would their addresses.
  expect((await folder.run(args({ ...shared, 'verify.when': 'unverified', 'max-errors': '100%', 'limits.trustMisses': true }))).code).toBe(
    0,
  );
  const refused = new Set(ROWS.flatMap(({ key }) => (key?.startsWith('refused') === true ? [key] : []))).size;
  // A refusal is not shared between jobs, so it is asked for again, and its planned verify lookup never happens.
  expect(planned.requests.enrich).toBe(refused);
  expect({ ...service.calls, total: service.requests.length }).toEqual(planned.requests);
  const { lookups } = (await folder.json('out.csv.report.json')) as { lookups: Plan['lookups'] };
  expect(planned.lookups).toEqual({ unique: lookups.unique + refused, fromLedger: lookups.fromLedger });
});
