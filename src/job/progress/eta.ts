/** Estimates when a run ends, from the calls that are left and the quota. Pure: time is passed in. */

/** The state of a run at one moment. Times in milliseconds; `nowMs` is monotonic. */
interface EtaReading {
  readonly nowMs: number;
  /** How long an outage or a pause still holds up the run, as far as that is known; null when it does not. */
  readonly heldUpMs: number | null;
  /** How long the quota still permits no call; 0 when it permits calls, or only paces them. */
  readonly quotaWaitMs: number;
  /** Calls that the service permits at once, as far as that is known. */
  readonly burstLeft: number;
  /** Calls of this execution. */
  readonly sent: number;
  /** Calls that wait for a slot or a permit. */
  readonly queued: number;
  /** Records that this execution has read. */
  readonly started: number;
  /** Records that it has not read yet. */
  readonly left: number;
  readonly unwritten: number;
  /** Verify requests, each of which settles many rows; null for a job without verify. */
  readonly verify: { readonly inFlight: number; readonly latencyMs: number; readonly lastSentMs: number } | null;
}

interface Sample {
  /** Time during which calls could be sent. */
  readonly activeMs: number;
  readonly sent: number;
  readonly started: number;
  /** Calls that the records read so far need. */
  readonly asked: number;
}

const MINUTE_MS = 60_000;
/** Rates are taken over the last part of the active time, and over at least this many milliseconds. */
const RECENT_SHARE = 0.3;
const LEAST_RECENT_MS = 10_000;
/** Fewer records do not show how many calls a record needs. */
const LEAST_RECORDS = 100;
const MOST_SAMPLES = 600;
/** So long a wait means a quota window; in a token bucket permits come back one by one. */
const WINDOW_WAIT_MS = 5_000;
const PACING_MS = 1_000;

export class Eta {
  readonly #rpm: number | null;
  #samples: Sample[] = [];
  #activeMs = 0;
  #lastMs: number | null = null;
  #inWindows = false;
  #waiting = false;
  #window = { fromMs: 0, sent: 0 };

  /** @param rpm requests a minute that are the run's own; null: unlimited */
  constructor(rpm: number | null) {
    this.#rpm = rpm;
  }

  /** Milliseconds until the last row is written; null before the first record is read. */
  look(now: EtaReading): number | null {
    this.#clock(now);
    this.#noteWindow(now);
    const asked = now.sent + now.queued;
    const latest: Sample = { activeMs: this.#activeMs, sent: now.sent, started: now.started, asked };
    const before = this.#recent();
    this.#keep(latest);
    if (now.unwritten <= 0) return 0;
    if (now.started === 0) return null;
    const first = this.#samples[0] ?? latest;
    const base = latest.started - before.started >= LEAST_RECORDS ? before : first;
    const records = latest.started - base.started;
    const callsLeft = now.queued + (records > 0 ? ((asked - base.asked) / records) * now.left : 0);
    const seconds = latest.activeMs - before.activeMs;
    const pace = seconds > 0 ? (latest.sent - before.sent) / seconds : 0;
    const quotaMs = this.#quotaMs(callsLeft, now);
    const paceMs = callsLeft < 1 ? 0 : pace > 0 ? callsLeft / pace : quotaMs > 0 ? quotaMs : null;
    if (paceMs === null) return null;
    // Records that need no call are read at the reader's pace.
    const readMs = now.left > 0 && latest.started > before.started ? (now.left / (latest.started - before.started)) * seconds : 0;
    // The quota permits no call until its wait is over; the rest of the time begins then.
    const waitMs = callsLeft >= 1 && now.quotaWaitMs >= PACING_MS ? now.quotaWaitMs : 0;
    const restMs = this.#rpm !== null && pace === 0 ? quotaMs - waitMs : paceMs;
    // A window that gave less than half of a minute's requests is shorter than a minute: what is left comes at the plan's rate.
    const isShort = waitMs > 0 && this.#rpm !== null && now.sent - this.#window.sent < this.#rpm / 2;
    const rateMs = isShort ? (callsLeft / (this.#rpm ?? 1)) * MINUTE_MS : 0;
    const calling = Math.max(quotaMs, waitMs + Math.max(restMs, rateMs), callsLeft < 1 ? readMs : 0);
    return (now.heldUpMs ?? 0) + calling + verifyMs(now, callsLeft);
  }

  /** Time counts while calls may be sent. */
  #clock({ nowMs, heldUpMs, quotaWaitMs }: EtaReading): void {
    const since = this.#lastMs === null ? 0 : nowMs - this.#lastMs;
    this.#lastMs = nowMs;
    if (heldUpMs === null && quotaWaitMs < PACING_MS) this.#activeMs += since;
  }

  /** Notes whether the quota comes back window by window. */
  #noteWindow({ nowMs, quotaWaitMs, sent }: EtaReading): void {
    if (quotaWaitMs >= WINDOW_WAIT_MS) this.#inWindows = true;
    if (this.#waiting && quotaWaitMs < PACING_MS) this.#window = { fromMs: nowMs, sent };
    this.#waiting = quotaWaitMs >= PACING_MS;
  }

  #quotaMs(calls: number, { nowMs, quotaWaitMs, burstLeft, sent }: EtaReading): number {
    if (this.#rpm === null || calls < 1) return 0;
    const windowsMs = (left: number): number => Math.floor(Math.max(0, left - 1) / (this.#rpm ?? 1)) * MINUTE_MS;
    if (quotaWaitMs >= PACING_MS) return quotaWaitMs + windowsMs(calls);
    // A window gives its whole quota back: a fixed one at once, a sliding one as fast as it was spent.
    const left = calls - Math.max(burstLeft, this.#inWindows ? this.#rpm - (sent - this.#window.sent) : 0);
    if (left <= 0) return 0;
    if (this.#inWindows) return Math.max(0, this.#window.fromMs + MINUTE_MS - nowMs) + windowsMs(left);
    return (left / this.#rpm) * MINUTE_MS;
  }

  /** The sample where the recent part of the time begins. */
  #recent(): Sample {
    const from = this.#activeMs - Math.max(LEAST_RECENT_MS, RECENT_SHARE * this.#activeMs);
    return this.#samples.findLast(({ activeMs }) => activeMs <= from) ?? this.#samples[0] ?? { activeMs: 0, sent: 0, started: 0, asked: 0 };
  }

  /** Drops every second sample when there are too many. */
  #keep(sample: Sample): void {
    this.#samples.push(sample);
    if (this.#samples.length > MOST_SAMPLES)
      this.#samples = this.#samples.filter((_, index) => index % 2 === 0 || index === this.#samples.length - 1);
  }
}

/** Time for verify requests after the last other call: for the request that leaves then, or the rest of those in flight. */
function verifyMs({ verify, nowMs, left, queued }: EtaReading, callsLeft: number): number {
  if (verify === null) return 0;
  if (left > 0 || queued > 0 || callsLeft >= 1 || verify.inFlight === 0) return verify.latencyMs;
  return Math.max(0, verify.latencyMs - (nowMs - verify.lastSentMs));
}
