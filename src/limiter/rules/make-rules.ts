/** The rules of a limiter, from what the job states. */
import type { LimiterOptions } from '../limiter-options.ts';
import { QuotaRules } from '../quota-rules.ts';
import { PERIODS_MS } from '../../util/periods.ts';
import { LearntBurst } from './learnt-burst.ts';
import { PlanShare, rpmOfShare } from './plan-share.ts';
import { QuotaModel } from './quota-model.ts';
import { QuotaWindows } from './quota-windows.ts';

interface OwnRules {
  readonly rules: QuotaRules;
  /** Requests a minute of the rules together; null: unlimited. */
  readonly rpm: number | null;
}

/** The plan's minute is counted for this run alone, as its part of the plan, or with other pods, who count short windows too. */
export function makeRules({ rpm, shared = null, share = 1, windows = [] }: LimiterOptions): OwnRules {
  const isPart = rpm !== null && shared === null && share < 1;
  const ownRpm = isPart ? rpmOfShare(rpm, share) : rpm;
  // With other pods, their coordinator learns the bursts.
  const rates = [
    ...(ownRpm === null || shared !== null ? [] : [{ limit: ownRpm, periodMs: PERIODS_MS.minute }]),
    ...windows.filter(({ periodMs }) => shared === null && periodMs <= PERIODS_MS.minute),
  ];
  const rules = new QuotaRules((log, latencies) => [
    shared ?? (isPart ? new PlanShare({ rpm, part: share }, log, latencies) : new QuotaModel(rpm, log, latencies)),
    new QuotaWindows(windows, log, latencies),
    ...rates.map((rate) => new LearntBurst(rate)),
  ]);
  return { rules, rpm: ownRpm };
}
