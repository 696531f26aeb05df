import { joinSlots, storeSlots, readSlots, type CallSlot, type CallTimeline, type StoredSlots } from './call-slots.ts';

/** Slots at most, whatever the length of the job: a few kilobytes of its checkpoint. */
export const MAX_SLOTS = 240;

interface CallTimelineOptions {
  /** The series of earlier runs. */
  readonly from: StoredSlots | undefined;
  /** The run's own requests a minute. Null is unlimited. */
  readonly rpm: number | null;
  /** Milliseconds: the monotonic clock, which every call here uses, and the wall clock at the same moment. */
  readonly nowMs: number;
  readonly wallMs: number;
}

/** Calls over time beside the calls that the plan permitted, over all resumes of a job. The caller passes monotonic milliseconds. */
export class CallSeries {
  readonly #permitsPerMs: number;
  /** Wall clock minus monotonic clock. It is fixed, so that setting the wall clock does not shift this run. */
  readonly #offsetMs: number;
  #widthMs = 0;
  #slots = new Map<number, Writable<CallSlot>>();
  /** Wall clock, milliseconds. Time is counted up to here. */
  #atMs: number;
  #endsAtMs = -Infinity;
  #now: Writable<CallSlot>;
  #throttledUntilMs = -Infinity;
  #down = false;

  constructor({ from, rpm, nowMs, wallMs }: CallTimelineOptions) {
    this.#permitsPerMs = (rpm ?? 0) / 60_000;
    this.#offsetMs = wallMs - nowMs;
    this.#atMs = wallMs;
    this.#take(readSlots(from));
    this.#now = this.#slotAt(wallMs);
  }

  sent(nowMs: number): void {
    // Up to ten thousand calls a second: everything else is counted at the end of the slot.
    if (nowMs + this.#offsetMs >= this.#endsAtMs) this.#goTo(nowMs);
    this.#now.calls++;
  }

  /** Takes back a call that was counted a moment ago and was not sent. */
  notSent(): void {
    const slot = [...this.#slots.values()].findLast(({ calls }) => calls > 0);
    if (slot !== undefined) slot.calls--;
  }

  /** The service asked to wait. */
  throttled(nowMs: number, untilMs: number): void {
    this.#goTo(nowMs);
    this.#throttledUntilMs = Math.max(this.#throttledUntilMs, untilMs + this.#offsetMs);
  }

  /** The service went down, or came back. */
  down(nowMs: number, isDown: boolean): void {
    this.#goTo(nowMs);
    this.#down = isDown;
  }

  /** The series for the checkpoint. */
  keep(nowMs: number): StoredSlots {
    this.#goTo(nowMs);
    return storeSlots(joinSlots([this.#all()], MAX_SLOTS));
  }

  /** Adds the time that has passed to its slots. */
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
    if (this.#slots.size <= MAX_SLOTS) return made;
    this.#take(this.#all());
    return this.#slotAt(wallMs);
  }

  #all(): CallTimeline {
    return { widthMs: this.#widthMs, slots: [...this.#slots.values()] };
  }

  #take(all: CallTimeline): void {
    const { widthMs, slots } = joinSlots([all], MAX_SLOTS);
    this.#widthMs = widthMs;
    this.#slots = new Map(slots.map((slot) => [slot.number, { ...slot }]));
  }
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };
