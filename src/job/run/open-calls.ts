/** Client, limiters and pools: they carry the calls to one provider, for a run or a list of keys. */
import type { ProviderClient } from '../../client/provider-client.ts';
import type { CallMeta } from '../../client/types.ts';
import type { RotatingKey } from '../../client/rotating-key.ts';
import type { CompiledJob, JobProvider } from '../../definition/compiled-job.ts';
import type { QuotaWindow } from '../../providers/compiled-provider.ts';
import { Limiter } from '../../limiter/limiter.ts';
import type { SavedQuota } from '../../limiter/saved-quota.ts';
import type { SharedQuota } from '../../limiter/rules/shared/shared-quota.ts';
import { AUTO_BOUNDS } from '../../pool/adaptive-concurrency.ts';
import { CallPool } from '../../pool/call-pool.ts';
import type { CallSize, MayCall } from '../../pool/call-pool-options.ts';
import type { OpenPromises } from '../../pool/open-promises.ts';
import type { Notices } from '../progress/notices.ts';
import type { CallBudget } from './call-budget.ts';
import type { Counters } from './counters.ts';
import type { Step } from '../../steps/registry.ts';
import { readdirSync, readFileSync } from 'node:fs';
import { StorageError } from '../../util/errors.ts';

/** Asks whether calls may be sent at all. */
const NOTHING: CallSize = { step: 'enrich', keys: 0 };

/** How long calls in flight may take when a run drains, milliseconds. */
export const DRAIN_MS = 25_000;

/** Files that a run opens besides its connections: input, checkpoint, report, folders, and the resolver's sockets. */
const SPARE_FILES = 16;

/** The service that a command asks. */
export interface ServiceAccess {
  readonly baseUrl: string;
  readonly apiKey: RotatingKey;
}

interface CallsOptions {
  readonly provider: Pick<JobProvider, 'concurrency' | 'embedded'>;
  readonly limits: Pick<CompiledJob['limits'], 'maxWaitMs' | 'maxOutageMs'>;
  readonly access: ServiceAccess;
  /** @param connections at most */
  readonly makeClient: (connections: number) => ProviderClient;
  /** One for each quota that the provider counts by itself. */
  readonly channels: readonly ChannelOptions[];
  readonly counters: CallCounters;
  readonly budget: Pick<CallBudget, 'ask' | 'reached'>;
  readonly notices: Notices;
  /** Whether a call may be sent as far as the ledger is concerned; a promise: ask again then. @throws StorageError */
  readonly mayCall: () => true | Promise<void>;
  /** See `CallPoolOptions`. */
  readonly promises?: OpenPromises;
  /** Whether the service has answered an earlier run of this job. */
  readonly hasAnswered: boolean;
  /** Every lookup has failed in an earlier run. */
  readonly isRetry: boolean;
  /** See `CallPoolOptions`. */
  readonly unfitIsAnswer: boolean;
  /** Called for each answer. */
  readonly onAnswer: (meta: CallMeta) => void;
  /** Cancels calls in flight. */
  readonly abort: AbortSignal;
  /** An answer that no other call will improve on: the run must end. */
  readonly onFatal: (error: unknown) => void;
}

/** The counters of a run; with providers also the counters of one of them. */
export type CallCounters = Pick<
  Counters,
  'throttled' | 'sent' | 'rejoined' | 'answered' | 'retrying' | 'wentDown' | 'cameBack' | 'sampleData'
>;

/** A quota as a limiter keeps it. */
export interface LimiterOptions {
  /** Requests a minute of the plan; null: unlimited. */
  readonly rpm: number | null;
  /** Requests a minute that are this run's own. */
  readonly ownRpm: number | null;
  readonly windows: readonly QuotaWindow[];
  /** The quota that several pods share; null: this run alone has its quota. */
  readonly quota: SharedQuota | null;
  /** The part of the plan that is this run's: 1 is all of it. */
  readonly share: number;
  /** Calls of earlier runs that still count against the quota; null when nothing is known of them. */
  readonly spent: SavedQuota | null;
}

/** The quota of polls, and the steps that it counts. */
export interface PollsOfSteps extends LimiterOptions {
  readonly steps: readonly Step[];
}

/** A quota, and the calls that are counted against it. */
export interface ChannelOptions extends LimiterOptions {
  /** The quotas of polls that are counted apart; absent: none. */
  readonly polls?: readonly PollsOfSteps[];
  /** Promises that may be open at once, by step; absent or null: any number. */
  readonly maxOpen?: Readonly<Partial<Record<Step, number | null>>>;
  /** How long the answers of a step are polled, milliseconds; absent, or null when they never come later. */
  readonly longestPollMs?: Readonly<Partial<Record<Step, number | null>>>;
}

export interface Channel {
  readonly limiter: Limiter;
  /** In the order of the options. */
  readonly pollLimiters: readonly Limiter[];
  readonly pool: CallPool;
}

export interface Calls {
  readonly client: ProviderClient;
  /** In the order of the options. */
  readonly channels: readonly Channel[];
  /** Sends nothing more. Resolves when calls in flight are answered; after `DRAIN_MS` they are cancelled. */
  drain(): Promise<void>;
  /** Drains, then closes connections and the shared quota. May be called twice. */
  close(): Promise<void>;
}

/** @throws StorageError when the process may not open enough files */
export function openCalls(options: CallsOptions): Calls {
  const {
    provider: { concurrency, embedded },
    notices,
    abort,
  } = options;
  const wanted = (concurrency === 'auto' ? AUTO_BOUNDS.max : concurrency) * options.channels.length;
  const maxConnections = connectionsAllowed(embedded);
  if (maxConnections < wanted) notices.fewFiles(maxConnections, concurrency);
  const connections = Math.min(wanted, maxConnections);
  const client = options.makeClient(connections);
  const channels = options.channels.map((channel) => openChannel(channel, options, maxConnections));
  const cancel = (): void => void client.destroy();
  abort.addEventListener('abort', cancel, { once: true });
  const drain = async (): Promise<void> => {
    const timer = setTimeout(cancel, DRAIN_MS);
    await Promise.all(channels.map(({ pool }) => pool.drain()));
    clearTimeout(timer);
  };
  const close = async (): Promise<void> => {
    await drain();
    abort.removeEventListener('abort', cancel);
    await client.close();
    for (const { limiter, pollLimiters } of channels) for (const one of [limiter, ...pollLimiters]) await one.close();
  };
  let closing: Promise<void> | null = null;
  return { client, channels, drain, close: () => (closing ??= close()) };
}

function openChannel(channel: ChannelOptions, options: CallsOptions, maxConnections: number): Channel {
  const { provider, limits, access, counters, budget, notices, onAnswer, onFatal } = options;
  const monotonicNow = (): number => performance.now();
  // A key that is being read again comes first, then the ledger's claims, then the job's own limit.
  const mayCall = (call: CallSize): MayCall => {
    if (access.apiKey.reading !== null) return access.apiKey.reading;
    const claimed = options.mayCall();
    return claimed === true ? budget.ask(call) : claimed;
  };
  const limiterOf = (quota: LimiterOptions): Limiter =>
    new Limiter({
      rpm: quota.rpm,
      monotonicNow,
      wallNow: Date.now,
      whenFree: (callback) => void setImmediate(callback),
      restored: quota.spent,
      shared: quota.quota,
      share: quota.share,
      windows: quota.windows,
      blockedBy: () => heldBack(() => mayCall(NOTHING)),
      onThrottled: (wait) => {
        counters.throttled(wait);
        notices.throttled(wait);
      },
      onResetUnit: (how) => notices.resetUnit(how),
      onNegativeQuota: (what) => notices.negativeQuota(what),
      onUnreadableReset: (value) => notices.unreadableReset(value),
    });
  const limiter = limiterOf(channel);
  const polls = (channel.polls ?? []).map((quota) => ({ steps: quota.steps, limiter: limiterOf(quota) }));
  const pollLimiters = polls.map((one) => one.limiter);
  const pool = new CallPool({
    limiter,
    pollLimiters,
    limiterOfPolls: (step) => polls.find(({ steps }) => steps.includes(step))?.limiter ?? limiter,
    maxOpenOf: (step) => channel.maxOpen?.[step] ?? null,
    longestPollMsOf: (step) => channel.longestPollMs?.[step] ?? null,
    concurrency: provider.concurrency,
    maxConnections,
    rpm: channel.ownRpm,
    mayCall,
    renewKey: (version) => renewKey(access.apiKey, version, notices),
    limitReached: (call) => budget.reached(call),
    ...(options.promises === undefined ? {} : { promises: options.promises }),
    hasAnswered: options.hasAnswered,
    isRetryRun: options.isRetry,
    unfitIsAnswer: options.unfitIsAnswer,
    maxWaitMs: limits.maxWaitMs,
    maxOutageMs: limits.maxOutageMs,
    events: {
      sent: (call) => counters.sent(call),
      rejoined: (call, charged) => counters.rejoined(call, charged),
      answered: (call, result) => {
        counters.answered(call, result);
        onAnswer(result.meta);
      },
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
  return { limiter, pollLimiters, pool };
}

/** Resolves when calls may be sent again; null when they may already. A failure is left to the pool, which asks itself. */
function heldBack(mayCall: () => MayCall): Promise<void> | null {
  try {
    const may = mayCall();
    return may instanceof Promise ? may : null;
  } catch {
    return null;
  }
}

/** See `CallPoolOptions.renewKey`; the notice appears once for each new key. */
async function renewKey(apiKey: RotatingKey, version: number, notices: Pick<Notices, 'keyRenewed'>): ReturnType<RotatingKey['renew']> {
  const isFirst = version === apiKey.version && apiKey.reading === null;
  const renewal = await apiKey.renew(version);
  if (isFirst && renewal?.isNew === true) notices.keyRenewed();
  return renewal;
}

/**
 * The number of connections that this process may still open within its limit of open files (`ulimit -n`). Infinity when the limit is
 * unknown. A connection to an embedded service takes two.
 * @throws StorageError when no connection can be opened
 */
function connectionsAllowed(embedded: boolean): number {
  const each = embedded ? 2 : 1;
  try {
    const limit = Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Infinity);
    const used = readdirSync('/proc/self/fd').length;
    const allowed = Math.floor((limit - used - SPARE_FILES) / each);
    if (allowed > 0) return allowed;
    throw tooFew(`may open ${limit} files at once (ulimit -n), and needs ${used + SPARE_FILES + each} at the least`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EMFILE') throw tooFew('has opened as many files as it may (ulimit -n)');
    if (error instanceof StorageError) throw error;
    // Not Linux.
    return Infinity;
  }
}

function tooFew(what: string): StorageError {
  return new StorageError('too_few_files', `this process ${what}`, { hint: 'Permit more, then run the same command: the job resumes.' });
}
