/** The setups that a run opens for each of its providers. */
import { present } from '../../util/assert.ts';
import { AttemptClient } from '../../client/attempt-client.ts';
import type { ProviderClient } from '../../client/provider-client.ts';
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { channelName, pollsName, providerState } from '../../checkpoint/provider-state.ts';
import { paceOf, pollOf, providerChannels, quotaName } from '../../definition/job-provider.ts';
import type { CompiledJob, JobProvider } from '../../definition/compiled-job.ts';
import type { ProviderQuota } from '../../providers/compiled-provider.ts';
import { smallestClaimedWindow } from '../../limiter/rules/quota-windows.ts';
import type { SharedQuota } from '../../limiter/rules/shared/shared-quota.ts';
import { VERIFY_BATCH } from '../../processor/verify.ts';
import { providerScopes } from '../lifecycle/provider-scopes.ts';
import { Notices } from '../progress/notices.ts';
import type { RunMessages } from '../progress/run-messages.ts';
import { ownMaxOpen, ownRpm, ownWindows, shareOfPlan } from '../shards/shard-job.ts';
import { CallBudget } from './call-budget.ts';
import { Counters } from './counters.ts';
import { inProvider, isUnavailable, providerLimit, tellerOf } from './in-provider.ts';
import type { CallCounters, LimiterOptions, PollsOfSteps, ServiceAccess } from './open-calls.ts';
import type { ChannelOfSteps, ProviderSetup } from './run-provider.ts';
import { ShapeWatch } from './shape-watch.ts';
import { openRunQuota } from './shared-quota.ts';
import { spentBefore } from './spent-before.ts';
import { SPECS } from '../../steps/registry.ts';

interface RunOfProviders {
  readonly job: CompiledJob;
  readonly checkpoint: Checkpoint;
  readonly wasKilled: boolean;
  readonly counters: Counters;
  readonly budget: CallBudget;
  readonly reporter: RunMessages;
  /** By the job's names. */
  readonly access: ReadonlyMap<string, ServiceAccess>;
  /** Writes a checkpoint with the claims of every budget; null when the run keeps none. */
  readonly saveTotals: (() => Promise<void>) | null;
  /** Closes a shared quota with the run. */
  readonly closeLater: (quota: SharedQuota | null) => SharedQuota | null;
}

/** The setups of all providers of the job. */
export async function providerSetups(run: RunOfProviders): Promise<ProviderSetup[]> {
  // Back-pressure is that of the first channel: the provider that records meet first.
  const first = run.job.waterfalls[run.job.steps[0] ?? 'enrich']?.from[0];
  const inOrder = run.job.providers.toSorted((one, other) => Number(other.name === first) - Number(one.name === first));
  const setups: ProviderSetup[] = [];
  for (const provider of inOrder) setups.push(await setupOf(provider, run));
  return setups;
}

async function setupOf(provider: JobProvider, run: RunOfProviders): Promise<ProviderSetup> {
  const { job, checkpoint } = run;
  const { name, definition } = provider;
  const access = present(run.access.get(name), `access to the provider ${name} is known`);
  return {
    provider,
    limits: job.limits,
    access,
    makeClient: await clientMaker(provider, access, job),
    channels: await channelsOf(provider, access, run),
    known: providerState(checkpoint, job, name),
    ...(job.namesProviders ? ownSetup(provider, run) : setupOfService(run)),
    scopes: (ledger) => providerScopes(provider, job, checkpoint, (...scope) => ledger.scope(...scope)),
    verifyBatch: definition.client === 'built-in' ? VERIFY_BATCH : (definition.operations.verify?.batch?.size ?? 1),
    isFallback: isFallback(job, name),
    maySkip: (error) => provider.onUnavailable === 'skip' && isUnavailable(error),
  };
}

type OwnSetup = Pick<ProviderSetup, 'counters' | 'callCounters' | 'budget' | 'own' | 'notices' | 'inWords' | 'watch'>;

/** Counters, budget and words of the simple form's service are those of the run. */
function setupOfService({ job, counters, budget, reporter }: RunOfProviders): OwnSetup {
  const notices = new Notices(reporter, job.limits.maxOutageMs, () => performance.now());
  return { counters, callCounters: counters, budget, own: null, notices, inWords: (error) => error, watch: null };
}

function ownSetup(provider: JobProvider, run: RunOfProviders): OwnSetup {
  const { job, checkpoint, reporter, saveTotals } = run;
  const { name, definition } = provider;
  const state = providerState(checkpoint, job, name);
  const creditsEach = Object.fromEntries(job.steps.map((step) => [step, definition.operations[step]?.creditsAtMost ?? 1]));
  const counters = new Counters(state.totals, () => performance.now(), null, creditsEach);
  const uncounted = {
    calls: Math.max(0, state.callsAtMost - counters.allCalls),
    credits: Math.max(0, state.creditsAtMost - counters.creditsAtMost),
  };
  // Without an idempotency key a repeated request is paid again, and no answer tells whether the first one was.
  const isRepeated = definition.client !== 'built-in' && definition.idempotencyHeader === null;
  if (run.wasKilled) counters.afterKill(isRepeated ? Math.max(0, uncounted.credits - (state.totals.creditsLost ?? 0)) : 0);
  const own = new CallBudget({
    maxCalls: provider.maxCalls,
    maxCredits: provider.maxCredits,
    windowCalls: smallestClaimedWindow(
      providerChannels(provider, job).flatMap(({ quota, polls }) =>
        [quota, ...polls.map((own) => own.quota)].flatMap((one) => ownWindows(paceOf(provider, one), checkpoint)),
      ),
    ),
    counters,
    uncounted,
    record: saveTotals,
  });
  const watch = new ShapeWatch(definition.file);
  return {
    counters,
    callCounters: both(run.counters, counters, watch),
    budget: bothBudgets(run.budget, own, name),
    own,
    notices: new Notices(tellerOf(reporter, name), job.limits.maxOutageMs, () => performance.now()),
    inWords: (error) => inProvider(error, name),
    watch,
  };
}

/** One channel for each quota of the provider. */
async function channelsOf(provider: JobProvider, access: ServiceAccess, run: RunOfProviders): Promise<ChannelOfSteps[]> {
  const { job, checkpoint, wasKilled, closeLater } = run;
  const reporter = job.namesProviders ? tellerOf(run.reporter, provider.name) : run.reporter;
  const state = providerState(checkpoint, job, provider.name);
  const limits = async (quota: ProviderQuota, name: string): Promise<LimiterOptions> => {
    const pace = paceOf(provider, quota);
    const last = { spent: state.spent[name] ?? null, callsAtMost: state.callsAtMost, shard: checkpoint.shard };
    const channel = quotaName(provider, quota);
    return {
      rpm: pace.rpm,
      ownRpm: ownRpm(pace, checkpoint),
      windows: ownWindows(pace, checkpoint),
      quota: closeLater(await openRunQuota({ provider, access, pace, channel }, reporter, checkpoint)),
      share: shareOfPlan(checkpoint),
      spent: spentBefore(job, pace, last, wasKilled, Date.now()),
    };
  };
  const channels: ChannelOfSteps[] = [];
  for (const { quota, steps, polls } of providerChannels(provider, job)) {
    const apart: PollsOfSteps[] = [];
    for (const own of polls) apart.push({ steps: own.steps, ...(await limits(own.quota, pollsName(own.steps))) });
    const maxOpen = Object.fromEntries(steps.map((step) => [step, ownMaxOpen(pollOf(provider, step), checkpoint)]));
    const longestPollMs = Object.fromEntries(steps.map((step) => [step, pollOf(provider, step)?.longestMs ?? null]));
    channels.push({ steps, ...(await limits(quota, channelName(steps))), polls: apart, maxOpen, longestPollMs });
  }
  return channels;
}

/** The typed client of the specification's service, or the client that follows a definition. */
async function clientMaker(
  provider: JobProvider,
  { baseUrl, apiKey }: ServiceAccess,
  { options: { enrich } }: Pick<CompiledJob, 'options'>,
): Promise<(connections: number) => ProviderClient> {
  const { definition, timeoutMs, domainField } = provider;
  if (definition.client === 'built-in')
    return (connections) => new AttemptClient({ baseUrl, apiKey, timeoutMs, domainField, enrich, connections });
  // Loaded on demand: JSONata takes a while, and most jobs do without.
  const { DeclaredClient } = await import('../../providers/client/declared-client.ts');
  const { minLikelihood, required } = enrich;
  const isReplaced = provider.baseUrl !== definition.baseUrl;
  const options = { provider: definition, baseUrl, isReplaced, apiKey, timeoutMs, lookups: { minLikelihood, required } };
  return (connections) => new DeclaredClient({ ...options, connections });
}

/** Counters that count each call for the run and for its provider. */
function both(run: Counters, own: Counters, watch: ShapeWatch): CallCounters {
  return {
    sent: (call) => {
      run.sent(call);
      own.sent(call);
    },
    rejoined: (call, charged) => {
      run.rejoined(call, charged);
      own.rejoined(call, charged);
    },
    answered: (call, result) => {
      run.answered(call, result);
      own.answered(call, result);
      watch.answered(call, result);
    },
    retrying: (step) => {
      run.retrying(step);
      own.retrying(step);
    },
    throttled: (wait) => {
      run.throttled(wait);
      own.throttled(wait);
    },
    sampleData: () => {
      run.sampleData();
      own.sampleData();
    },
    wentDown: () => {
      run.wentDown();
      own.wentDown();
    },
    cameBack: () => {
      run.cameBack();
      own.cameBack();
    },
  };
}

/** A call must be within the limits of the job and of its provider. */
function bothBudgets(run: CallBudget, own: CallBudget, name: string): ProviderSetup['budget'] {
  return {
    ask: (call) => {
      const may = own.ask(call);
      return may === true ? run.ask(call) : may;
    },
    reached: (call) => {
      return own.ask(call) === true ? run.reached(call) : providerLimit(own.reached(call), name);
    },
  };
}

/** Whether each lookup step that asks the provider asks another one before it: it gets only what others did not know. */
function isFallback({ waterfalls }: Pick<CompiledJob, 'waterfalls'>, name: string): boolean {
  const asking = SPECS.filter(({ name: step, verdicts }) => verdicts === null && waterfalls[step]?.from.includes(name));
  return asking.length > 0 && asking.every(({ name: step }) => waterfalls[step]?.from[0] !== name);
}
