/** All providers of a run: opened together, saved together, closed together. */
import type { ProviderState, ProviderStates } from '../../checkpoint/provider-state.ts';
import type { SavedQuota } from '../../limiter/saved-quota.ts';
import type { MissQuarantine } from '../../lookup/miss-quarantine.ts';
import type { Steps } from '../../processor/open-steps.ts';
import { RunProvider, type ProviderSetup, type RunContext } from './run-provider.ts';
import type { Counters } from './counters.ts';
import { allChannels, type ChannelView, type ProviderView, type RunLimiter, type RunPool } from './channel-views.ts';

/** The state of named providers in the checkpoints of a run. */
export interface ProviderCheckpoints {
  /** @param isRunning with the claims of their budgets for the time until the next checkpoint */
  states(isRunning: boolean): ProviderStates;
  /** A checkpoint with these states is durable. */
  claimed(states: ProviderStates): void;
}

export class RunProviders {
  readonly all: readonly RunProvider[];
  /** For progress and monitor, which show one limiter and one pool. */
  readonly limiter: RunLimiter;
  readonly pool: RunPool;
  readonly channels: readonly ChannelView[];
  /** Providers that the job names, for the monitor. */
  readonly views: readonly ProviderView[];
  /** Null for a job with one service, whose state is the checkpoint's own. */
  readonly checkpoints: ProviderCheckpoints | null;
  readonly #named: readonly RunProvider[];

  /** @throws StorageError when the process may not open enough files */
  constructor(setups: readonly ProviderSetup[], shared: RunContext) {
    this.all = setups.map((setup) => new RunProvider(setup, shared));
    this.#named = this.all.filter(({ own }) => own !== null);
    this.channels = this.all.flatMap(({ name, own, calls }) =>
      calls.channels.map((channel) => ({ name: own === null ? null : name, ...channel })),
    );
    ({ limiter: this.limiter, pool: this.pool } = allChannels(this.channels));
    this.views = this.#named.map(viewOf);
    this.checkpoints =
      this.#named.length === 0 ? null : { states: (isRunning) => this.#states(isRunning), claimed: (states) => this.#claimed(states) };
  }

  watch(steps: Steps): void {
    for (const provider of this.all) provider.watch(steps);
  }

  /** The quarantines of all providers. */
  get quarantine(): Pick<MissQuarantine, 'size' | 'release' | 'askAgainNow' | 'unproven'> {
    const { all } = this;
    return {
      get size() {
        return all.reduce((sum, { quarantine }) => sum + quarantine.size, 0);
      },
      get unproven() {
        const some = all.flatMap(({ quarantine: { unproven } }) => unproven ?? []);
        const lookups = some.reduce((sum, one) => sum + one.lookups, 0);
        return lookups === 0 ? null : { lookups, untilMs: Math.min(...some.map(({ untilMs }) => untilMs)) };
      },
      release: () => {
        for (const { quarantine } of all) quarantine.release();
      },
      askAgainNow: () => {
        for (const { quarantine } of all) quarantine.askAgainNow();
      },
    };
  }

  get isInDoubt(): boolean {
    return this.all.some(({ doubt }) => doubt.isOpen);
  }

  /** Requests offered beyond the plan's rate. */
  beyondPlan(): number {
    return this.channels.reduce((sum, { limiter }) => sum + limiter.beyondPlan(), 0);
  }

  /** Knowledge of the service for the checkpoint's own keys. Named providers have theirs beside it. */
  get known(): ReturnType<RunProvider['knownNow']> {
    const [first] = this.all;
    if (first !== undefined && first.own === null) return first.knownNow();
    return { trusted: true, held: [], answered: this.all.some((provider) => provider.knownNow().answered) };
  }

  /** The quota for the checkpoint's own key; of several providers for the report alone. */
  get spent(): SavedQuota {
    const saved = this.channels.map(({ limiter }) => limiter.save());
    const [first] = saved;
    if (first !== undefined && saved.length === 1) return first;
    const [later] = saved.flatMap((one) => (one.later === undefined ? [] : [one.later])).sort((one, other) => other.untilMs - one.untilMs);
    return {
      minute: [],
      savedAtMs: Math.max(...saved.map(({ savedAtMs }) => savedAtMs)),
      windows: saved.flatMap(({ windows = [] }) => windows),
      ...(later === undefined ? {} : { later }),
    };
  }

  /** The credits of the providers that the job names. */
  get spending(): Readonly<Record<string, Pick<Counters, 'credits' | 'creditsBy' | 'promised'>>> {
    return Object.fromEntries(this.#named.map(({ name, counters }) => [name, counters]));
  }

  /** Sends nothing more; resolves when calls in flight are answered. */
  async drain(): Promise<void> {
    await Promise.all(this.all.map(({ calls }) => calls.drain()));
  }

  /** Drains, then closes all connections. May be called twice. */
  async close(): Promise<void> {
    await Promise.all(this.all.map(({ calls }) => calls.close()));
  }

  #states(isRunning: boolean): ProviderStates {
    return Object.fromEntries(
      this.#named.flatMap((provider): [string, ProviderState][] => {
        const { name, own, counters, skipped } = provider;
        if (own === null) return [];
        const claims = isRunning ? own.claim() : own.spent;
        const spent = Object.fromEntries(Object.entries(provider.spent).map(([channel, quota]) => [channel, { ...quota, sent: own.sent }]));
        const totals = { ...counters.totals({ lookups: 0, reused: 0 }), creditsBy: { ...counters.creditsBy } };
        return [[name, { ...provider.knownNow(), totals, spent, ...claims, skipped }]];
      }),
    );
  }

  #claimed(states: ProviderStates): void {
    for (const { name, own } of this.#named) {
      const state = states[name];
      if (state !== undefined) own?.claimedUpTo(state);
    }
  }
}

function viewOf(provider: RunProvider): ProviderView {
  const { name, counters, calls } = provider;
  return {
    name,
    counters,
    get skipped() {
      return provider.skipped;
    },
    get outageMs() {
      return Math.max(0, ...calls.channels.map(({ pool }) => pool.outage?.forMs ?? 0));
    },
  };
}
