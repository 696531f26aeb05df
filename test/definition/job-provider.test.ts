import { expect, test } from 'vitest';
import { providerChannels, quotaName } from '../../src/definition/job-provider.ts';
import { jobOf, OPERATIONS } from '../support/provider-jobs.ts';

test('a quota has the same name in every job, whichever steps the job has', () => {
  const operations = { ...OPERATIONS, verify: { ...OPERATIONS.verify, quota: { plans: { pro: ['300/minute'] } } } };
  const namesFor = (steps: readonly string[]): readonly (readonly [string, string])[] => {
    const job = jobOf({ steps, providers: { acme: {} }, definitions: { acme: { operations } } });
    const [acme] = job.providers;
    if (acme === undefined) throw new Error('the job has the provider');
    return providerChannels(acme, job).map(({ quota, steps: counted }) => [counted.join(), quotaName(acme, quota)]);
  };
  expect(namesFor(['verify'])).toEqual([['verify', 'verify']]);
  expect(namesFor(['enrich', 'verify', 'company'])).toEqual([
    ['enrich,company', ''],
    ['verify', 'verify'],
  ]);
});
