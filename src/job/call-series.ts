import { joinSlots, keepSlots, readSlots, type CallSlot, type CallSlots, type KeptSlots } from './call-slots.ts';

/** So many slots at most, whatever the length of the job: a few kilobytes of its checkpoint. */
export const MOST_SLOTS = 240;

export interface CallSeriesOptions {
  /** Of the runs before. */
  readonly from: KeptSlots | undefined;
  /** Requests a minute that are the run's own; null: unlimited. */
  readonly rpm: number | null;
  /** Now, by the monotonic clock that every call of this goes by, and by the wall clock: milliseconds. */
  readonly nowMs: number;
  readonly wallMs: number;
}

/** When calls were sent, beside what the plan permitted then, over all resumes of a job. Time is passed in, monotonic milliseconds. */
export class CallSeries {
  readonly #permitsPerMs: number;
  /** Wall clock less monotonic clock: whoever sets the wall clock meanwhile does not move this run. */
  readonly #offsetMs: number;
  #widthMs = 0;
  #slots = new Map<number, Writable<CallSlot>>();
  /** Wall clock: time is counted up to here, and the slot of now ends there. */
  #atMs: number;
  #endsAtMs = -Infinity;
  #now: Writable<CallSlot>;
  #throttledUntilMs = -Infinity;
  #down = false;

  constructor({ from, rpm, nowMs, wallMs }: CallSeriesOptions) {
    this.#permitsPerMs = (rpm ?? 0) / 60_000;
    this.#offsetMs = wallMs - nowMs;
    this.#atMs = wallMs;
    this.#take(readSlots(from));
    this.#now = this.#slotAt(wallMs);
  }

  sent(nowMs: number): void {
    // There may be ten thousand a second: what else there is to count can wait for the end of the slot.
    if (nowMs + this.#offsetMs >= this.#endsAtMs) this.#goTo(nowMs);
    this.#now.calls++;
  }

  /** One that was counted a moment ago was none. */
  notSent(): void {
    const slot = [...this.#slots.values()].findLast(({ calls }) => calls > 0);
    if (slot !== undefined) slot.calls--;
  }

  /** The service said "later". */
  throttled(nowMs: number, untilMs: number): void {
    this.#goTo(nowMs);
    this.#throttledUntilMs = Math.max(this.#throttledUntilMs, untilMs + this.#offsetMs);
  }

  /** The service went down, or came back. */
  down(nowMs: number, isDown: boolean): void {
    this.#goTo(nowMs);
    this.#down = isDown;
  }

  /** For the checkpoint. */
  keep(nowMs: number): KeptSlots {
    this.#goTo(nowMs);
    return keepSlots(joinSlots([this.#all()], MOST_SLOTS));
  }

  /** Counts the time that has passed in the slots that it belongs to. */
  #goTo(nowMs: number): void {
    const wallMs = nowMs + this.#offsetMs;
    while (this.#atMs < wallMs) {
      const slot = this.#slotAt(this.#atMs);
      const untilMs = Math.min(wallMs, (slot.number + 1) * this.#widthMs);
      slot.permitted += (untilMs - this.#atMs) * this.#permitsPerMs;
      if (this.#down) slot.downMs += untilMs - this.#atMs;
      else slot.throttledMs += Math.max(0, Math.min(untilMs, this.#throttledUntilMs) - this.#atMs);
      this.#atMs = untilMs;
    }
    this.#now = this.#slotAt(this.#atMs);
    this.#endsAtMs = (this.#now.number + 1) * this.#widthMs;
  }

  #slotAt(wallMs: number): Writable<CallSlot> {
    const number = Math.floor(wallMs / this.#widthMs);
    const there = this.#slots.get(number);
    if (there !== undefined) return there;
    const made = { number, calls: 0, permitted: 0, throttledMs: 0, downMs: 0 };
    this.#slots.set(number, made);
    if (this.#slots.size <= MOST_SLOTS) return made;
    this.#take(this.#all());
    return this.#slotAt(wallMs);
  }

  #all(): CallSlots {
    return { widthMs: this.#widthMs, slots: [...this.#slots.values()] };
  }

  #take(all: CallSlots): void {
    const { widthMs, slots } = joinSlots([all], MOST_SLOTS);
    this.#widthMs = widthMs;
    this.#slots = new Map(slots.map((slot) => [slot.number, { ...slot }]));
  }
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };
