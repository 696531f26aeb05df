/**
 * The credits that a run has spent, as the ledger stores them together with the answers. Answers after the last checkpoint of a killed run
 * cost nothing on its resume, so only this record says what they had cost. Pure.
 */
import { isObject } from '../util/is-object.ts';
import type { Checkpoint } from './checkpoint-file.ts';
import { joinPromised, type PromisedTotals } from './promised-totals.ts';
import type { RunTotals } from './run-totals.ts';
import { parseJson } from '../util/parse-json.ts';

type Spent = Pick<RunTotals, 'credits' | 'creditsBy'> & { readonly promised?: PromisedTotals | undefined };

/** @param providers by the job's names; empty for a job with one service */
export function spentText(run: Spent, providers: Readonly<Record<string, Spent>>): string {
  const of = ({ credits, creditsBy = {}, promised }: Spent): Spent => ({
    credits,
    creditsBy,
    ...(promised === undefined ? {} : { promised }),
  });
  return JSON.stringify({ run: of(run), providers: Object.fromEntries(Object.entries(providers).map(([name, one]) => [name, of(one)])) });
}

/** A checkpoint whose credits are at least what the run had spent. @param text of `spentText`, by this run or an earlier start of it */
export function withSpent(checkpoint: Checkpoint, text: string): Checkpoint {
  const spent = parseJson(text);
  if (!isObject(spent)) return checkpoint;
  const { providers } = checkpoint;
  const own = isObject(spent['providers']) ? spent['providers'] : {};
  return {
    ...checkpoint,
    totals: atLeast(checkpoint.totals, spent['run']),
    ...(providers === undefined
      ? {}
      : {
          providers: Object.fromEntries(
            Object.entries(providers).map(([name, state]) => [name, { ...state, totals: withSteps(state.totals, own[name]) }]),
          ),
        }),
  };
}

function atLeast(totals: RunTotals, spent: unknown): RunTotals {
  if (!isObject(spent)) return totals;
  const promised = joinPromised([totals.promised, promisedIn(spent['promised'])], Math.max);
  const credits = Math.max(totals.credits, amount(spent['credits']));
  return { ...totals, credits, ...(Object.keys(promised).length === 0 ? {} : { promised }) };
}

function promisedIn(value: unknown): PromisedTotals {
  if (!isObject(value)) return {};
  const steps = Object.entries(value).filter((entry): entry is [string, Readonly<Record<string, unknown>>] => isObject(entry[1]));
  return Object.fromEntries(
    steps.map(([step, { lookups, answered, charged, settled }]) => [
      step,
      { lookups: amount(lookups), answered: amount(answered), charged: amount(charged), settled: amount(settled) },
    ]),
  );
}

/** The same for a provider, whose credits are counted by step too. */
function withSteps(totals: RunTotals, spent: unknown): RunTotals {
  if (!isObject(spent)) return totals;
  return { ...atLeast(totals, spent), creditsBy: larger(totals.creditsBy ?? {}, spent['creditsBy']) };
}

function larger(some: Readonly<Record<string, number>>, others: unknown): Readonly<Record<string, number>> {
  if (!isObject(others)) return some;
  const names = [...new Set([...Object.keys(some), ...Object.keys(others)])];
  return Object.fromEntries(names.map((name) => [name, Math.max(some[name] ?? 0, amount(others[name]))]));
}

function amount(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : 0;
}
