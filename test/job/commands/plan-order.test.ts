import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { orderForecast } from '../../../src/job/commands/plan-order.ts';
import { providerPlanLines } from '../../../src/job/commands/plan-provider-text.ts';
import type { OrderedRecords } from '../../../src/job/commands/plan-counts.ts';
import type { CompiledJob } from '../../../src/definition/compiled-job.ts';
import { jobOf } from '../../support/provider-jobs.ts';

function providersAt(prices: readonly (string | null)[]): CompiledJob['providers'] {
  const names = prices.map((_, i) => `p${i}`);
  return jobOf({
    steps: ['enrich'],
    providers: Object.fromEntries(names.map((name, i) => [name, { creditPrice: prices[i] ?? null }])),
  }).providers;
}

const all = (n: number): number => 2 ** n - 1;
const everybody = (n: number, records = 1): OrderedRecords => ({ unknown: all(n), settled: 0, found: null, records });

function orders(places: readonly number[]): number[][] {
  return places.length === 0
    ? [[]]
    : places.flatMap((first) => orders(places.filter((one) => one !== first)).map((rest) => [first, ...rest]));
}

/** The expected cost, by every way in which the providers can answer. */
function costByOutcomes(
  order: readonly number[],
  { unknown, settled, records }: OrderedRecords,
  prices: number[],
  rates: number[],
): number {
  let sum = 0;
  for (let knows = 0; knows < 2 ** rates.length; knows++) {
    const probability = rates.reduce((product, rate, place) => product * ((knows >> place) & 1 ? rate : 1 - rate), 1);
    let cost = 0;
    for (const place of order) {
      if ((settled >> place) & 1) break;
      if (((unknown >> place) & 1) === 0) continue;
      // A match costs a credit, a miss nothing.
      if ((knows >> place) & 1) {
        cost += prices[place] ?? 0;
        break;
      }
    }
    sum += probability * cost;
  }
  return sum * records;
}

const cents = (n: number): number => Math.round(n * 100) / 100;

describe('the cheapest order', () => {
  it('the order costs the least of all orders, whatever the ledger has', () => {
    const providers = fc.integer({ min: 2, max: 4 }).chain((n) =>
      fc.record({
        prices: fc.array(fc.integer({ min: 1, max: 500 }), { minLength: n, maxLength: n }),
        rates: fc.array(fc.integer({ min: 0, max: 100 }), { minLength: n, maxLength: n }),
        records: fc.array(
          fc
            .record({
              unknown: fc.integer({ min: 1, max: all(n) }),
              settled: fc.integer({ min: 0, max: all(n) }),
              records: fc.nat({ max: 5_000 }),
            })
            .map((one) => ({ ...one, settled: one.settled & ~one.unknown, found: null })),
          { minLength: 1, maxLength: 4 },
        ),
      }),
    );
    fc.assert(
      fc.property(providers, ({ prices, rates, records }) => {
        const shares = rates.map((rate) => rate / 100);
        const money = prices.map((price) => price / 100);
        const forecast = orderForecast(
          'enrich',
          providersAt(money.map((price) => `${price.toFixed(2)} EUR`)),
          { records },
          { enrich: shares },
        );
        const costs = orders(prices.map((_, place) => place)).map((order) =>
          records.reduce((sum, one) => sum + costByOutcomes(order, one, money, shares), 0),
        );
        expect(forecast?.unit).toBe('EUR');
        expect(forecast?.cost?.given).toBeCloseTo(cents(costs[0] ?? 0), 1);
        expect(forecast?.cost?.cheapest).toBeCloseTo(cents(Math.min(...costs)), 1);
        const found = (forecast?.cheapest ?? []).map((name) => Number(name.slice(1)));
        expect(records.reduce((sum, one) => sum + costByOutcomes(found, one, money, shares), 0)).toBeCloseTo(Math.min(...costs), 6);
      }),
    );
  });

  it('the order goes by the price of a match where there are too many providers to try all orders', () => {
    const providers = providersAt(['0.50 EUR', '0.10 EUR', '0.40 EUR', '0.20 EUR', '0.30 EUR', '0.05 EUR']);
    const rates = { enrich: [0.9, 0.1, 0.5, 0.5, 0.5, 0] };
    const forecast = orderForecast('enrich', providers, { records: [everybody(6, 100)] }, rates);
    // The last one knows nobody, so it costs nothing, and brings nothing.
    expect(forecast?.cheapest).toEqual(['p1', 'p3', 'p4', 'p2', 'p0', 'p5']);
  });

  it('the order stays as given where another order costs the same', () => {
    const forecast = orderForecast('enrich', providersAt(['0.10 EUR', '0.10 EUR']), { records: [everybody(2)] }, { enrich: [0.2, 0.8] });
    expect(forecast).toMatchObject({ cheapest: ['p0', 'p1'], given: ['p0', 'p1'] });
  });

  it('the order is by credits where a price is missing or in another currency', () => {
    for (const prices of [
      ['0.10 EUR', null],
      ['0.10 EUR', '0.10 USD'],
    ])
      expect(orderForecast('enrich', providersAt(prices), { records: [everybody(2, 10)] }, { enrich: [0.5, 0.5] })).toMatchObject({
        unit: 'credits',
        cost: { given: 7.5, cheapest: 7.5 },
      });
  });

  it('the order is not known without a match rate, and names who has none', () => {
    const forecast = orderForecast('enrich', providersAt([null, null]), { records: [everybody(2)] }, { enrich: [0.5, null] });
    expect(forecast).toMatchObject({ cheapest: null, cost: null, unrated: ['p1'] });
  });

  it('the order is absent for one provider, and where nothing is left to pay', () => {
    expect(orderForecast('enrich', providersAt([null]), { records: [everybody(1)] }, { enrich: [1] })).toBeNull();
    const known = { ...everybody(2), unknown: 0, settled: 1 };
    expect(orderForecast('enrich', providersAt([null, null]), { records: [known] }, { enrich: [1, 1] })).toBeNull();
  });
});

describe('the plan of providers in words', () => {
  const job = jobOf({
    steps: [{ enrich: { from: ['alpha', 'beta'] } }],
    providers: { alpha: { creditPrice: '0.10 EUR', maxCredits: 500 }, beta: { creditPrice: '0.02 EUR' } },
  });
  const place = (n: number, expected: number | null, rate: number | null) => ({
    place: n,
    lookups: { atMost: 1_000, expected },
    fromLedger: 0,
    requests: { atMost: 1_000, expected },
    matchRate: rate,
    credits: { atMost: 1_000, expected: expected === null || rate === null ? null : expected * rate },
  });
  const alpha = {
    steps: { enrich: place(1, 1_000, 0.6) },
    requests: { atMost: 1_000, expected: 1_000 },
    credits: { atMost: 1_000, expected: 600 },
  };
  const beta = {
    steps: { enrich: place(2, 400, 0.5) },
    requests: { atMost: 1_000, expected: 400 },
    credits: { atMost: 1_000, expected: 200 },
  };
  const times = { seconds: 100, secondsWithBurst: 40 };

  it('the text says who is asked how often, at what price, how long it takes, and which order is cheapest', () => {
    const lines = providerPlanLines(
      {
        providers: {
          alpha: { ...alpha, cost: { amount: 60, currency: 'EUR' }, ...times },
          beta: { ...beta, cost: { amount: 4, currency: 'EUR' }, seconds: null, secondsWithBurst: null },
        },
        orders: {
          enrich: { given: ['alpha', 'beta'], cheapest: ['beta', 'alpha'], cost: { given: 64, cheapest: 40 }, unit: 'EUR', unrated: [] },
        },
      },
      job,
    );
    expect(lines.join('\n')).toBe(`
         match rate  lookups  at most  requests  credits
enrich
  alpha        60 %    1,000    1,000     1,000      600
  beta         50 %      400    1,000       400      200

alpha: about 600 credits, at most 1,000; about 60.00 EUR; 40 s when its quota
  is full, else 1 min 40 s; its maxCredits is 500
beta: about 200 credits, at most 1,000; about 4.00 EUR; no limit of requests
Cheapest order for enrich: beta, alpha: about 40.00 EUR, and 64.00 EUR as
  given.
Assumed: misses of one provider say nothing about another, a match settles its
  record, and a miss costs nothing unless the definition says so.`);
    for (const line of lines) expect(line.length).toBeLessThan(80);
  });

  it('the text says which ledger has no answers yet, and that nothing is left of a finished job', () => {
    const nothing = {
      steps: {},
      requests: { atMost: 0, expected: 0 },
      credits: { atMost: 0, expected: 0 },
      cost: null,
      seconds: 0,
      secondsWithBurst: 0,
    };
    const order = { given: ['alpha', 'beta'], cheapest: null, cost: null, unit: 'EUR', unrated: ['beta'] };
    const text = providerPlanLines({ providers: { alpha: nothing, beta: nothing }, orders: { enrich: order } }, job).join('\n');
    expect(text).toContain('beta: nothing is left to ask for');
    expect(text).not.toContain('match rate  lookups');
    expect(text.replaceAll(/\s+/g, ' ')).toContain('the ledger has no answers of beta. --match-rate 60% states a rate for all.');
  });
});
