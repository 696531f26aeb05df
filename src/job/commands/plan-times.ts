/** How long a run's requests take at the plan's rate, with and without a burst at the start. Pure. */
import { describeWindow } from '../../limiter/inference/long-window.ts';
import type { QuotaWindow } from '../../providers/compiled-provider.ts';
import { count, duration } from '../../util/display.ts';

export interface PlanTimes {
  /** At the plan's rate from the first request on; null: the plan is unlimited. */
  readonly seconds: number | null;
  /** When the key's bucket is full at the start, so that a minute's quota leaves at once; null: the plan is unlimited. */
  readonly secondsWithBurst: number | null;
}

/**
 * @param rpm requests a minute; null when unlimited.
 * @param mayBurst false: the run paces itself from the first request on, as a shard does.
 * @param windows that the job states: the tightest one counts
 */
export function planTimes(requests: number, rpm: number | null, mayBurst: boolean, windows: readonly QuotaWindow[] = []): PlanTimes {
  // All windows but the last must pass.
  const leastSeconds = Math.max(
    0,
    ...windows.map(({ limit, periodMs }) => Math.floor(Math.max(0, requests - 1) / limit) * (periodMs / 1_000)),
  );
  if (rpm === null)
    return leastSeconds === 0 ? { seconds: null, secondsWithBurst: null } : { seconds: leastSeconds, secondsWithBurst: leastSeconds };
  const secondsFor = (paced: number): number => Math.max(Math.ceil((paced / rpm) * 60), leastSeconds);
  return { seconds: secondsFor(requests), secondsWithBurst: secondsFor(mayBurst ? Math.max(0, requests - rpm) : requests) };
}

/** The times in words. @param embedded the service is the run's own, so its bucket is full */
export function formatPlanTimes(
  { seconds, secondsWithBurst }: PlanTimes,
  requests: number,
  rpm: number | null,
  embedded: boolean,
  windows: readonly QuotaWindow[] = [],
): string {
  const plain = planTimes(requests, rpm, false).seconds ?? 0;
  if (requests > 0 && seconds !== null && seconds > plain)
    return `${duration(seconds * 1_000)}: by service.windows, of which ${tightest(requests, windows)} takes longest`;
  if (requests === 0) return 'none: nothing is left to ask for';
  if (rpm === null || seconds === null || secondsWithBurst === null) return 'no limit: as fast as the service answers';
  const rate = `at ${count(rpm)} requests a minute`;
  if (seconds === secondsWithBurst) return `${duration(seconds * 1_000)} ${rate}`;
  const burst = secondsWithBurst === 0 ? 'all requests at once' : `${duration(secondsWithBurst * 1_000)} ${rate}`;
  const atOnce = secondsWithBurst === 0 ? '' : ` (${count(rpm)} at once)`;
  if (embedded) return `${burst}: the bucket of the embedded service's key is full at the start${atOnce}`;
  return `${burst} when the key's bucket is full${atOnce}, else ${duration(seconds * 1_000)}${secondsWithBurst === 0 ? ` ${rate}` : ''}`;
}

function tightest(requests: number, windows: readonly QuotaWindow[]): string {
  const periods = ({ limit, periodMs }: QuotaWindow): number => Math.floor((requests - 1) / limit) * periodMs;
  const [first] = windows.toSorted((one, other) => periods(other) - periods(one));
  return first === undefined ? '' : `the ${describeWindow(first)}`;
}
