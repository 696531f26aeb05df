/** One provider of a run: its client, limiters, pools, counters and trust. It may be skipped when it stays away. */
import { present } from '../../util/assert.ts';
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { channelName, pollsName, type ProviderState } from '../../checkpoint/provider-state.ts';
import type { ProviderClient } from '../../client/provider-client.ts';
import type { CompiledJob, JobProvider } from '../../definition/compiled-job.ts';
import type { RunLedger } from '../../ledger/run-ledger.ts';
import type { SavedQuota } from '../../limiter/saved-quota.ts';
import { MissQuarantine } from '../../lookup/miss-quarantine.ts';
import type { OpenPromises } from '../../pool/open-promises.ts';
import type { StepProvider, Steps } from '../../processor/open-steps.ts';
import type { LookupScopes } from '../../processor/scopes.ts';
import { idempotencyKey, keySeed } from '../lifecycle/idempotency-keys.ts';
import type { Notices } from '../progress/notices.ts';
import type { CallBudget } from './call-budget.ts';
import type { Counters } from './counters.ts';
import { openCalls, type CallCounters, type Calls, type Channel, type ChannelOptions, type ServiceAccess } from './open-calls.ts';
import { requestPace } from './request-pace.ts';
import type { RunClock } from './run-clock.ts';
import type { RunState } from './run-state.ts';
import { withSampleAnswers } from './sample-answers.ts';
import { ServiceDoubt, type TrustedElsewhere } from './service-doubt.ts';
import type { ShapeWatch } from './shape-watch.ts';
import type { Step } from '../../steps/registry.ts';

/** The operations that one quota counts. */
export interface ChannelOfSteps extends ChannelOptions {
  readonly steps: readonly Step[];
}

/** A provider that is to be opened. */
export interface ProviderSetup {
  readonly provider: JobProvider;
  readonly limits: CompiledJob['limits'];
  readonly access: ServiceAccess;
  readonly makeClient: (connections: number) => ProviderClient;
  readonly channels: readonly ChannelOfSteps[];
  /** Knowledge of the provider from the last run. */
  readonly known: Pick<Checkpoint, 'trusted' | 'held' | 'missForms' | 'answered'>;
  readonly counters: Counters;
  /** Told of each call: the provider's own counters, and those of the run. */
  readonly callCounters: CallCounters;
  readonly budget: Pick<CallBudget, 'ask' | 'reached'>;
  /** The budget of a named provider, which its state in the checkpoint has; null where the run's is all there is. */
  readonly own: CallBudget | null;
  readonly notices: Notices;
  readonly scopes: (ledger: Pick<RunLedger, 'scope'>) => LookupScopes;
  /** Addresses in a full verify request. */
  readonly verifyBatch: number;
  /** It gets only lookups that other providers did not know, so that many misses are no surprise. */
  readonly isFallback: boolean;
  /** Whether the run goes on without the provider after this error. */
  readonly maySkip: (error: unknown) => boolean;
  /** The error in words that name the provider. */
  readonly inWords: (error: unknown) => unknown;
  /** Null for the one service of a job. */
  readonly watch: ShapeWatch | null;
}

/** The parts of the run that its providers share. */
export interface RunContext {
  readonly state: RunState;
  readonly ledger: RunLedger;
  readonly checkpoint: Checkpoint;
  readonly isRetry: boolean;
  readonly isTrustedElsewhere: TrustedElsewhere | null;
  readonly abort: AbortSignal;
  readonly promises: OpenPromises;
  readonly clock: Pick<RunClock, 'answered'>;
  /** A lookup was settled: requests that are not full may have to go now. */
  readonly onSettled: () => void;
  /** Writes a checkpoint with the totals of now. */
  readonly saveTotals: () => Promise<void>;
}

export class RunProvider {
  readonly name: string;
  readonly calls: Calls;
  readonly counters: Counters;
  readonly quarantine: MissQuarantine;
  readonly doubt: ServiceDoubt;
  readonly #setup: ProviderSetup;
  readonly #shared: RunContext;
  #saidSample = false;
  #skipped: { readonly why: string } | null = null;
  /** Its steps, once they are open. */
  #steps: Steps['watched'] = [];

  /** @throws StorageError when the process may not open enough files */
  constructor(setup: ProviderSetup, shared: RunContext) {
    const { provider, limits, known, notices, counters } = setup;
    const { isTrustedElsewhere } = shared;
    this.#setup = setup;
    this.#shared = shared;
    this.name = provider.name;
    this.counters = counters;
    const doubt = new ServiceDoubt({
      state: inWords(shared.state, setup),
      isTrustedElsewhere: isTrustedElsewhere === null ? null : () => isTrustedElsewhere(provider.name),
      quarantine: () => this.quarantine,
      onTrusted: shared.onSettled,
    });
    this.doubt = doubt;
    this.quarantine = new MissQuarantine({
      held: known.held,
      missForms: known.missForms,
      trusted: known.trusted || limits.trustMisses,
      onDistrust: (answers, kind) => this.#distrust(answers, kind),
    });
    if (setup.watch !== null) {
      setup.watch.onChange = (error) => this.#fatal(error);
      setup.watch.onFirst = (text) => notices.unfit(text);
    }
    this.calls = openCalls({
      provider,
      limits,
      access: setup.access,
      makeClient: setup.makeClient,
      channels: setup.channels,
      counters: setup.callCounters,
      budget: setup.budget,
      notices,
      // A shared ledger forbids new calls while it cannot be reached.
      mayCall: () => shared.ledger.mayCall(),
      promises: shared.promises,
      // Faults of a service that has answered this job before are outages, not a wrong address.
      hasAnswered: known.answered,
      isRetry: shared.isRetry,
      unfitIsAnswer: setup.watch !== null,
      onAnswer: ({ isSample, headers }) => {
        if (isSample === true) this.#sampleData();
        shared.clock.answered(headers);
      },
      abort: shared.abort,
      onFatal: (error) => this.#fatal(error),
    });
    if (provider.embedded) this.#sampleData();
  }

  /** The provider as its steps need it. */
  forSteps(): StepProvider {
    const { provider, scopes, verifyBatch, notices, counters } = this.#setup;
    const { ledger, checkpoint, onSettled, saveTotals, state } = this.#shared;
    const ownSeed = keySeed(checkpoint);
    const own = withSampleAnswers(
      ledger,
      () => this.#saidSample,
      () => this.#sampleData(),
    );
    return {
      name: this.name,
      scopes: scopes(ledger),
      verifyBatch,
      contextOf: (step) => ({
        client: this.calls.client,
        pool: this.channelOf(step).pool,
        ledger: own,
        quarantine: this.quarantine,
        idempotencyKey: (body, seed = null) => idempotencyKey(seed ?? ownSeed, step, body),
        onSettled,
        onFatal: (error) => state.stopFor(error),
        onPending: (addresses, waitMs) => notices.pending(addresses, waitMs),
        paceOf: (largest, isProven) =>
          requestPace({
            step,
            timeoutMs: provider.timeoutMs,
            largest,
            isProven,
            counters,
            notices,
            keepAnswers: () => ledger.keep(),
            keepTotals: saveTotals,
            onFatal: (error) => state.stopFor(error),
          }),
      }),
    };
  }

  /** The steps are open. */
  watch(steps: Steps): void {
    this.#steps = steps.watched.filter(({ provider }) => provider === this.name);
  }

  channelOf(step: Step): Channel {
    const index = this.#setup.channels.findIndex(({ steps }) => steps.includes(step));
    return present(this.calls.channels[index], `the provider ${this.name} has calls for ${step}`);
  }

  /** The budget of a named provider; null in the simple form. */
  get own(): CallBudget | null {
    return this.#setup.own;
  }

  /** Why the run goes on without it; null while it is asked. */
  get skipped(): string | null {
    return this.#skipped?.why ?? null;
  }

  /** Knowledge of the provider for the next run. A provider whose misses were rejected counts as one that never answered. */
  knownNow(): Pick<ProviderState, 'trusted' | 'held' | 'missForms' | 'answered'> {
    const hasAnswered = this.calls.channels.some(({ pool }) => pool.hasAnswered);
    return { ...this.quarantine.trust, answered: hasAnswered && !this.quarantine.isServiceRejected };
  }

  /** Calls that count against the quota of the next run, by the names of the operations. */
  get spent(): Readonly<Record<string, SavedQuota>> {
    return Object.fromEntries(
      this.calls.channels.flatMap(({ limiter, pollLimiters }, index): [string, SavedQuota][] => {
        const { steps = [], polls = [] } = this.#setup.channels[index] ?? {};
        return [
          [channelName(steps), limiter.save()],
          ...pollLimiters.map((one, at): [string, SavedQuota] => [pollsName(polls[at]?.steps ?? []), one.save()]),
        ];
      }),
    );
  }

  /** The sample knows nobody of most lists, so that many misses are no sign of a wrong address. */
  #sampleData(): void {
    if (this.#saidSample) return;
    this.#saidSample = true;
    this.#setup.callCounters.sampleData();
    this.#setup.notices.sampleData();
    this.quarantine.confirm();
  }

  #distrust(answers: number, kind: string): void {
    if (!this.#setup.isFallback || !kind.endsWith(' miss')) {
      void this.doubt.raise(answers, kind);
      return;
    }
    this.#setup.notices.missesAlone(answers);
    this.quarantine.confirm();
    this.#shared.onSettled();
  }

  #fatal(error: unknown): void {
    if (this.#setup.maySkip(error) && !this.#shared.state.isStopping) void this.skip(error);
    else this.#shared.state.stopFor(this.#setup.inWords(error));
  }

  /** Goes on without the provider: calls in flight are answered first, and all other lookups end as unavailable. Never rejects. */
  async skip(reason: unknown): Promise<void> {
    if (this.#skipped !== null) return;
    this.#skipped = { why: reason instanceof Error ? reason.message : String(reason) };
    this.#setup.notices.skipped(this.#skipped.why);
    try {
      await Promise.all(this.calls.channels.map(({ pool }) => pool.drain()));
      for (const { step } of this.#steps) step.giveUp('unavailable');
      this.#shared.onSettled();
    } catch (failure) {
      this.#shared.state.stopFor(failure);
    }
  }
}

/** The run's state for a doubt about one provider. */
function inWords(state: RunState, { inWords: named }: ProviderSetup): Pick<RunState, 'isStopping' | 'stopFor'> {
  return {
    get isStopping() {
      return state.isStopping;
    },
    stopFor: (error) => state.stopFor(named(error)),
  };
}
