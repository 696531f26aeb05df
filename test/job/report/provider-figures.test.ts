import { describe, expect, it } from 'vitest';
import { buildReport, type Report } from '../../../src/job/report/report.ts';
import { costOfProviders, inAskedOrder } from '../../../src/job/report/provider-figures.ts';
import { PROVIDERS_CHECKPOINT, PROVIDERS_JOB } from '../../support/provider-report.ts';
import { reportedJob } from '../../support/reported-job.ts';
import { schemaFaults } from '../../support/report-schema.ts';
import { jobOf } from '../../support/provider-jobs.ts';

const REPORT = buildReport(PROVIDERS_CHECKPOINT, PROVIDERS_JOB);
const providersOf = ({ providers = {} }: Report): NonNullable<Report['providers']> => providers;

describe('the providers of a report', () => {
  it('the part obeys the schema, and comes after the keys of a job with one service', () => {
    expect(schemaFaults(REPORT)).toEqual([]);
    const names = Object.keys(REPORT);
    expect(names.indexOf('providers')).toBe(names.indexOf('duplicateLookups') + 1);
    expect(schemaFaults({ ...REPORT, providers: { ...REPORT.providers, alpha: { steps: {} } } })).not.toEqual([]);
  });

  it('the part says of each provider and step what was asked, brought and paid', () => {
    const { alpha, beta, gamma } = providersOf(REPORT);
    expect(alpha).toMatchObject({
      definition: 'alpha',
      url: 'https://alpha.example',
      plan: 'pro',
      calls: { enrich: 1_205 },
      credits: 600,
      cost: { amount: 12, currency: 'EUR' },
      retries: 5,
      skipped: null,
      steps: {
        enrich: {
          asked: 1_200,
          matched: 600,
          failed: 10,
          place: 1,
          matchRate: 0.5042,
          credits: 600,
          creditsPerRow: 1,
          costPerRow: { amount: 0.02, currency: 'EUR' },
        },
      },
    });
    expect(alpha?.latencyMs.p50).toBeGreaterThan(0);
    // The second provider pays two credits for each row that it adds.
    expect(beta?.steps.enrich).toMatchObject({ place: 2, matchRate: 0.5, creditsPerRow: 2, costPerRow: { amount: 0.2, currency: 'EUR' } });
    expect(beta?.steps.verify).toMatchObject({ place: 2, credits: 900, cost: { amount: 90, currency: 'EUR' }, creditsPerRow: 1.125 });
    expect(gamma).toMatchObject({ skipped: 'it has been down for 10 min', throttled: { events: 1, waitedMs: 2_000 } });
    expect(gamma?.steps.verify).toMatchObject({ place: 1, unavailable: 900, matchRate: null, creditsPerRow: null });
    expect(gamma?.steps.verify).not.toHaveProperty('costPerRow');
  });

  it('the part adds up the costs in one currency, and in no other case', () => {
    // Gamma has no price, and has cost nothing.
    expect(REPORT.cost).toEqual({ amount: 162, currency: 'EUR' });
    const { alpha, beta, gamma } = providersOf(REPORT);
    if (alpha === undefined || beta === undefined || gamma === undefined) throw new Error('a provider is missing');
    expect(costOfProviders({ alpha, gamma: { ...gamma, credits: 1 } })).toBeNull();
    expect(costOfProviders({ alpha, beta: { ...beta, cost: { amount: 1, currency: 'USD' } } })).toBeNull();
    expect(costOfProviders({ gamma })).toBeNull();
  });

  it('the part puts the providers in the order of each step', () => {
    const order = inAskedOrder(providersOf(REPORT), REPORT.steps).map(({ step, name }) => `${step} ${name}`);
    expect(order).toEqual(['enrich alpha', 'enrich beta', 'verify gamma', 'verify beta']);
  });

  it('the part is absent from a job with one service', () => {
    expect(buildReport(PROVIDERS_CHECKPOINT, reportedJob())).not.toHaveProperty('providers');
  });

  it('the part has every provider of a job that was never started', () => {
    const job = jobOf({ steps: ['enrich'], providers: { alpha: {}, beta: {} } });
    const { providers: _, ...never } = PROVIDERS_CHECKPOINT;
    const report = buildReport({ ...never, mark: { ...never.mark, tally: { ...never.mark.tally, providers: {} } } }, job);
    expect(schemaFaults(report)).toEqual([]);
    expect(providersOf(report)['beta']).toMatchObject({ credits: 0, skipped: null, steps: { enrich: { asked: 0, place: 2 } } });
  });
});
