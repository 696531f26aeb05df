/**
 * One quota for several pods, behind the door of a limiter. Each pod asks the store for permits at short turns and tells it
 * what became of them; one pod leads, which is to say that it keeps the account and grants.
 */
import type { Wait } from '../../waits.ts';
import type { RateReading } from '../rate-headers.ts';
import { Leader } from './leader.ts';
import { Member, type OwnAnswer, type Standing } from './member.ts';
import type { QuotaEvent, QuotaStore } from './messages.ts';

export interface Timers {
  /** Monotonic milliseconds. */
  now(): number;
  /** Returns what takes it back. */
  after(ms: number, work: () => void): () => void;
}

export interface SharedQuotaOptions {
  readonly store: QuotaStore;
  /** A name that no other pod has. */
  readonly pod: string;
  /** Requests a minute of the plan. */
  readonly rpm: number;
  /** How many pods share the plan at least, for when the store cannot be asked: shards. */
  readonly podsAtLeast: number;
  readonly timers: Timers;
  /** From now on this pod goes by a share of its own (`why`: the store's error), or by the shared quota (null). Told at each change. */
  readonly onStanding?: (standing: Standing, ownRpm: number, why: unknown) => void;
}

/** Time between two turns while something moves; while nothing does, up to the longer one; while nothing is wanted, the longest. */
const TURN_MS = 20;
const QUIET_TURN_MS = 100;
const IDLE_TURN_MS = 500;
const SLOWS_BY = 1.5;
/** After a turn that failed. */
const AGAIN_MS = 250;
const SHORTEST_MS = 1;

export class SharedQuota {
  readonly #options: SharedQuotaOptions;
  readonly #member: Member;
  #waiting: () => number = () => 0;
  #changed: () => void = () => undefined;
  readonly #turnPause: Pause;
  readonly #leadPause: Pause;
  #isIdle = false;
  /** How often this pod has led, or tried to: what it may still have on its way from then must not count now. */
  #terms = 0;
  #leading: Promise<void> | null = null;
  #leader: Leader | null = null;
  #stopped = false;
  #ending = false;
  #turns: Promise<void> | null = null;

  constructor(options: SharedQuotaOptions) {
    this.#options = options;
    this.#member = new Member(options);
    this.#turnPause = new Pause(options.timers);
    this.#leadPause = new Pause(options.timers);
  }

  /** Begins. @param waiting how many calls would start now; @param changed there may be permits */
  start(waiting: () => number, changed: () => void): void {
    this.#waiting = waiting;
    this.#changed = changed;
    this.#turns = this.#takeTurns();
  }

  /** As the quota model's, as what follows: there is always a gate. */
  readonly limited = true;

  get nextAt(): number {
    return this.#member.nextAt;
  }

  restore(calls: number, agoMs: number, nowMs: number): void {
    this.#member.restore({ calls }, agoMs, nowMs);
  }

  spent(nowMs: number): number {
    return this.#member.spent(nowMs);
  }

  waitMs(nowMs: number): number {
    return this.#member.waitMs(nowMs);
  }

  /** What calls wait for; null: one may start. */
  waiting(nowMs: number): Wait | null {
    if (this.#member.permits(nowMs) >= 1) return null;
    const waitMs = this.#member.waitMs(nowMs);
    const what = this.#member.standing === 'alone' ? "this run's own share of the plan, because the shared quota cannot be reached" : 'a permit of the quota that is shared with other runs';
    return { reason: 'shared_quota', what, untilMs: waitMs > 0 ? nowMs + waitMs : null };
  }

  permits(nowMs: number): number {
    const permits = this.#member.permits(nowMs);
    if (permits < 1 && this.#isIdle) this.#turnPause.hurry(SHORTEST_MS);
    return permits;
  }

  sent(nowMs: number): number {
    return this.#member.sent(nowMs);
  }

  answered(answer: OwnAnswer, nowMs: number, reading: RateReading | null, waitMs: number | null): void {
    this.#member.answered(answer, nowMs, reading, waitMs);
    this.#turnPause.hurry(TURN_MS);
  }

  /** No more is wanted. What is under way is still told, until `close`. */
  stop(): void {
    this.#stopped = true;
    this.#member.giveBack();
  }

  /** Tells what is left to tell, and goes. */
  async close(): Promise<void> {
    if (this.#ending) return;
    this.#ending = true;
    this.stop();
    this.#turnPause.end();
    this.#leadPause.end();
    await this.#turns;
    await this.#leading;
    const { store, pod, timers } = this.#options;
    const { events } = this.#member.turn(this.#token, 0, timers.now());
    // Whoever cannot say good-bye is missed after a while.
    await store.leave(pod, this.#token, events).catch(() => undefined);
    store.close();
  }

  /** For a test's message. */
  explain(nowMs: number): string {
    return this.#leader?.explain(nowMs) ?? 'it does not lead';
  }

  get #token(): string {
    return `${this.#options.pod}~${this.#terms}`;
  }

  async #takeTurns(): Promise<void> {
    let pauseMs = TURN_MS;
    while (!this.#ending) {
      const moved = await this.#takeTurn();
      const waiting = this.#waiting();
      this.#isIdle = waiting === 0 && !this.#member.busy;
      pauseMs = moved === 'failed' ? AGAIN_MS : this.#isIdle ? IDLE_TURN_MS : moved ? TURN_MS : Math.min(Math.max(TURN_MS, pauseMs * SLOWS_BY), QUIET_TURN_MS);
      await this.#turnPause.wait(pauseMs);
    }
  }

  /** Returns whether anything was told or granted. */
  async #takeTurn(): Promise<boolean | 'failed'> {
    const { store, timers } = this.#options;
    const member = this.#member;
    const before = member.standing;
    const turn = member.turn(this.#token, this.#stopped ? 0 : this.#waiting(), timers.now());
    try {
      const reply = await store.turn(turn);
      member.told(reply, timers.now());
      if (this.#stopped) member.giveBack();
      if (reply.leader === turn.token && this.#leading === null && !this.#ending) this.#leading = this.#lead();
      if (member.standing !== before) this.#tell(null);
      this.#changed();
      return turn.events.length > 0 || reply.grants.length > 0;
    } catch (error) {
      member.failed(timers.now());
      if (member.standing !== before) this.#tell(error);
      this.#changed();
      return 'failed';
    }
  }

  #tell(why: unknown): void {
    this.#options.onStanding?.(this.#member.standing, this.#member.ownRpm, why);
  }

  /** Keeps the account for as long as nobody else does. */
  async #lead(): Promise<void> {
    const { store, rpm } = this.#options;
    const token = this.#token;
    try {
      const history = await store.history();
      let [events, freeAtMs, forget, pauseMs]: [readonly QuotaEvent[], number, readonly string[], number] = [[], 0, [], TURN_MS];
      while (!this.#ending) {
        const reply = await store.lead({ token, events, freeAtMs, forget });
        if (reply === null) break;
        const { nowMs } = reply;
        const leader = (this.#leader ??= new Leader(rpm, token, history, nowMs));
        for (const event of reply.events) leader.apply(event, nowMs);
        events = leader.decide(reply.pods, reply.missing, nowMs);
        forget = leader.unused(nowMs);
        freeAtMs = leader.freeAtMs(nowMs);
        if (events.length > 0) continue;
        const idle = reply.pods.every(({ want, inFlight }) => want === 0 && inFlight === 0);
        pauseMs = idle ? IDLE_TURN_MS : reply.events.length > 0 ? TURN_MS : Math.min(Math.max(TURN_MS, pauseMs * SLOWS_BY), QUIET_TURN_MS);
        await this.#leadPause.wait(Math.max(SHORTEST_MS, Math.min(pauseMs, leader.nextAt - nowMs)));
      }
    } catch {
      // Whether it was done is not known: the account is read again, by whoever leads next.
    }
    this.#terms++;
    this.#leader = null;
    this.#leading = null;
  }
}

/** A wait that can be cut short. */
class Pause {
  readonly #timers: Timers;
  #wake: (() => void) | null = null;
  #takeBack: () => void = () => undefined;
  #untilMs = 0;
  #ended = false;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  wait(ms: number): Promise<void> {
    if (this.#ended) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#set(ms);
    });
  }

  /** No longer than so long from now. */
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
