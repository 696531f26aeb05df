/** The forecast of a job's providers in words. Pure. */
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { moneyText } from '../../definition/credit-price.ts';
import { count, duration } from '../../util/display.ts';
import { cut } from '../../util/text-table.ts';
import { wrapWords } from '../../util/wrap-words.ts';
import { percent } from '../../writer/rates.ts';
import type { ProvidersForecast } from './forecast-providers.ts';
import { ASSUMPTION, type OrderForecast } from './plan-order.ts';
import type { PlaceForecast, ProviderForecast } from './plan-providers.ts';
import type { Step } from '../../steps/registry.ts';

const COLUMNS = 80;
const HEAD = ['match rate', 'lookups', 'at most', 'requests', 'credits'];

type Shown = Pick<ProvidersForecast, 'providers' | 'orders'>;
type ShownJob = Pick<CompiledJob, 'providers' | 'waterfalls' | 'steps'>;

/** A table of what each provider will be asked, then cost and time of each, then the cheapest order of each step. */
export function providerPlanLines({ providers, orders }: Shown, job: ShownJob): string[] {
  const rows: (readonly string[])[] = [['', ...HEAD]];
  for (const step of job.steps) {
    rows.push([step]);
    for (const name of job.waterfalls[step]?.from ?? []) {
      const forecast = providers[name]?.steps[step];
      if (forecast !== undefined) rows.push([`  ${name}`, ...cellsOf(forecast)]);
    }
  }
  const each = job.providers.flatMap((provider) => {
    const forecast = providers[provider.name];
    return forecast === undefined ? [] : wrapped(`${provider.name}: ${inWords(forecast, provider.maxCredits)}`);
  });
  const cheapest = Object.entries(orders).flatMap(([step, order]) => wrapped(orderText(step, order)));
  const isAssumed = Object.values(orders).some(({ cheapest: found }) => found !== null);
  const isOver = Object.values(providers).every(({ steps }) => Object.keys(steps).length === 0);
  return [...(isOver ? [] : ['', ...aligned(rows)]), '', ...each, ...cheapest, ...(isAssumed ? wrapped(`Assumed: ${ASSUMPTION}.`) : [])];
}

function cellsOf({ matchRate, lookups, requests, credits }: PlaceForecast): string[] {
  const shown = (n: number | null): string => (n === null ? '?' : count(n));
  return [
    matchRate === null ? '?' : percent(matchRate),
    shown(lookups.expected),
    count(lookups.atMost),
    shown(requests.expected),
    shown(credits.expected),
  ];
}

function inWords({ requests, polls = 0, credits, cost, seconds, secondsWithBurst }: ProviderForecast, maxCredits: number | null): string {
  if (requests.atMost + polls === 0) return 'nothing is left to ask for';
  const price =
    credits.expected === null
      ? `at most ${count(credits.atMost)} credits`
      : `about ${count(credits.expected)} credits, at most ${count(credits.atMost)}`;
  const time =
    seconds === null || secondsWithBurst === null
      ? 'no limit of requests'
      : seconds === secondsWithBurst
        ? duration(seconds * 1_000)
        : `${duration(secondsWithBurst * 1_000)} when its quota is full, else ${duration(seconds * 1_000)}`;
  const stops = maxCredits !== null && (credits.expected ?? credits.atMost) > maxCredits ? `; its maxCredits is ${count(maxCredits)}` : '';
  const later = polls === 0 ? '' : `; at least ${count(polls)} polls`;
  return `${price}${cost === null ? '' : `; about ${moneyText(cost)}`}${later}; ${time}${stops}`;
}

function orderText(step: Step, { given, cheapest, cost, unit, unrated }: OrderForecast): string {
  if (cheapest === null || cost === null) {
    const who = unrated.length === 0 ? 'enrich' : unrated.join(', ');
    return `Cheapest order for ${step}: not known, because the ledger has no answers of ${who}. --match-rate 60% states a rate for all.`;
  }
  const price = (n: number): string => (unit === 'credits' ? `${count(Math.round(n))} credits` : moneyText({ amount: n, currency: unit }));
  const compared = unit === 'credits' ? ' (compared by credits: not all have a creditPrice in one currency)' : '';
  if (cheapest.join() === given.join()) return `Cheapest order for ${step}: the one given, about ${price(cost.given)}${compared}.`;
  return `Cheapest order for ${step}: ${cheapest.join(', ')}: about ${price(cost.cheapest)}, and ${price(cost.given)} as given${compared}.`;
}

function wrapped(text: string): string[] {
  return wrapWords(text, COLUMNS - 1, '  ');
}

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = HEAD.map((_, index) => Math.max(...rows.map((row) => (row[index + 1] ?? '').length)));
  const room = COLUMNS - 1 - widths.reduce((sum, width) => sum + width + 2, 0);
  const first = Math.min(room, Math.max(...rows.map(([name = '']) => name.length)));
  return rows.map(([name = '', ...cells]) =>
    [cut(name, first).padEnd(first), ...cells.map((cell, index) => cell.padStart(widths[index] ?? 0))].join('  ').trimEnd(),
  );
}
