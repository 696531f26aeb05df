/** Every definition of a vendor says where it comes from, and is complete for each of its plans. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ProviderQuota } from '../../../src/providers/compiled-provider.ts';
import { shipped } from './shipped.ts';

const FOLDER = `${import.meta.dirname}/../../../jobs/providers`;
/** The specification's service has no vendor. */
const VENDORS = readdirSync(FOLDER).filter((file) => file !== 'millrace.yaml');

it('the definitions of seven files are those of six vendors', () => {
  expect(VENDORS).toEqual([
    'apollo.yaml',
    'dropcontact.yaml',
    'fullenrich.yaml',
    'hunter.yaml',
    'people-data-labs.yaml',
    'zerobounce-batch.yaml',
    'zerobounce.yaml',
  ]);
});

describe.each(VENDORS)('%s', (file) => {
  const text = readFileSync(`${FOLDER}/${file}`, 'utf8');
  const name = file.replace('.yaml', '');

  it('the definition names its pages, the day, and that the vendor never saw it', async () => {
    const { name: own, title, documentation, readOn } = await shipped(name);
    expect([own, title, readOn]).toEqual([name, expect.any(String), expect.stringMatching(/^2026-11-2[68]$/)]);
    expect(documentation.length).toBeGreaterThan(0);
    for (const page of documentation) expect(page).toMatch(/^https:\/\/[\w.-]+\//);
    const header = text.slice(0, text.indexOf('\nname:'));
    expect(header).toContain('It was never run against the vendor');
    expect(header).toMatch(/# Where the pages (?:are silent or )?disagree:/);
  });

  it('the definition has an address, a key and windows for every plan, wherever it counts', async () => {
    const { baseUrl, authentication, defaultPlan, quota, operations } = await shipped(name);
    expect([baseUrl, authentication]).toEqual([expect.stringMatching(/^https:/), expect.anything()]);
    const plans = Object.keys(quota.plans);
    expect(plans).toContain(defaultPlan);
    const own = Object.values(operations).flatMap((operation): (ProviderQuota | null)[] => [
      operation.quota,
      operation.batch?.quota ?? null,
    ]);
    for (const one of [quota, ...own]) {
      if (one === null) continue;
      expect(Object.keys(one.plans)).toEqual(plans);
      for (const windows of Object.values(one.plans)) expect(windows.length).toBeGreaterThan(0);
    }
  });

  it('every operation tells what it costs', async () => {
    for (const { credits, batch, creditsAtMost } of Object.values((await shipped(name)).operations)) {
      expect(credits ?? batch?.credits).toBeTruthy();
      expect(creditsAtMost).toBeGreaterThan(0);
    }
  });

  it('every request goes to the address of the provider, so that a job can replace it', async () => {
    for (const { request, batch, poll } of Object.values((await shipped(name)).operations))
      expect([request, batch?.request, poll?.request, batch?.poll?.request].map((one) => one?.baseUrl ?? null)).toEqual([
        null,
        null,
        null,
        null,
      ]);
  });
});
