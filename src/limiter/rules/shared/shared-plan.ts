/** The quota that pods share: a rate in a minute, windows of at most a minute, or both. Pure. */
import type { QuotaWindow } from '../../../providers/compiled-provider.ts';
import type { CallLog } from '../../call-log.ts';
import { MINUTE_MS } from '../../inference/quota-observations.ts';
import type { Latencies } from '../../inference/latencies.ts';
import type { QuotaRule } from '../../quota-rule.ts';
import { QuotaRules } from '../../quota-rules.ts';
import { LearntBurst } from '../learnt-burst.ts';
import { EPSILON, PlanShare, rpmOfShare } from '../plan-share.ts';
import { QuotaModel } from '../quota-model.ts';
import { QuotaWindows } from '../quota-windows.ts';

export interface SharedPlan {
  /** Requests a minute; null: only windows. */
  readonly rpm: number | null;
  /** Each of at most a minute. */
  readonly windows: readonly QuotaWindow[];
}

/** Requests a minute that all rules of the plan permit together. */
export function leastRpm({ rpm, windows }: SharedPlan): number {
  return Math.min(rpm ?? Infinity, ...windows.map(({ limit, periodMs }) => Math.floor((limit * MINUTE_MS) / periodMs)));
}

/** The whole plan, for the one who keeps the account of all pods. */
export function wholePlan({ rpm, windows }: SharedPlan): QuotaRules {
  return new QuotaRules((log, latencies) => [new QuotaModel(rpm, log, latencies), ...windowRules(rpm, windows, log, latencies)]);
}

/** A part of the plan, for a client that has it for itself. A window with fewer requests than parts permits nothing. @param part up to 1 */
export function partOfPlan({ rpm, windows }: SharedPlan, part: number): QuotaRules {
  const own = windows.map(({ limit, periodMs }) => ({ limit: Math.floor(limit * part + EPSILON), periodMs }));
  return new QuotaRules((log, latencies) => [
    ...(rpm === null ? [] : [new PlanShare({ rpm, part }, log, latencies)]),
    ...windowRules(rpm === null ? null : rpmOfShare(rpm, part), own, log, latencies),
  ]);
}

function windowRules(rpm: number | null, windows: readonly QuotaWindow[], log: CallLog, latencies: Latencies): QuotaRule[] {
  const rates = [...(rpm === null ? [] : [{ limit: rpm, periodMs: MINUTE_MS }]), ...windows.filter(({ limit }) => limit > 0)];
  return [new QuotaWindows(windows, log, latencies), ...rates.map((rate) => new LearntBurst(rate))];
}
