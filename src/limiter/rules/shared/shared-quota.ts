/**
 * One quota for several pods, as a rule of each pod's limiter. Each pod asks the store for permits in short turns and reports its
 * answers. One pod coordinates: it keeps the account and grants permits.
 */
import type { Wait } from '../../../util/waits.ts';
import type { Demand, EndedCall, Permits, QuotaRule, UsedUp } from '../../quota-rule.ts';
import { restoreSlots } from '../../recent-slots.ts';
import type { SavedQuota } from '../../saved-quota.ts';
import { QuotaCoordinator } from './coordinator.ts';
import { Pod, type PodState } from './pod.ts';
import type { SharedPlan } from './shared-plan.ts';
import type { QuotaEvent, QuotaStore } from './messages.ts';

export interface SharedQuotaTimers {
  /** Monotonic milliseconds. */
  now(): number;
  /** Returns a function that cancels the work. */
  after(ms: number, work: () => void): () => void;
}

export interface SharedQuotaOptions extends SharedPlan {
  readonly store: QuotaStore;
  /** The unique name of this pod. */
  readonly pod: string;
  /** The least number of pods that share the plan, for when the store cannot be reached: shards. */
  readonly podsAtLeast: number;
  readonly timers: SharedQuotaTimers;
  /** The pod now uses its own share (`why`: the store's error), or the shared quota (null). Called at each change. */
  readonly onStateChange?: (standing: PodState, ownRpm: number, why: unknown) => void;
}

/** The time between two turns: the shortest while calls move, up to the second while none does, the longest while no call waits. */
const TURN_MS = 20;
const QUIET_TURN_MS = 100;
const IDLE_TURN_MS = 500;
const SLOWDOWN = 1.5;
/** The time after a turn that failed. */
const RETRY_MS = 250;
const MIN_TURN_MS = 1;

export class SharedQuota implements QuotaRule {
  readonly #options: SharedQuotaOptions;
  readonly #pod: Pod;
  #demand: Demand = { waiting: () => 0, onPermits: () => undefined };
  readonly #turnPause: Pause;
  readonly #coordinatorPause: Pause;
  #isIdle = false;
  /** How often this pod has coordinated or tried to. Messages of an earlier term must not count now. */
  #terms = 0;
  #coordinating: Promise<void> | null = null;
  #coordinator: QuotaCoordinator | null = null;
  #stopped = false;
  #ending = false;
  #turns: Promise<void> | null = null;

  constructor(options: SharedQuotaOptions) {
    this.#options = options;
    this.#pod = new Pod(options);
    this.#turnPause = new Pause(options.timers);
    this.#coordinatorPause = new Pause(options.timers);
  }

  /** A shared quota always has a gate. */
  readonly limited = true;
  /** The pod has a log of its own. */
  readonly keptMs = 0;

  /** Starts the turns. */
  start(demand: Demand): void {
    this.#demand = demand;
    this.#turns = this.#takeTurns();
  }

  restore({ minute }: SavedQuota, nowMs: number, wallMs: number): void {
    this.#pod.restore(restoreSlots(minute, nowMs, wallMs));
  }

  usedUp(nowMs: number): UsedUp | null {
    const waitMs = this.#pod.waitMs(nowMs);
    return waitMs > 0 ? { what: 'quota that is shared with other runs', untilMs: nowMs + waitMs } : null;
  }

  waiting(nowMs: number): Wait | null {
    if (this.#pod.permits(nowMs).permits >= 1) return null;
    const waitMs = this.#pod.waitMs(nowMs);
    const what =
      this.#pod.standing === 'alone'
        ? "this run's own share of the plan, because the shared quota cannot be reached"
        : 'a permit of the quota that is shared with other runs';
    return { reason: 'shared_quota', what, untilMs: waitMs > 0 ? nowMs + waitMs : null };
  }

  permits(nowMs: number): Permits {
    return this.#pod.permits(nowMs);
  }

  wanted(): void {
    if (this.#isIdle) this.#turnPause.hurry(MIN_TURN_MS);
  }

  sent(callNumber: number, nowMs: number): void {
    this.#pod.sent(callNumber, nowMs);
  }

  answered(call: EndedCall): void {
    this.#pod.answered(call);
    this.#turnPause.hurry(TURN_MS);
  }

  withdrawn(callNumber: number, _sentMs: number, nowMs: number): void {
    this.#pod.withdrawn(callNumber, nowMs);
    this.#turnPause.hurry(TURN_MS);
  }

  /** No more calls start. Calls in flight are reported until `close`. */
  stop(): void {
    this.#stopped = true;
    this.#pod.returnLeases();
  }

  /** Reports the last answers and leaves. */
  async close(): Promise<void> {
    if (this.#ending) return;
    this.#ending = true;
    this.stop();
    this.#turnPause.end();
    this.#coordinatorPause.end();
    await this.#turns;
    await this.#coordinating;
    const { store, pod, timers } = this.#options;
    const { events } = this.#pod.turn(this.#token, 0, timers.now());
    // A pod that cannot leave is missed after a while.
    await store.leave(pod, this.#token, events).catch(() => undefined);
    store.close();
  }

  get #token(): string {
    return `${this.#options.pod}~${this.#terms}`;
  }

  async #takeTurns(): Promise<void> {
    let pauseMs = TURN_MS;
    while (!this.#ending) {
      const moved = await this.#takeTurn();
      const waiting = this.#demand.waiting();
      this.#isIdle = waiting === 0 && !this.#pod.busy;
      pauseMs =
        moved === 'failed'
          ? RETRY_MS
          : this.#isIdle
            ? IDLE_TURN_MS
            : moved
              ? TURN_MS
              : Math.min(Math.max(TURN_MS, pauseMs * SLOWDOWN), QUIET_TURN_MS);
      await this.#turnPause.wait(pauseMs);
    }
  }

  /** Returns whether anything was reported or granted. */
  async #takeTurn(): Promise<boolean | 'failed'> {
    const { store, timers } = this.#options;
    const member = this.#pod;
    const before = member.standing;
    const turn = member.turn(this.#token, this.#stopped ? 0 : this.#demand.waiting(), timers.now());
    try {
      const reply = await store.turn(turn);
      member.applyReply(reply, timers.now());
      if (this.#stopped) member.returnLeases();
      if (reply.leader === turn.token && this.#coordinating === null && !this.#ending) this.#coordinating = this.#coordinate();
      if (member.standing !== before) this.#reportState(null);
      this.#demand.onPermits();
      return turn.events.length > 0 || reply.grants.length > 0;
    } catch (error) {
      member.failed(timers.now());
      if (member.standing !== before) this.#reportState(error);
      this.#demand.onPermits();
      return 'failed';
    }
  }

  #reportState(why: unknown): void {
    this.#options.onStateChange?.(this.#pod.standing, this.#pod.ownRpm, why);
  }

  /** Keeps the account for as long as this pod is the coordinator. */
  async #coordinate(): Promise<void> {
    const { store } = this.#options;
    const token = this.#token;
    try {
      const history = await store.history();
      let [events, freeAtMs, forget, pauseMs]: [readonly QuotaEvent[], number, readonly string[], number] = [[], 0, [], TURN_MS];
      while (!this.#ending) {
        const reply = await store.lead({ token, events, freeAtMs, forget });
        if (reply === null) break;
        const { nowMs } = reply;
        const leader = (this.#coordinator ??= new QuotaCoordinator(this.#options, token, history, nowMs));
        for (const event of reply.events) leader.apply(event, nowMs);
        events = leader.decide(reply.pods, reply.missing, nowMs);
        forget = leader.endedPods(nowMs);
        freeAtMs = leader.freeAtMs(nowMs);
        if (events.length > 0) continue;
        const idle = reply.pods.every(({ want, inFlight }) => want === 0 && inFlight === 0);
        pauseMs = idle ? IDLE_TURN_MS : reply.events.length > 0 ? TURN_MS : Math.min(Math.max(TURN_MS, pauseMs * SLOWDOWN), QUIET_TURN_MS);
        await this.#coordinatorPause.wait(Math.max(MIN_TURN_MS, Math.min(pauseMs, leader.nextAt - nowMs)));
      }
    } catch {
      // It is unknown whether the turn was done. The next coordinator reads the account again.
    }
    this.#terms++;
    this.#coordinator = null;
    this.#coordinating = null;
  }
}

/** A wait that can be cut short. */
class Pause {
  readonly #timers: SharedQuotaTimers;
  #wake: (() => void) | null = null;
  #takeBack: () => void = () => undefined;
  #untilMs = 0;
  #ended = false;

  constructor(timers: SharedQuotaTimers) {
    this.#timers = timers;
  }

  wait(ms: number): Promise<void> {
    if (this.#ended) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#set(ms);
    });
  }

  /** Shortens the wait to `ms` from now. */
  hurry(ms: number): void {
    if (this.#wake === null || this.#timers.now() + ms >= this.#untilMs) return;
    this.#takeBack();
    this.#set(ms);
  }

  end(): void {
    this.#ended = true;
    this.#takeBack();
    this.#wake?.();
    this.#wake = null;
  }

  #set(ms: number): void {
    this.#untilMs = this.#timers.now() + ms;
    this.#takeBack = this.#timers.after(ms, () => {
      const wake = this.#wake;
      this.#wake = null;
      wake?.();
    });
  }
}
