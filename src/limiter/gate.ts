/** Bottleneck as the gate of the limiter: it holds the permits and hands them out in leases. */
import Bottleneck from 'bottleneck';

/** A wall clock set back by more than this would make Bottleneck wait until it has caught up. The gate is replaced then. */
const CLOCK_STEP_MS = 250;
/** A lease takes milliseconds. A longer one met a clock that was set back meanwhile, and is given up. */
const LEASE_TIMEOUT_MS = 1_000;

interface GateOptions {
  readonly monotonicNow: () => number;
  readonly wallNow: () => number;
  /** A lease has arrived. */
  readonly onLease: (permits: number) => void;
  /** A lease was given up: its permits may be leased again. */
  readonly onTimeout: () => void;
}

export class Gate {
  readonly #options: GateOptions;
  #bottleneck = newBottleneck();
  /** Wall clock minus monotonic clock at the last lease. */
  #wallOffset: number;
  /** Set while a lease is under way. */
  #leaseTimer: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor(options: GateOptions) {
    this.#options = options;
    this.#wallOffset = options.wallNow() - options.monotonicNow();
  }

  get isLeasing(): boolean {
    return this.#leaseTimer !== null;
  }

  /** Puts permits into the reservoir and takes them out as one lease. One lease at a time. */
  lease(permits: number): void {
    this.#replaceAfterClockStep();
    const bottleneck = this.#bottleneck;
    this.#leaseTimer = setTimeout(() => {
      this.#endLease();
      this.#replace();
      this.#options.onTimeout();
    }, LEASE_TIMEOUT_MS);
    void bottleneck.incrementReservoir(permits);
    bottleneck
      .schedule({ weight: permits }, () => Promise.resolve())
      .then(
        () => {
          // After a timeout these permits are leased from the new Bottleneck.
          if (this.#bottleneck !== bottleneck || this.#stopped) return;
          this.#endLease();
          this.#options.onLease(permits);
        },
        () => {
          // Dropped by stop() or by a replacement: nothing waits for it.
        },
      );
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#endLease();
    await this.#bottleneck.stop({ dropWaitingJobs: true });
  }

  #endLease(): void {
    if (this.#leaseTimer !== null) clearTimeout(this.#leaseTimer);
    this.#leaseTimer = null;
  }

  /** Nothing waits in Bottleneck between two leases, so a new one can take its place. */
  #replaceAfterClockStep(): void {
    const offset = this.#options.wallNow() - this.#options.monotonicNow();
    if (offset < this.#wallOffset - CLOCK_STEP_MS) this.#replace();
    this.#wallOffset = offset;
  }

  #replace(): void {
    void this.#bottleneck.stop({ dropWaitingJobs: true }).catch(() => undefined);
    this.#bottleneck = newBottleneck();
  }
}

/** Empty: the model decides how many permits go in. No minTime, which would be a second pacing. */
function newBottleneck(): Bottleneck {
  return new Bottleneck({ reservoir: 0 });
}
