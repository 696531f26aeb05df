/** The parts that a run opens for each provider: for the one service of a job, or for those that it names. */
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { NEW_PROVIDER, type ProviderState } from '../../checkpoint/provider-state.ts';
import { providerChannels, serviceSettings } from '../../definition/job-provider.ts';
import type { CompiledJob, JobProvider } from '../../definition/compiled-job.ts';
import type { ProviderClient } from '../../client/provider-client.ts';
import { smallestClaimedWindow } from '../../limiter/rules/quota-windows.ts';
import type { SharedQuota } from '../../limiter/rules/shared/shared-quota.ts';
import { lookupScopes } from '../../processor/scopes.ts';
import { VERIFY_BATCH } from '../../processor/verify.ts';
import type { DeclaredClient } from '../../providers/client/declared-client.ts';
import { providerScopes } from '../lifecycle/provider-scopes.ts';
import { ledgerOrigin } from '../lifecycle/service-origin.ts';
import { Notices } from '../progress/notices.ts';
import type { RunMessages } from '../progress/run-messages.ts';
import { ownRpm, ownWindows, shareOfPlan } from '../shards/shard-job.ts';
import { CallBudget } from './call-budget.ts';
import { Counters } from './counters.ts';
import { inProvider, isUnavailable, providerLimit, tellerOf } from './in-provider.ts';
import type { CallCounters, ServiceAccess } from './open-calls.ts';
import { channelName, type ProviderPart } from './run-provider.ts';
import { ShapeWatch } from './shape-watch.ts';
import { spentBefore } from './spent-before.ts';

interface RunOfProviders {
  readonly job: CompiledJob;
  readonly checkpoint: Checkpoint;
  readonly wasKilled: boolean;
  readonly counters: Counters;
  readonly budget: CallBudget;
  readonly reporter: RunMessages;
}

/** The one service of a job: its counters, budget and trust are those of the run. */
export function servicePart(
  { job, checkpoint, wasKilled, counters, budget }: RunOfProviders,
  access: ServiceAccess,
  quota: SharedQuota | null,
  notices: Notices,
): ProviderPart {
  const origin = ledgerOrigin(job.service.baseUrl, checkpoint);
  return {
    name: null,
    job,
    access,
    channels: [
      {
        steps: job.steps,
        rpm: job.service.rpm,
        ownRpm: ownRpm(job, checkpoint),
        windows: ownWindows(job, checkpoint),
        quota,
        share: shareOfPlan(checkpoint),
        spent: spentBefore(job, checkpoint, wasKilled, Date.now()),
      },
    ],
    known: checkpoint,
    counters,
    callCounters: counters,
    budget,
    notices,
    scopes: (ledger) => lookupScopes((step, scope) => ledger.scope(origin, step, scope), job.service.domainField, job),
    verifyBatch: VERIFY_BATCH,
    isFallback: false,
    maySkip: () => false,
    inWords: (error) => error,
  };
}

/** A provider with a name, and its own budget for the checkpoint. */
export interface NamedPart extends ProviderPart {
  readonly name: string;
  readonly own: CallBudget;
}

/**
 * The providers that a job names.
 * @param saveTotals writes a checkpoint with the claims of every budget; null when the run keeps none
 */
export async function namedParts(
  run: RunOfProviders,
  access: ReadonlyMap<string, ServiceAccess>,
  saveTotals: (() => Promise<void>) | null,
): Promise<NamedPart[]> {
  // Loaded on demand: JSONata takes a while, and a job with one service does without.
  const { DeclaredClient: Client } = await import('../../providers/client/declared-client.ts');
  // Back-pressure is that of the first channel: the provider that records meet first.
  const first = run.job.waterfalls[run.job.steps[0] ?? 'enrich']?.from[0];
  const inOrder = run.job.providers.toSorted((one, other) => Number(other.name === first) - Number(one.name === first));
  return inOrder.map((provider) => {
    const own = access.get(provider.name);
    if (own === undefined) throw new Error(`nothing says how to reach the provider ${provider.name}`);
    return namedPart(run, provider, own, saveTotals, (options) => new Client(options));
  });
}

type ClientOptions = ConstructorParameters<typeof DeclaredClient>[0];

function namedPart(
  run: RunOfProviders,
  provider: JobProvider,
  access: ServiceAccess,
  saveTotals: (() => Promise<void>) | null,
  declared: (options: ClientOptions) => ProviderClient,
): NamedPart {
  const { job, checkpoint, wasKilled, reporter } = run;
  const { name, definition } = provider;
  const state: ProviderState = checkpoint.providers?.[name] ?? NEW_PROVIDER;
  const channels = providerChannels(provider, job);
  const settings = channels.map(({ quota }) => serviceSettings(provider, quota));
  const [first] = settings;
  if (first === undefined) throw new Error(`no step asks the provider ${name}`);
  const ownJob = { ...job, service: first };
  const ownCheckpoint = { ...checkpoint, callsAtMost: state.callsAtMost, creditsAtMost: state.creditsAtMost };
  const creditsEach = Object.fromEntries(job.steps.map((step) => [step, definition.operations[step]?.creditsAtMost ?? 1]));
  const counters = new Counters(state.totals, () => performance.now(), null, creditsEach);
  const own = new CallBudget({
    maxCalls: provider.maxCalls,
    maxCredits: provider.maxCredits,
    windowCalls: smallestClaimedWindow(settings.flatMap(({ windows }) => windows)),
    counters,
    uncounted: {
      calls: Math.max(0, state.callsAtMost - counters.allCalls),
      credits: Math.max(0, state.creditsAtMost - counters.credits),
    },
    record: saveTotals,
  });
  const watch = new ShapeWatch(definition.file);
  const known = { trusted: state.trusted, answered: state.answered, ...(state.held === undefined ? {} : { held: state.held }) };
  return {
    name,
    own,
    job: ownJob,
    access,
    ...(definition.client === 'built-in'
      ? {}
      : {
          makeClient: (connections: number) =>
            declared({
              provider: definition,
              baseUrl: access.baseUrl,
              isReplaced: provider.baseUrl !== definition.baseUrl,
              apiKey: access.apiKey,
              timeoutMs: provider.timeoutMs,
              connections,
              lookups: { minLikelihood: job.enrich.minLikelihood, required: job.enrich.required },
            }),
        }),
    channels: channels.map(({ steps }, index) => {
      const channelJob = { ...job, service: settings[index] ?? first };
      const channelCheckpoint = { ...ownCheckpoint, spent: state.spent[channelName(steps)] ?? null };
      return {
        steps,
        rpm: channelJob.service.rpm,
        ownRpm: ownRpm(channelJob, checkpoint),
        windows: ownWindows(channelJob, checkpoint),
        quota: null,
        share: shareOfPlan(checkpoint),
        spent: spentBefore(channelJob, channelCheckpoint, wasKilled, Date.now()),
      };
    }),
    known,
    counters,
    callCounters: both(run.counters, counters, watch),
    budget: bothBudgets(run.budget, own, name),
    notices: new Notices(tellerOf(reporter, name), job.limits.maxOutageMs, () => performance.now()),
    scopes: (ledger) => providerScopes(provider, job, checkpoint, (...scope) => ledger.scope(...scope)),
    verifyBatch: definition.client === 'built-in' ? VERIFY_BATCH : (definition.operations.verify?.batch?.size ?? 1),
    isFallback: isFallback(job, name),
    maySkip: (error) => provider.onUnavailable === 'skip' && isUnavailable(error),
    inWords: (error) => inProvider(error, name),
    watch,
  };
}

/** Counters that count each call for the run and for its provider. */
function both(run: Counters, own: Counters, watch: ShapeWatch): CallCounters {
  return {
    sent: (call) => {
      run.sent(call);
      own.sent(call);
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
function bothBudgets(run: CallBudget, own: CallBudget, name: string): ProviderPart['budget'] {
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
function isFallback({ waterfalls: { enrich, company, reveal } }: Pick<CompiledJob, 'waterfalls'>, name: string): boolean {
  return [enrich, company, reveal].every((lookup) => lookup?.from[0] !== name);
}
