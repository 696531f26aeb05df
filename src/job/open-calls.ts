/** What carries a run's calls: the client, the limiter that says when, the pool that says how many at once. */
import type { RotatingKey } from '../client/rotating-key.ts';
import { DataServiceClient } from '../client/data-service-client.ts';
import { Limiter } from '../limiter/limiter.ts';
import type { Spent } from '../limiter/quota-model.ts';
import { withUncounted } from '../limiter/quota-windows.ts';
import { AUTO_BOUNDS } from '../pool/adaptive-concurrency.ts';
import { CallPool } from '../pool/call-pool.ts';
import type { RequestPace } from '../processor/context.ts';
import type { JobParts } from './job-parts.ts';
import { Notices } from './notices.ts';
import { connectionsAllowed } from './open-files.ts';
import { requestPace } from './request-pace.ts';
import { ownRpm, ownWindows } from './shards/shard-job.ts';

export interface Calls {
  readonly client: DataServiceClient;
  readonly limiter: Limiter;
  readonly pool: CallPool;
  /** Verdicts are waited for: the user is told. */
  readonly onPending: (addresses: number, waitMs: number) => void;
  /** How large verify requests are. */
  readonly pace: RequestPace;
}

/** @param onFatal ends the run: no other call will improve on that answer */
export function openCalls(parts: JobParts, onFatal: (error: unknown) => void): Calls {
  const { job, counters, service } = parts;
  const monotonicNow = (): number => performance.now();
  const notices = new Notices(parts.reporter, job.limits.maxOutageMs, monotonicNow);
  const wanted = job.service.concurrency === 'auto' ? AUTO_BOUNDS.max : job.service.concurrency;
  const mostAtOnce = connectionsAllowed(job.service.embedded);
  if (mostAtOnce < wanted) notices.fewFiles(mostAtOnce, job.service.concurrency);
  const client = new DataServiceClient({
    baseUrl: service.baseUrl,
    apiKey: service.apiKey,
    timeoutMs: job.service.timeoutMs,
    domainField: job.service.domainField,
    connections: Math.min(wanted, mostAtOnce),
  });
  const limiter = new Limiter({
    rpm: job.service.rpm,
    monotonicNow,
    wallNow: Date.now,
    spent: spentBefore(parts),
    shared: parts.quota,
    share: parts.share ?? 1,
    windows: ownWindows(job, parts.checkpoint),
    held: () => heldBy(parts),
    onThrottled: (wait) => {
      counters.throttled(wait);
      notices.throttled(wait);
    },
    onResetUnit: (how) => notices.resetUnit(how),
    onUnreadableReset: (value) => notices.unreadableReset(value),
  });
  counters.beyondPlanNow = () => limiter.beyondPlan();
  const pool = new CallPool({
    limiter,
    concurrency: job.service.concurrency,
    mostAtOnce,
    rpm: ownRpm(job, parts.checkpoint),
    mayCall: () => mayCall(parts),
    renewKey: (version) => renewed(service.apiKey, version, notices),
    limitReached: () => parts.budget.reached(),
    hasAnswered: parts.checkpoint.answered,
    asksAgain: parts.retry !== null,
    maxWaitMs: job.limits.maxWaitMs,
    maxOutageMs: job.limits.maxOutageMs,
    events: {
      sent: (step) => counters.sent(step),
      answered: (step, result) => counters.answered(step, result),
      retrying: (step) => counters.retrying(step),
      wentDown: (code, detail, lastLookups) => {
        counters.wentDown();
        notices.wentDown(code, detail, lastLookups);
      },
      cameBack: (downMs) => {
        counters.cameBack();
        notices.cameBack(downMs);
      },
    },
    onFatal,
    monotonicNow,
    random: Math.random,
  });
  const { ledger, keepTotals = async () => undefined } = parts;
  const pace = requestPace({ timeoutMs: job.service.timeoutMs, counters, notices, keepAnswers: () => ledger.keep(), keepTotals, onFatal });
  return { client, limiter, pool, onPending: (addresses, waitMs) => notices.pending(addresses, waitMs), pace };
}

/** See `CallPoolOptions.renewKey`; says so once for each new key. */
export async function renewed(apiKey: RotatingKey, version: number, notices: Pick<Notices, 'keyRenewed'>): ReturnType<RotatingKey['renew']> {
  const first = version === apiKey.version && apiKey.reading === null;
  const renewal = await apiKey.renew(version);
  if (first && renewal?.isNew === true) notices.keyRenewed();
  return renewal;
}

/**
 * What the run before has spent. A run that was killed sent more after its last checkpoint, until its next one was due at the latest:
 * of the plan's minute it is taken to have spent all, of a longer window that the job states what it had claimed (`CallBudget`).
 */
export function spentBefore({ checkpoint, wasKilled, job }: Pick<JobParts, 'checkpoint' | 'wasKilled' | 'job'>): Spent | null {
  if (checkpoint.spent === null) return null;
  const rpm = ownRpm(job, checkpoint);
  const { later, windows = [], sent = checkpoint.callsAtMost, ...spent } = checkpoint.spent;
  const killedAtMs = spent.lastAtMs + job.checkpoint.everyMs;
  const kept = wasKilled ? withUncounted(windows, Math.max(0, checkpoint.callsAtMost - sent), killedAtMs) : windows;
  return {
    ...(rpm === null ? { ...spent, calls: 0 } : wasKilled ? { calls: rpm, lastAtMs: killedAtMs } : spent),
    ...(kept.length === 0 ? {} : { windows: kept }),
    // A wait that is longer than a run may wait has ended the run before: one call asks whether it still is.
    ...(later === undefined ? {} : { later: later.forMs > job.limits.maxWaitMs ? { ...later, untilMs: 0 } : later }),
  };
}

/** What keeps requests from being sent; null: nothing, or a failure that `mayCall` tells the pool of. */
function heldBy(parts: JobParts): Promise<void> | null {
  try {
    const may = mayCall(parts);
    return typeof may === 'boolean' ? null : may;
  } catch {
    return null;
  }
}

/** Whether one more request may be sent: what others may be asking for as well first, then the job's own limit. */
function mayCall({ ledger, budget, service }: JobParts): boolean | Promise<void> {
  if (service.apiKey.reading !== null) return service.apiKey.reading;
  const claimed = ledger.mayCall();
  return claimed === true ? budget.ask() : claimed;
}
